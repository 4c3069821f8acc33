# Inside another project (FetchContent, add_subdirectory) Wick is a guest: it keeps its own ways in its own folders and
# changes nothing of the host's. The first of Wick's folders that is entered decides: the runtime's is the repository's
# guest, which is no other project.
include_guard(GLOBAL)
if(PROJECT_IS_TOP_LEVEL)
  return()
endif()

# Only what the host links is built, and to its compiler Wick's headers are a system's.
if(NOT WICK_INSTALL)
  set_directory_properties(PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
set_directory_properties(PROPERTIES SYSTEM ON)

# What the host's flags make of its own sources is not asked of Wick's: its warnings, its -Werror, and the arithmetic of
# -ffast-math, with which answers would be other numbers. Nor are files of one name space built as one.
add_compile_options(-w -fno-fast-math)
set(CMAKE_UNITY_BUILD OFF)

# A host that names no build type gets none, and Wick's loops are optimised all the same.
get_property(wick_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT wick_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
