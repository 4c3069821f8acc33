# Options of the runtime and the compile flags of the whole tree. The file is in runtime/ so that this folder builds
# alone; the top-level project includes it too. Where Wick is part of another project, that project decides how it is
# built (warnings as errors, launchers, linkers, the build type).
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/WickPlatform.cmake)

if(PROJECT_IS_TOP_LEVEL AND WICK_PLATFORM STREQUAL "posix")
  set(wick_shared ON)
else()
  set(wick_shared OFF)
endif()
option(WICK_VULKAN "Build the Vulkan backend (needs vulkan headers, glslc and spirv-tools)" ${WICK_DLOPEN})
option(WICK_RE2 "Run RegexFullMatch with RE2, where libre2-dev is installed" ON)
option(WICK_SCALAR_ONLY "Highway's scalar target alone: no vector instructions beyond the compiler's own" OFF)
option(WICK_BUILD_SHARED "Also build the shared runtime library" ${wick_shared})
option(WICK_PIC "Static libraries that may become a part of shared ones" ${wick_shared})
option(WICK_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})
option(WICK_CCACHE "Use ccache when it is installed" ${PROJECT_IS_TOP_LEVEL})
option(WICK_MOLD "Link with mold when it is installed" ${PROJECT_IS_TOP_LEVEL})
if(WICK_PLATFORM STREQUAL "none")
  set(wick_small ON)
else()
  set(wick_small OFF)
endif()
option(WICK_SMALL "For little memory: integer weights are read where they lie, and code is compiled for size" ${wick_small})
if(WICK_SMALL)
  set(wick_texts OFF)
else()
  set(wick_texts ON)
endif()
option(WICK_ERROR_TEXTS "Errors say what is wrong; without them a code alone does" ${wick_texts})
option(WICK_EDITION_1 "Files of the first edition of the order of operations run, too (docs/numerics.md)" ON)
set(WICK_SANITIZE "" CACHE STRING "Value of -fsanitize=, e.g. address, undefined, thread (empty: none)")
option(WICK_COVERAGE "Count the lines and branches that run (gcov), but for those of tests" OFF)
option(WICK_LIBFUZZER "Count edges for libFuzzer's fuzz_edges (tests/fuzz); needs clang" OFF)

get_property(wick_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT wick_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(WICK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WICK_CCACHE_PROGRAM ccache)
  mark_as_advanced(WICK_CCACHE_PROGRAM)
  if(WICK_CCACHE_PROGRAM)
    set(CMAKE_C_COMPILER_LAUNCHER ${WICK_CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${WICK_CCACHE_PROGRAM})
  endif()
endif()

# Unreferenced sections are dropped; the linker of WebAssembly does so by default.
set(wick_link_flags)
if(APPLE)
  list(APPEND wick_link_flags -Wl,-dead_strip)
elseif(NOT WICK_PLATFORM STREQUAL "wasm")
  list(APPEND wick_link_flags -Wl,--gc-sections)
endif()
if(WICK_MOLD AND NOT CMAKE_CROSSCOMPILING)
  find_program(WICK_MOLD_PROGRAM mold)
  mark_as_advanced(WICK_MOLD_PROGRAM)
  if(WICK_MOLD_PROGRAM)
    list(APPEND wick_link_flags -fuse-ld=mold)
  endif()
endif()

# The flags that every target of the tree is built with. -ffp-contract=off is part of the numeric contract: the compiler
# must not fuse multiplications and additions that the source keeps apart.
set(wick_compile_flags -Wall -Wextra -ffp-contract=off -ffunction-sections -fdata-sections)
# Without an operating system uint32_t is a long of the width of int: "%u" is right but would cause warnings.
if(WICK_PLATFORM STREQUAL "none")
  list(APPEND wick_compile_flags -Wno-format)
endif()
if(WICK_WERROR)
  list(APPEND wick_compile_flags -Werror)
endif()
if(WICK_SANITIZE)
  list(APPEND wick_compile_flags -fsanitize=${WICK_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # Under sanitizers GCC 12 sees uninitialised members in libstdc++'s <regex> (GCC bug 105562).
  list(APPEND wick_compile_flags -Wno-maybe-uninitialized)
  list(APPEND wick_link_flags -fsanitize=${WICK_SANITIZE})
  # vptr checks need RTTI, which the runtime is built without.
  if(WICK_SANITIZE MATCHES "undefined")
    list(APPEND wick_compile_flags -fno-sanitize=vptr)
  endif()
endif()

if(WICK_LIBFUZZER)
  list(APPEND wick_compile_flags -fsanitize=fuzzer-no-link)
  list(APPEND wick_link_flags -fsanitize=fuzzer-no-link)
endif()

function(wick_flags target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE ${wick_compile_flags})
  target_link_options(${target} PRIVATE ${wick_link_flags})
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    C_STANDARD 11
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  # The shared library is linked from the same objects as the static one.
  if(WICK_PIC OR WICK_BUILD_SHARED)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()
