# Cross build for 64-bit Arm Linux with glibc 2.17 or newer (PyPI's manylinux_2_17), by zig. For tools/scripts/wheels.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(wick_zig_target aarch64-linux-gnu.2.17)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
include(${CMAKE_CURRENT_LIST_DIR}/../zig.cmake)
