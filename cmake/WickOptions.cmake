# Every option of the project. The runtime's own (WICK_VULKAN, WICK_SANITIZE ...) are declared in
# runtime/cmake/WickFlags.cmake, because runtime/ also builds alone.

option(WICK_BUILD_TRAINER "Build the training engine (Wick::trainer)" ON)
option(WICK_BUILD_COMPILE "Build graph, quantize and exporter (Wick::compile); needs protobuf and onnx" ON)
option(WICK_BUILD_TOOLS "Build the wick command" ON)
option(WICK_BUILD_TESTS "Build the tests; needs GoogleTest" ON)
option(WICK_BUILD_BENCH "Build the benchmarks; needs Google Benchmark" ON)

option(WICK_PRECOMPILE "Precompile headers" ON)
option(WICK_UNITY "Compile the files of a room a few at a time" ON)

option(WICK_PNG "Read PNG files with libpng, where libpng-dev is installed" ON)
option(WICK_JPEG "Read JPEG files with libjpeg, where libjpeg-dev is installed" ON)
option(WICK_ARCHIVE "Read .tar and .npz files with libarchive, where libarchive-dev is installed" ON)
option(WICK_SIGN "Sign models and check signatures with libsodium, where libsodium-dev is installed" ON)
option(WICK_CSV "Read CSV files with libcsv, where libcsv-dev is installed" ON)
