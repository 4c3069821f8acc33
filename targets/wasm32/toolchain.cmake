# Cross build for 32-bit WebAssembly with WASI, by zig. One thread; files as far as the host gives them.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
set(wick_zig_target wasm32-wasi)
# Vectors of 128 bits, which all engines have had since 2021.
set(wick_zig_flags "-msimd128${wick_wasm_flags}")
include(${CMAKE_CURRENT_LIST_DIR}/../zig.cmake)
