# Cross build for aarch64 Linux (Debian: g++-aarch64-linux-gnu, qemu-user). Tests run under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")

list(APPEND CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu) # after the paths on the command line: installed packages
include(${CMAKE_CURRENT_LIST_DIR}/../host_headers.cmake)
