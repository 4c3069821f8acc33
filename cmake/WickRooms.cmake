# A room is one library: its folder's CMakeLists declares it, its subfolders add their sources with
# target_sources(wick_NAME PRIVATE ...), and wick_room_end() closes it.

# wick_room(NAME LIBS ...) declares wick_NAME. LIBS are public.
function(wick_room name)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_library(wick_${name} STATIC)
  wick_flags(wick_${name})
  target_link_libraries(wick_${name} PUBLIC ${arg_LIBS})
  target_include_directories(wick_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(wick_${name} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endif()
endfunction()

function(wick_room_end name)
  get_target_property(sources wick_${name} SOURCES)
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc.new "namespace wick {}\n")
    file(COPY_FILE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc.new ${CMAKE_CURRENT_BINARY_DIR}/empty.cc
      ONLY_IF_DIFFERENT)
    target_sources(wick_${name} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/empty.cc)
  endif()
endfunction()
