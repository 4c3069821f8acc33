# Inside another project (FetchContent, add_subdirectory) Wick is a guest: it applies its settings in its own folders
# and changes nothing of the host's. The first of Wick's folders that is entered decides: when the repository's top
# level includes runtime/, that is not another project.
include_guard(GLOBAL)
if(PROJECT_IS_TOP_LEVEL)
  return()
endif()

# Only what the host links is built, and the host's compiler treats Wick's headers as system headers.
if(NOT WICK_INSTALL)
  set_directory_properties(PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
set_directory_properties(PROPERTIES SYSTEM ON)

# The host's flags for its own sources do not apply to Wick's: its warnings, its -Werror, and -ffast-math, which would
# change results. Nor may Wick's files be merged into a unity build.
add_compile_options(-w -fno-fast-math)
set(CMAKE_UNITY_BUILD OFF)

# A host that names no build type still gets none, but Wick's loops are optimised.
get_property(wick_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT wick_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
