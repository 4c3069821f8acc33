# Shared by the cross builds' toolchain files: libraries are the target's, programs and the header-only dependencies the
# host's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Naming /usr/include itself would bring the host's libc headers in, so a folder of links names just
# these.
set(wick_links ${CMAKE_BINARY_DIR}/host-headers)
file(MAKE_DIRECTORY ${wick_links})
foreach(library hwy flatbuffers fmt)
  if(NOT EXISTS ${wick_links}/${library})
    file(CREATE_LINK /usr/include/${library} ${wick_links}/${library} SYMBOLIC)
  endif()
endforeach()
set(WICK_HWY_INCLUDE_DIR ${wick_links} CACHE PATH "")
set(WICK_FLATBUFFERS_INCLUDE_DIR ${wick_links} CACHE PATH "")
set(WICK_EIGEN_INCLUDE_DIR /usr/include/eigen3 CACHE PATH "")
