# Tests. GoogleTest comes from the system; a cross build compiles Debian's copy of its source.
set(WICK_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH "GoogleTest's source, for cross builds")
if(WICK_BUILD_TESTS)
  if(CMAKE_CROSSCOMPILING)
    add_subdirectory(${WICK_GOOGLETEST_SOURCE} googletest EXCLUDE_FROM_ALL SYSTEM)
    set(wick_test_libs gmock gtest gtest_main)
  else()
    find_package(GTest REQUIRED)
    set(wick_test_libs GTest::gmock GTest::gtest GTest::gtest_main)
  endif()
endif()

# What a device was found to do is kept in the build, not with the user.
set(wick_test_cache ENVIRONMENT_MODIFICATION "WICK_CACHE_DIR=set:${PROJECT_BINARY_DIR}/cache")

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
    wick_flags(${target})
    # What tests time and prove lies in the libraries: their own tables of samples compile in half the time so.
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    target_link_libraries(${target} PRIVATE ${wick_test_libs})
    target_compile_definitions(${target} PRIVATE
      WICK_SOURCE_DIR="${PROJECT_SOURCE_DIR}" WICK_BINARY_DIR="${PROJECT_BINARY_DIR}")
    set(results ${PROJECT_BINARY_DIR}/test-results)
    add_test(NAME ${name} COMMAND ${target} --gtest_brief=1 --gtest_output=xml:${results}/${name}.xml)
    set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS gtest ${wick_test_cache})
  endif()
  target_sources(${target} PRIVATE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBS})
endfunction()

# wick_full(PART NAME FILTER): in the part PART of make test-full, run test_NAME with that gtest filter
# and WICK_TEST_FULL=1, under which tests widen from their subset to everything.
function(wick_full part name filter)
  set(test full.${part}.${name})
  while(TEST ${test})
    string(APPEND test "+")
  endwhile()
  set(results ${PROJECT_BINARY_DIR}/test-results)
  add_test(NAME ${test} COMMAND test_${name} --gtest_filter=${filter} --gtest_brief=1
    --gtest_output=xml:${results}/${test}.xml)
  set_tests_properties(${test} PROPERTIES TIMEOUT 3500 LABELS "full;${part}"
    ENVIRONMENT WICK_TEST_FULL=1 ${wick_test_cache})
endfunction()

# wick_script_test(NAME COMMAND ...): a script; exit 0 passed, 77 with a line "SKIP: reason" skipped.
# A script that closes with "N passed, N failed" counts with those.
function(wick_script_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "COMMAND" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS script SKIP_RETURN_CODE 77
    ENVIRONMENT "WICK_BUILD=${PROJECT_BINARY_DIR}" ${wick_test_cache})
endfunction()
