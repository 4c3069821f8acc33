# Cross build for a Cortex-M7 with double precision and no operating system (Debian: gcc-arm-none-eabi,
# libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib). The static library alone; a program brings its
# start-up code and linker script.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR armv7e-m)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# -Wno-psabi: notes about an ABI of before GCC 7.1. The macro: newlib's inttypes.h asks its own stdint.h for it,
# and Debian's compiler reads GCC's instead.
set(wick_machine "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -mfp16-format=ieee -Wno-psabi -D__int64_t_defined=1")
set(CMAKE_C_FLAGS_INIT "${wick_machine}")
set(CMAKE_CXX_FLAGS_INIT "${wick_machine}")

include(${CMAKE_CURRENT_LIST_DIR}/../host_headers.cmake)
