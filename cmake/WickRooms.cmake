# A room is one library: its folder's CMakeLists declares it, its subfolders add their sources with
# target_sources(wick_NAME PRIVATE ...), and wick_room_end() closes it.

# A room's time is spent in the kernels that it calls: release builds compile it with -O1 (bits do not depend on it:
# -ffp-contract=off), and with one precompiled header of what most of its files include. wick_hot() names the
# exceptions.
function(wick_cold target)
  target_compile_options(${target} PRIVATE "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>")
  if(WICK_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage -fprofile-abs-path -fprofile-update=atomic)
  endif()
  if(ARGN AND WICK_PRECOMPILE)
    # clang-tidy finds a header that a file needs and does not include, since it reads files without the precompiled
    # one.
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  if(WICK_UNITY)
    # A small file's includes cost more than its own code. GCC warns of members whose type is local to a file when the
    # file is not the one on its command line.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
  endif()
endfunction()

# wick_hot(NAME file...) names sources of the folder with loops or calls of their own that are worth -O3.
function(wick_hot name)
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY wick_${name} APPEND PROPERTY COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY wick_${name} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# wick_room(NAME LIBS ... PRECOMPILE ...) declares wick_NAME. LIBS are public.
function(wick_room name)
  cmake_parse_arguments(arg "" "" "LIBS;PRECOMPILE" ${ARGN})
  add_library(wick_${name} STATIC)
  wick_flags(wick_${name})
  wick_cold(wick_${name} ${arg_PRECOMPILE})
  target_link_libraries(wick_${name} PUBLIC ${arg_LIBS})
  target_include_directories(wick_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(wick_${name} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endif()
endfunction()

function(wick_room_end name)
  get_target_property(sources wick_${name} SOURCES)
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc.new "namespace wick {}\n")
    file(COPY_FILE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc.new ${CMAKE_CURRENT_BINARY_DIR}/empty.cc
      ONLY_IF_DIFFERENT)
    target_sources(wick_${name} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
  endif()
endfunction()
