# Every option of the project. The runtime's own (WICK_VULKAN, WICK_SANITIZE ...) are declared in
# runtime/cmake/WickFlags.cmake, because runtime/ also builds alone.

# Inside another project only the runtime is built, which needs no packages but two of headers; nothing of Wick is
# installed with that project unless it asks.
set(wick_components)
if(NOT PROJECT_IS_TOP_LEVEL)
  set(wick_components runtime)
endif()
set(WICK_COMPONENTS "${wick_components}" CACHE STRING
  "Build these and what they stand on, alone: runtime sign trainer quantize compile tools (empty: by the switches below)")
option(WICK_INSTALL "Let cmake --install and cpack install Wick" ${PROJECT_IS_TOP_LEVEL})

# These are ordinary variables, which option() leaves alone: naming another list in a build folder changes it.
if(WICK_COMPONENTS)
  foreach(part TRAINER QUANTIZE COMPILE SIGN TOOLS TESTS BENCH EXAMPLES)
    set(WICK_BUILD_${part} OFF)
  endforeach()
  foreach(component IN LISTS WICK_COMPONENTS)
    if(NOT component MATCHES "^(runtime|sign|trainer|quantize|compile|tools)$")
      message(FATAL_ERROR "WICK_COMPONENTS: there is no component ${component}: runtime sign trainer quantize compile tools")
    endif()
    string(TOUPPER ${component} part)
    set(WICK_BUILD_${part} ON)
  endforeach()
  if(WICK_BUILD_TOOLS)
    set(WICK_BUILD_TRAINER ON)
    set(WICK_BUILD_COMPILE ON)
    set(WICK_BUILD_SIGN ON)
  endif()
endif()

option(WICK_BUILD_TRAINER "Build the training engine (Wick::trainer)" ON)
option(WICK_BUILD_COMPILE "Build graph, quantize and exporter (Wick::compile); needs protobuf and onnx" ON)
option(WICK_BUILD_SIGN "Build Wick::sign" ON)
option(WICK_BUILD_TOOLS "Build the wick command" ON)
option(WICK_BUILD_EXAMPLES "Build the examples" ON)
option(WICK_BUILD_TESTS "Build the tests; needs GoogleTest" ON)
option(WICK_BUILD_BENCH "Build the benchmarks; needs Google Benchmark" ON)
option(WICK_PYTHON "Build what the Python package holds (python/), as the target wick_python" OFF)
set(wick_python_train OFF)
if(WICK_BUILD_TRAINER AND WICK_BUILD_COMPILE)
  set(wick_python_train ON)
endif()
option(WICK_PYTHON_TRAIN "With WICK_PYTHON: build wick.train too; needs nanobind" ${wick_python_train})
if(WICK_BUILD_COMPILE OR NOT DEFINED WICK_BUILD_QUANTIZE)
  set(WICK_BUILD_QUANTIZE ${WICK_BUILD_COMPILE}) # the exporter needs it
endif()

option(WICK_PRECOMPILE "Precompile headers" ON)
option(WICK_UNITY "Compile the files of a room a few at a time" ON)

option(WICK_PNG "Read PNG files with libpng, where libpng-dev is installed" ON)
option(WICK_JPEG "Read JPEG files with libjpeg, where libjpeg-dev is installed" ON)
option(WICK_ARCHIVE "Read .tar and .npz files with libarchive, where libarchive-dev is installed" ON)
option(WICK_SIGN "Sign models and check signatures with libsodium, where libsodium-dev is installed" ON)
option(WICK_SERVE "Serve models over HTTP with cpp-httplib, where libcpp-httplib-dev is installed" ON)
option(WICK_CSV "Read CSV files with libcsv, where libcsv-dev is installed" ON)
option(WICK_MPI "Train by several processes with MPI, where libopenmpi-dev or libmpich-dev is installed" ON)
