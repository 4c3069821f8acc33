# Cross build for x86-64 Linux with musl, by zig.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(wick_zig_target x86_64-linux-musl)
include(${CMAKE_CURRENT_LIST_DIR}/../zig.cmake)
