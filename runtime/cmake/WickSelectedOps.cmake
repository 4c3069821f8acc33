# wick_selected_ops(TARGET MODEL.wick... [OP[:simd|:blocked|:products|:narrow|:reference]...])
#
# Links TARGET, statically, with the kernels of these models and ops only. Each op is given by its name in
# runtime/ops/ops.def; ":simd" leaves out the plain loops of other dtypes, ":reference" takes only those; ":blocked",
# together with ":simd", adds the kernels for values in blocked layout; ":products" those of numerics "fast" and "bf16"; FusedElementwise:arithmetic is for chains of
# Add, Sub, Mul and Div alone.
# A model that needs more fails when it is opened, with the op's name. With models, the ops are found at build time by
# wick_select_ops, a program of this package; where that cannot run (a cross build), list the output of running it
# elsewhere:  wick_select_ops MODEL.wick
include_guard(GLOBAL)

set(WICK_SELECTED_OPS_DIR ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")

# ops.def is in the runtime folder beside this file's in the source tree, and among the headers once installed.
function(wick_known_ops out)
  set(known)
  foreach(file ${WICK_SELECTED_OPS_DIR}/../ops/ops.def ${Wick_OPS_DEF})
    if(EXISTS ${file})
      file(STRINGS ${file} rows REGEX "^WICK_OP\\(.*kInfer,")
      foreach(row IN LISTS rows)
        string(REGEX REPLACE "^WICK_OP\\(([A-Za-z0-9]+).*" "\\1" name "${row}")
        list(APPEND known ${name})
      endforeach()
      break()
    endif()
  endforeach()
  set(${out} ${known} PARENT_SCOPE)
endfunction()

function(wick_selected_ops target)
  set(models)
  set(choices)
  wick_known_ops(known)
  foreach(arg IN LISTS ARGN)
    if(arg MATCHES "\\.wick$")
      cmake_path(ABSOLUTE_PATH arg BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      list(APPEND models ${arg})
      continue()
    endif()
    if(NOT arg MATCHES "^([A-Za-z0-9]+)(:simd|:blocked|:products|:narrow|:arithmetic|:reference)?$"
        OR (arg MATCHES ":arithmetic$" AND NOT arg STREQUAL "FusedElementwise:arithmetic"))
      message(FATAL_ERROR "wick_selected_ops(${target}): ${arg} is neither a .wick file nor an op")
    endif()
    string(REGEX REPLACE ":.*" "" op ${arg})
    string(REGEX MATCH ":.*" set ${arg})
    if(NOT op IN_LIST known)
      message(FATAL_ERROR "wick_selected_ops(${target}): there is no op ${op}; see ops.def, or `wick ops`")
    endif()
    if(set STREQUAL ":simd")
      set(name kSimd)
    elseif(set STREQUAL ":blocked")
      set(name kBlocked)
    elseif(set STREQUAL ":products")
      set(name kProducts)
    elseif(set STREQUAL ":narrow")
      set(name kNarrow)
    elseif(set STREQUAL ":arithmetic")
      set(name kArithmetic)
    elseif(set STREQUAL ":reference")
      set(name kReference)
    else()
      set(name kAny)
    endif()
    string(APPEND rows " \\\n  X(${op}, ${name})")
    list(APPEND choices ${arg})
  endforeach()
  if(NOT models AND NOT choices)
    message(FATAL_ERROR "wick_selected_ops(${target}): give a .wick file or ops")
  endif()

  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}_selected_ops.cc)
  if(models)
    if(CMAKE_CROSSCOMPILING OR NOT TARGET Wick::select_ops)
      message(FATAL_ERROR "wick_selected_ops(${target}): wick_select_ops cannot run here; run it on the "
        "machine you build on and list what it prints instead of the models")
    endif()
    add_custom_command(OUTPUT ${source}
      COMMAND Wick::select_ops ${models} ${choices} -o ${source}
      DEPENDS ${models} Wick::select_ops
      COMMENT "Selecting the ops of ${target}"
      VERBATIM)
  else()
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
      "// Written by wick_selected_ops.\n#define WICK_SELECTED_OPS(X)@rows@\n#include \"runtime/kernels/selected_ops.h\"\n")
  endif()
  target_sources(${target} PRIVATE ${source})
  target_link_libraries(${target} PRIVATE Wick::runtime)
  if(APPLE)
    target_link_options(${target} PRIVATE -Wl,-dead_strip)
  elseif(NOT CMAKE_SYSTEM_NAME MATCHES "^(Emscripten|WASI)$")
    target_link_options(${target} PRIVATE -Wl,--gc-sections)
  endif()
endfunction()
