# Cross build for macOS on Arm, by zig.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(wick_zig_target aarch64-macos)
include(${CMAKE_CURRENT_LIST_DIR}/../zig.cmake)
