# CMake knows WASI by this name since 3.31 only.
include(Platform/Generic)
