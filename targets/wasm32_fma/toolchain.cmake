# As wasm32, with WebAssembly's relaxed multiply-add (of its relaxed instructions no other: what the rest gives depends on
# the machine). An engine on a CPU with fused multiply-adds rounds it once, and float results then have the bits of any
# other machine; web/src/probe.js asks the engine.
set(wick_wasm_flags " -mrelaxed-simd")
include(${CMAKE_CURRENT_LIST_DIR}/../wasm32/toolchain.cmake)
