# Cross build for 32-bit x86 Linux with SSE2 (Debian: g++-i686-linux-gnu). Its programs run on a
# 64-bit x86 kernel as they are.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
# The loader and the C library are the cross compiler's.
set(CMAKE_CROSSCOMPILING_EMULATOR
  "/usr/i686-linux-gnu/lib/ld-linux.so.2;--library-path;/usr/i686-linux-gnu/lib")
# Float arithmetic in SSE registers: x87's keep more digits than the numeric contract allows.
set(wick_machine "-march=i686 -msse2 -mfpmath=sse")
set(CMAKE_C_FLAGS_INIT "${wick_machine}")
set(CMAKE_CXX_FLAGS_INIT "${wick_machine}")

list(APPEND CMAKE_FIND_ROOT_PATH /usr/i686-linux-gnu) # after the paths on the command line: installed packages
include(${CMAKE_CURRENT_LIST_DIR}/../host_headers.cmake)
