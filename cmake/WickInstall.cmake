# install() and the find_package(Wick) package. Headers keep the paths they have in the tree, below
# include/wick: "runtime/core/status.h" and "wick/runtime.h" alike.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(wick_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/wick)
set(wick_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Wick)

# Requires that files of `targets` exist when `component` is installed: cmake/CheckInstall.cmake.in.
function(wick_must_be_built component)
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    add_dependencies(wick_installed ${target})
    set_property(GLOBAL APPEND_STRING PROPERTY WICK_INSTALLED "wick_needs(\"${component}\" \"$<TARGET_FILE:${target}>\")\n")
  endforeach()
endfunction()

# wick_install(COMPONENT ROOMS folder... TARGETS target...) exports each target as Wick::<name without wick_>.
function(wick_install component)
  cmake_parse_arguments(arg "" "" "ROOMS;TARGETS" ${ARGN})
  foreach(target IN LISTS arg_TARGETS)
    string(REGEX REPLACE "^wick_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "EXECUTABLE" AND NOT target STREQUAL "wick_compile")
      target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${wick_include_dir}>)
    endif()
  endforeach()
  wick_must_be_built(${component} ${arg_TARGETS})
  install(TARGETS ${arg_TARGETS} EXPORT wick-${component}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT wick-${component} FILE Wick-${component}.cmake NAMESPACE Wick::
    DESTINATION ${wick_package_dir} COMPONENT ${component})
  foreach(room IN LISTS arg_ROOMS)
    cmake_path(GET room PARENT_PATH above)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room} DESTINATION ${wick_include_dir}/${above}
      COMPONENT ${component} FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "methods.inc"
      PATTERN "*-inl.h" EXCLUDE
      PATTERN "CMakeFiles" EXCLUDE
      PATTERN "include" EXCLUDE)
    if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/include)
      install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/include/ DESTINATION ${wick_include_dir}
        COMPONENT ${component} FILES_MATCHING PATTERN "*.h")
    endif()
  endforeach()
endfunction()

set(runtime_targets wick_runtime wick_registry wick_ops)
foreach(target wick_runtime_shared wick_vulkan_shared wick_vulkan wick_selection wick_select_ops)
  if(TARGET ${target})
    list(APPEND runtime_targets ${target})
  endif()
endforeach()
wick_install(runtime ROOMS runtime TARGETS ${runtime_targets})
if(WICK_BUILD_TRAINER)
  wick_install(trainer ROOMS trainer trainer/distributed TARGETS wick_trainer wick_distributed)
endif()
if(WICK_BUILD_QUANTIZE)
  # trainer/capture's headers are installed with the trainer's.
  set(quantize_targets wick_graph wick_quantize)
  if(TARGET wick_capture)
    list(APPEND quantize_targets wick_capture)
  endif()
  wick_install(quantize ROOMS graph quantize TARGETS ${quantize_targets})
endif()
if(WICK_BUILD_COMPILE)
  wick_install(compile ROOMS exporter TARGETS wick_exporter wick_compile)
endif()
if(WICK_BUILD_SIGN)
  wick_install(sign ROOMS sign TARGETS wick_sign)
endif()
if(WICK_BUILD_TOOLS)
  wick_install(tools ROOMS tools/lib tools/submission TARGETS wick_tools wick_submission)
  wick_must_be_built(tools wick)
  set(wick_programs wick)
  if(TARGET wick-serve)
    list(APPEND wick_programs wick-serve)
  endif()
  install(TARGETS ${wick_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/scripts/ort_run.py ${PROJECT_SOURCE_DIR}/tools/scripts/openvino_run.py
    DESTINATION ${CMAKE_INSTALL_DATADIR}/wick COMPONENT tools)
  # `wick build` compiles the runtime for other machines.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime ${PROJECT_SOURCE_DIR}/targets
    DESTINATION ${CMAKE_INSTALL_DATADIR}/wick COMPONENT tools)
endif()

# The packages that find_package(Wick) must find again for a static link.
set(WICK_TRAINER_DEPENDENCIES "ZLIB;fmt")
set(WICK_COMPILE_DEPENDENCIES "Protobuf;ONNX;fmt")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/WickConfig.cmake.in
  ${PROJECT_BINARY_DIR}/WickConfig.cmake INSTALL_DESTINATION ${wick_package_dir}
  PATH_VARS wick_include_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/WickConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/WickConfig.cmake ${PROJECT_BINARY_DIR}/WickConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/runtime/cmake/WickSelectedOps.cmake ${CMAKE_CURRENT_LIST_DIR}/WickParity.cmake
  DESTINATION ${wick_package_dir} COMPONENT runtime)

# For builds without CMake. The prefix is found from the file's own location, so that an unpacked folder works as it is.
set(wick_re2_library)
if(WICK_RE2_FOUND)
  set(wick_re2_library "-Wl,--push-state,--as-needed -lre2 -Wl,--pop-state") # one op's: most programs do not need it
endif()
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(ABSOLUTE_PATH pkgconfig_dir BASE_DIRECTORY /prefix OUTPUT_VARIABLE wick_up)
set(wick_down /prefix)
cmake_path(RELATIVE_PATH wick_down BASE_DIRECTORY ${wick_up} OUTPUT_VARIABLE wick_up)
configure_file(${CMAKE_CURRENT_LIST_DIR}/wick-runtime.pc.in ${PROJECT_BINARY_DIR}/wick-runtime.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wick-runtime.pc DESTINATION ${pkgconfig_dir} COMPONENT runtime)

# Writes what wick_must_be_built() named for cmake/CheckInstall.cmake.in.
get_property(wick_needs GLOBAL PROPERTY WICK_INSTALLED)
configure_file(${CMAKE_CURRENT_LIST_DIR}/CheckInstall.cmake.in ${PROJECT_BINARY_DIR}/CheckInstall.cmake.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/CheckInstall.cmake INPUT ${PROJECT_BINARY_DIR}/CheckInstall.cmake.in)
