# Cross build for 64-bit little-endian POWER Linux, POWER8 or newer (Debian: g++-powerpc64le-linux-gnu,
# qemu-user). Tests run under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(CMAKE_C_COMPILER powerpc64le-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER powerpc64le-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-ppc64le;-L;/usr/powerpc64le-linux-gnu")

list(APPEND CMAKE_FIND_ROOT_PATH /usr/powerpc64le-linux-gnu) # after the paths on the command line: installed packages
include(${CMAKE_CURRENT_LIST_DIR}/../host_headers.cmake)
