# Cross build for x86-64 Linux with glibc 2.17 or newer (PyPI's manylinux_2_17), by zig. For tools/scripts/wheels.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(wick_zig_target x86_64-linux-gnu.2.17)
include(${CMAKE_CURRENT_LIST_DIR}/../zig.cmake)
