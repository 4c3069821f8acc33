# Cross build for 64-bit Windows (MinGW's libraries), by zig.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(wick_zig_target x86_64-windows-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/../zig.cmake)
