# Cross build for 32-bit Arm Linux with VFPv4, as a Cortex-A7 or newer has it (Debian:
# g++-arm-linux-gnueabihf, qemu-user). Tests run under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-arm;-L;/usr/arm-linux-gnueabihf")
# VFPv4 has the fused multiply-add that the numeric contract counts on. -Wno-psabi: notes about an
# ABI of before GCC 7.1, which nothing here is linked with.
set(wick_machine "-march=armv7-a+neon-vfpv4 -mfp16-format=ieee -Wno-psabi")
set(CMAKE_C_FLAGS_INIT "${wick_machine}")
set(CMAKE_CXX_FLAGS_INIT "${wick_machine}")

list(APPEND CMAKE_FIND_ROOT_PATH /usr/arm-linux-gnueabihf) # after the paths on the command line: installed packages
include(${CMAKE_CURRENT_LIST_DIR}/../host_headers.cmake)
