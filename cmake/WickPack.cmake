# Packages, by cpack in the build folder: one .tar.gz of all that `cmake --install` writes (cpack -G TGZ), and .deb packages
# (cpack -G DEB) as Debian splits libraries:
#
#   libwick-runtime0      the shared library alone: what a program that was built elsewhere needs
#   libwick-runtime-dev   headers, libwick_runtime.a, pkg-config, find_package(Wick COMPONENTS runtime), wick_select_ops
#   libwick-dev           the same of the other components that were built
#   wick-tools            the command
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_CROSSCOMPILING)
  set(CPACK_GENERATOR TGZ) # dpkg's tools look at this machine's libraries
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CPACK_GENERATOR "TGZ;DEB")
endif()
set(CPACK_PACKAGE_NAME wick)
set(CPACK_PACKAGE_VENDOR Wick)
set(CPACK_PACKAGE_CONTACT "Wick <wick@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_SYSTEM_NAME ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 0)

# Files of two packages that are one component for `cmake --install`: the components `library` and `program` have them
# once more, for cpack alone, and WickPackSplit removes them from the others.
set(CPACK_COMPONENTS_ALL runtime)
if(TARGET wick_runtime_shared)
  install(TARGETS wick_runtime_shared LIBRARY NAMELINK_SKIP DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT library EXCLUDE_FROM_ALL)
  list(APPEND CPACK_COMPONENTS_ALL library)
endif()
foreach(part TRAINER QUANTIZE COMPILE SIGN TOOLS)
  if(WICK_BUILD_${part})
    string(TOLOWER ${part} component)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endif()
endforeach()
if(WICK_BUILD_TOOLS)
  install(TARGETS wick RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program EXCLUDE_FROM_ALL)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/scripts/ort_run.py ${PROJECT_SOURCE_DIR}/tools/scripts/openvino_run.py
    DESTINATION ${CMAKE_INSTALL_DATADIR}/wick COMPONENT program EXCLUDE_FROM_ALL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime ${PROJECT_SOURCE_DIR}/targets
    DESTINATION ${CMAKE_INSTALL_DATADIR}/wick COMPONENT program EXCLUDE_FROM_ALL)
  list(APPEND CPACK_COMPONENTS_ALL program)
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/WickPackSplit.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libwick-runtime0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Runs .wick models: the shared library")

# The dependencies of static libraries and package files, which no object names: the -dev packages of what was found.
set(this "(= ${PROJECT_VERSION})")
set(runtime_depends)
if(TARGET wick_runtime_shared)
  list(APPEND runtime_depends "libwick-runtime0 ${this}")
endif()
if(WICK_RE2_FOUND)
  list(APPEND runtime_depends libre2-dev)
endif()
list(JOIN runtime_depends ", " CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libwick-runtime-dev)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Runs .wick models: headers, the static library, and wick_select_ops")

foreach(component trainer quantize compile sign tools)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_GROUP dev)
endforeach()
set(dev_depends "libwick-runtime-dev ${this}")
if(WICK_BUILD_TRAINER)
  list(APPEND dev_depends libfmt-dev zlib1g-dev)
  foreach(found ARCHIVE PNG JPEG CSV)
    if(WICK_${found}_FOUND)
      string(TOLOWER ${found} name)
      list(APPEND dev_depends lib${name}-dev)
    endif()
  endforeach()
endif()
if(WICK_BUILD_COMPILE)
  list(APPEND dev_depends libonnx-dev libprotobuf-dev protobuf-compiler)
endif()
if(WICK_SIGN_FOUND)
  list(APPEND dev_depends libsodium-dev)
endif()
list(JOIN dev_depends ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libwick-dev)
set(CPACK_COMPONENT_GROUP_DEV_DESCRIPTION "Trains, quantizes and exports models: headers and static libraries")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME wick-tools)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Trains, exports, quantizes, verifies and runs models: the command wick")
include(CPack)
