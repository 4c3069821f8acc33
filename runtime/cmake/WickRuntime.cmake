# Functions for the runtime's folders: third-party headers and the ways in which a folder adds code.
include_guard(GLOBAL)

# Header-only dependencies. When cross-compiling, both may come from the build machine's /usr/include: the toolchain
# file points at a folder of links (targets/aarch64).
find_path(WICK_HWY_INCLUDE_DIR hwy/highway.h REQUIRED)
find_path(WICK_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(WICK_FLATC flatc REQUIRED)
mark_as_advanced(WICK_HWY_INCLUDE_DIR WICK_FLATBUFFERS_INCLUDE_DIR WICK_FLATC)

get_filename_component(WICK_RUNTIME_DIR ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
get_filename_component(WICK_ROOT_DIR ${WICK_RUNTIME_DIR}/.. ABSOLUTE)
set(WICK_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)

# Flags and include paths of runtime code: no exceptions, no RTTI.
function(wick_runtime_target target)
  wick_flags(${target})
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>)
  # Segments and weights are 64-byte aligned inside the file.
  target_compile_definitions(${target} PUBLIC FLATBUFFERS_MAX_ALIGNMENT=64)
  # SSSE3 gains less than its code costs; AVX3_DL is requested by the files whose code differs there (bytes). SVE
  # vectors have no fixed size, so they cannot be the elements of arrays that tiles are kept in: NEON serves aarch64.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(disabled "(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
  else()
    set(disabled HWY_SSSE3)
  endif()
  if(WICK_SANITIZE STREQUAL "thread") # reads threads, not lanes: one target besides the baseline
    set(disabled "(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")
  endif()
  # Elsewhere the scalar target with std::fma is used: on 32-bit Arm, NEON flushes subnormal numbers to zero and has no
  # division, and where Highway knows no vectors it would choose a fallback by the compiler's version that rounds twice.
  set(scalar ${WICK_SCALAR_ONLY})
  if(WICK_SMALL OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86|i.86|AMD64|aarch64|arm64|wasm")
    set(scalar ON)
  endif()
  target_compile_definitions(${target} PUBLIC
    $<BUILD_INTERFACE:HWY_DISABLED_TARGETS=${disabled}>
    $<$<BOOL:${scalar}>:$<BUILD_INTERFACE:HWY_COMPILE_ONLY_SCALAR>>)
  target_compile_definitions(${target} PUBLIC ${wick_platform_definitions}
    $<$<NOT:$<BOOL:${WICK_ERROR_TEXTS}>>:WICK_ERROR_TEXTS=0> $<$<BOOL:${WICK_SMALL}>:WICK_SMALL=1>
    $<$<NOT:$<BOOL:${WICK_EDITION_1}>>:WICK_EDITION_1=0>)
  if(WICK_SMALL)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release,MinSizeRel>:-Os>)
  endif()
  target_include_directories(${target}
    PUBLIC
      $<BUILD_INTERFACE:${WICK_ROOT_DIR}>
      $<BUILD_INTERFACE:${WICK_RUNTIME_DIR}/include>
      $<BUILD_INTERFACE:${WICK_GENERATED_DIR}>)
  target_include_directories(${target} SYSTEM
    PUBLIC
      $<BUILD_INTERFACE:${WICK_HWY_INCLUDE_DIR}>
      $<BUILD_INTERFACE:${WICK_FLATBUFFERS_INCLUDE_DIR}>)
endfunction()

# wick_optimize(LEVEL file...): sets the level for sources of the folder in optimised builds, where less code is worth
# more than -O3's unrolling. LEVEL is size for code that runs once per load or bind, wide for the many instances of one
# plain loop (still vectorized; half the code and half the compile time).
function(wick_optimize level)
  if(WICK_COVERAGE)
    return()
  endif()
  if(level STREQUAL "size" OR WICK_SMALL)
    set(flags -Os)
  else()
    set(flags -O2 $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
  endif()
  # The property is read only where the target is made, which is another folder than the one that adds the files.
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY wick_runtime_objects APPEND PROPERTY COMPILE_OPTIONS
    "$<$<CONFIG:Release,MinSizeRel>:${flags}>")
endfunction()

# wick_flatbuffer(TARGET program.fbs): generates <folder>/program_generated.h, which is included by its path from the
# repository's root. It is generated at build time because the header requires the library version that made it.
function(wick_flatbuffer target schema)
  get_filename_component(stem ${schema} NAME_WE)
  file(RELATIVE_PATH folder ${WICK_ROOT_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(out_dir ${WICK_GENERATED_DIR}/${folder})
  set(header ${out_dir}/${stem}_generated.h)
  add_custom_command(OUTPUT ${header}
    COMMAND ${WICK_FLATC} --cpp --scoped-enums -o ${out_dir}
      ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
    DEPENDS ${schema}
    COMMENT "flatc ${folder}/${schema}"
    VERBATIM)
  # The target may belong to another folder, where the rule above cannot be found by file name; hence a custom target.
  string(MAKE_C_IDENTIFIER ${folder}_${stem}_flatbuffer rule)
  add_custom_target(${rule} DEPENDS ${header})
  add_dependencies(${target} ${rule})
endfunction()
