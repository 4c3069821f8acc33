# cpack runs this after installing and before packing: see cmake/WickPack.cmake.
foreach(own library program)
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${own}
    ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${own}/*)
  foreach(other runtime tools dev)
    if(IS_DIRECTORY ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${other})
      list(TRANSFORM files PREPEND ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${other}/ OUTPUT_VARIABLE twice)
      file(REMOVE ${twice})
    endif()
  endforeach()
endforeach()
