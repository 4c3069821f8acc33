# Cross build for aarch64 Linux (Debian: g++-aarch64-linux-gnu, qemu-user). Tests run under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Header-only dependencies are the host's. Naming /usr/include itself would bring the host's libc
# headers in, so a folder of links names just these.
set(wick_links ${CMAKE_BINARY_DIR}/host-headers)
file(MAKE_DIRECTORY ${wick_links})
foreach(library hwy flatbuffers fmt)
  if(NOT EXISTS ${wick_links}/${library})
    file(CREATE_LINK /usr/include/${library} ${wick_links}/${library} SYMBOLIC)
  endif()
endforeach()
set(WICK_HWY_INCLUDE_DIR ${wick_links} CACHE PATH "")
set(WICK_FLATBUFFERS_INCLUDE_DIR ${wick_links} CACHE PATH "")
set(WICK_EIGEN_INCLUDE_DIR /usr/include/eigen3 CACHE PATH "")
