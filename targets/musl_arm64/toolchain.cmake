# Cross build for 64-bit Arm Linux with musl, by zig.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(wick_zig_target aarch64-linux-musl)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64")
include(${CMAKE_CURRENT_LIST_DIR}/../zig.cmake)
