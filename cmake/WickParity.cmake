# wick_add_parity_test(NAME model.wick|model.onnx|run... [ARGS ...])
#
# Adds a ctest entry that runs `wick verify` on the first model; further ones were made from it. ARGS are more options
# of the command (--backend cpu,vulkan; --baseline DIR). Its results are in ${CMAKE_BINARY_DIR}/parity: NAME.xml
# (JUnit), NAME.html (models, targets, classes), and in NAME/ the few nodes that show a difference. The program is the
# package's; -DWICK_VERIFY_COMMAND=PATH selects another one.
include_guard(GLOBAL)

set(WICK_PARITY_DIR ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")

function(wick_add_parity_test name)
  cmake_parse_arguments(arg "" "" "ARGS" ${ARGN})
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "wick_add_parity_test(${name}): needs a model")
  endif()
  # The package is in PREFIX/lib/cmake/Wick or PREFIX/lib/ARCH/cmake/Wick.
  find_program(WICK_VERIFY_COMMAND wick NO_DEFAULT_PATH
    HINTS ${WICK_PARITY_DIR}/../../../bin ${WICK_PARITY_DIR}/../../../../bin)
  if(NOT WICK_VERIFY_COMMAND)
    message(FATAL_ERROR "wick_add_parity_test(${name}): the package has no program `wick`: install the whole build, or "
      "set WICK_VERIFY_COMMAND")
  endif()
  set(models)
  foreach(model IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH model BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND models ${model})
  endforeach()
  set(found ${CMAKE_BINARY_DIR}/parity)
  file(MAKE_DIRECTORY ${found})
  add_test(NAME ${name} COMMAND ${WICK_VERIFY_COMMAND} verify ${models} --junit ${found}/${name}.xml
    --html ${found}/${name}.html --repro ${found}/${name} ${arg_ARGS})
endfunction()
