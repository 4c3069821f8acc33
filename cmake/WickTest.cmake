# Tests. GoogleTest comes from the system; a cross build compiles Debian's copy of its source.
set(WICK_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH "GoogleTest's source, for cross builds")
if(WICK_BUILD_TESTS)
  if(CMAKE_CROSSCOMPILING)
    if(CMAKE_SYSTEM_NAME STREQUAL "WASI") # neither threads nor exceptions nor a second standard output
      set(gtest_disable_pthreads ON)
    endif()
    add_subdirectory(${WICK_GOOGLETEST_SOURCE} googletest EXCLUDE_FROM_ALL SYSTEM)
    if(CMAKE_SYSTEM_NAME STREQUAL "WASI")
      target_compile_definitions(gtest PUBLIC GTEST_HAS_STREAM_REDIRECTION=0 GTEST_HAS_EXCEPTIONS=0)
    endif()
    set(wick_test_libs gmock gtest gtest_main)
    if(CMAKE_SYSTEM_NAME STREQUAL "WASI") # its start-up code does without main(), which is not looked for in a library
      list(APPEND wick_test_libs $<TARGET_OBJECTS:gtest_main>)
    endif()
  else()
    find_package(GTest REQUIRED)
    set(wick_test_libs GTest::gmock GTest::gtest GTest::gtest_main)
  endif()
endif()

if(NOT DEFINED Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3) # not the one of a user's own environment
endif()

# cmake/TestEnvironment.cmake.in decides what tests see of the caller's environment, and the Vulkan driver they run on.
# wick_pin_tests(FOLDER): ctest reads that file with the tests of the folder and of those below it, from wherever it
# starts.
find_file(WICK_VULKAN_VALIDATION VkLayer_khronos_validation.json
  PATHS /usr/share/vulkan/explicit_layer.d /etc/vulkan/explicit_layer.d /usr/local/share/vulkan/explicit_layer.d)
mark_as_advanced(WICK_VULKAN_VALIDATION)
function(wick_pin_tests folder)
  set(settings ${PROJECT_BINARY_DIR}/TestEnvironment.cmake)
  if(folder STREQUAL PROJECT_SOURCE_DIR)
    file(GLOB wick_lavapipe /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json
      /usr/local/share/vulkan/icd.d/lvp_icd*.json)
    string(REPLACE ";" ":" wick_lavapipe "${wick_lavapipe}")
    if(NOT wick_lavapipe)
      set(wick_lavapipe ${PROJECT_BINARY_DIR}/no-lavapipe.json) # does not exist: tests report that there is no device
    endif()
    get_filename_component(wick_layer_folder "${WICK_VULKAN_VALIDATION}" DIRECTORY)
    if(NOT wick_layer_folder)
      set(wick_layer_folder ${PROJECT_BINARY_DIR}/no-layers)
    endif()
    configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/TestEnvironment.cmake.in ${settings} @ONLY)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cache/mesa) # Mesa creates only the last folder of its cache's path
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test-bin/python3 @ONLY
      CONTENT "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n")
    file(CHMOD ${PROJECT_BINARY_DIR}/test-bin/python3
      PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/vk_layer_settings.txt
      CONTENT "# No settings: tests give theirs in the environment.\n")
  endif()
  get_property(tests DIRECTORY ${folder} PROPERTY TESTS)
  if(tests OR folder STREQUAL PROJECT_SOURCE_DIR)
    set_property(DIRECTORY ${folder} APPEND PROPERTY TEST_INCLUDE_FILES ${settings})
  endif()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS below)
    wick_pin_tests(${each})
  endforeach()
endfunction()

# wick_test_definitions(FILE NAME=VALUE...) adds definitions to one source of the folder, because a definition that
# names a folder keeps copies of the tree from sharing the objects compiled with it.
function(wick_test_definitions file)
  set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS ${ARGN})
endfunction()

