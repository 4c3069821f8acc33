# Shared by the toolchain files of zig's C++ compiler (pip install ziglang), which brings headers and libraries of its
# targets along. WICK_ZIG is the command, e.g. -DWICK_ZIG="/path/to/venv/bin/python;-m;ziglang".
if(NOT WICK_ZIG AND NOT "$ENV{WICK_ZIG}" STREQUAL "")
  set(WICK_ZIG "$ENV{WICK_ZIG}")
endif()
if(NOT WICK_ZIG)
  find_program(wick_zig zig)
  set(WICK_ZIG ${wick_zig})
endif()
if(NOT WICK_ZIG)
  message(FATAL_ERROR "zig is not installed: pip install ziglang, and give -DWICK_ZIG=\"PYTHON;-m;ziglang\", in the environment or to CMake")
endif()
# CMake's own checks of the compiler read this file again, and know only what is passed to them.
set(WICK_ZIG "${WICK_ZIG}" CACHE STRING "The command of zig")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WICK_ZIG)

# CMake expects a compiler to be one program; zig's takes a word first.
set(wick_zig_folder ${CMAKE_BINARY_DIR}/zig-${wick_zig_target})
list(JOIN WICK_ZIG "' '" wick_zig_command)
foreach(tool cc c++ ar ranlib)
  set(target)
  if(tool MATCHES "^c")
    set(target "-target ${wick_zig_target} ${wick_zig_flags}")
  endif()
  file(CONFIGURE OUTPUT ${wick_zig_folder}/${tool} @ONLY CONTENT
    "#!/bin/sh\nexec '@wick_zig_command@' @tool@ @target@ \"$@\"\n")
  file(CHMOD ${wick_zig_folder}/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_C_COMPILER ${wick_zig_folder}/cc)
set(CMAKE_CXX_COMPILER ${wick_zig_folder}/c++)
set(CMAKE_AR ${wick_zig_folder}/ar)
set(CMAKE_RANLIB ${wick_zig_folder}/ranlib)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# CMake asks the host's linker how a whole archive is linked, and hears of --push-state, which zig's does not know.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  foreach(language C CXX)
    set(CMAKE_${language}_LINK_LIBRARY_USING_WHOLE_ARCHIVE_SUPPORTED TRUE)
    set(CMAKE_${language}_LINK_LIBRARY_USING_WHOLE_ARCHIVE
      "LINKER:--whole-archive" "<LINK_ITEM>" "LINKER:--no-whole-archive")
  endforeach()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/host_headers.cmake)