# Most of a test's compile time is its headers: GoogleTest's, the standard library's, and those of the room on top.
# wick_test_headers(NAME LIB HEADER...) declares a program without tests that owns the precompiled headers of the tests
# that are linked with LIB. GCC takes a precompiled header only where all options are the same.
function(wick_test_headers name lib)
  if(NOT WICK_PRECOMPILE OR CMAKE_CROSSCOMPILING OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU OR NOT TARGET ${lib})
    return()
  endif()
  set(target test_headers_${name})
  add_executable(${target} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/headers.cc)
  wick_test_flags(${target})
  target_link_libraries(${target} PRIVATE ${lib})
  target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <gmock/gmock.h> <algorithm> <cmath> <filesystem> <fstream>
    <functional> <map> <random> <set> <sstream> <thread> ${ARGN})
endfunction()
function(wick_test_flags target)
  wick_flags(${target})
  # The code that tests time and check is in the libraries: the tests' own tables of samples compile in half the time
  # this way.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${target} PRIVATE ${wick_test_libs} wick_test_where)
endfunction()
# wick_reuse_headers(TARGET LIB...) takes the ones of the highest room among these libraries.
function(wick_reuse_headers target)
  set(name "") # a program of none of them
  if(ARGN)
    set(name runtime)
  endif()
  foreach(lib IN LISTS ARGN)
    # The rows of ops and the trainer's kernels are linked without either room, whose
    # headers' inline functions would need it.
    if(lib MATCHES "op_rows|trainer_kernels")
      continue()
    elseif(lib MATCHES "trainer|submission|tools")
      set(name trainer)
    elseif(name STREQUAL runtime AND lib MATCHES "compile|graph")
      set(name graph)
    endif()
  endforeach()
  if(TARGET test_headers_${name})
    target_precompile_headers(${target} REUSE_FROM test_headers_${name})
  endif()
endfunction()

# wick_test(NAME SOURCES a.cc ... LIBS ...): GoogleTest sources of the room NAME. Calls with the same
# NAME add to one executable (test_NAME), so that few binaries are linked; each is one ctest test.
function(wick_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "wick_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target test_${name})
  if(NOT TARGET ${target})
    add_executable(${target})
    wick_test_flags(${target})
    wick_reuse_headers(${target} ${arg_LIBS})
    set(results ${PROJECT_BINARY_DIR}/test-results)
    add_test(NAME ${name} COMMAND ${target} --gtest_brief=1 --gtest_output=xml:${results}/${name}.xml)
    # A sanitizer makes the longest ones take several times as long.
    set(limit 1800)
    if(WICK_SANITIZE)
      set(limit 5400)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} LABELS gtest)
  endif()
  target_sources(${target} PRIVATE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBS})
endfunction()

# wick_full(PART NAME FILTER) runs test_NAME with that gtest filter in the part PART of make test-full, and with
# WICK_TEST_FULL=1, under which tests widen from their subset to everything.
function(wick_full part name filter)
  set(test full.${part}.${name})
  while(TEST ${test})
    string(APPEND test "+")
  endwhile()
  set(results ${PROJECT_BINARY_DIR}/test-results)
  add_test(NAME ${test} COMMAND test_${name} --gtest_filter=${filter} --gtest_brief=1
    --gtest_output=xml:${results}/${test}.xml)
  set_tests_properties(${test} PROPERTIES TIMEOUT 3500 LABELS "full;${part}"
    ENVIRONMENT WICK_TEST_FULL=1)
endfunction()

# wick_script_test(NAME COMMAND ...) adds a script as a test: exit 0 means passed, 77 with a line "SKIP: reason"
# skipped. If a script ends with "N passed, N failed", these are counted.
function(wick_script_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "COMMAND" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS script SKIP_RETURN_CODE 77
    ENVIRONMENT "WICK_BUILD=${PROJECT_BINARY_DIR}")
endfunction()
