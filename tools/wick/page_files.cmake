# Writes a page's files as C++ strings: cmake -DOUT=x.cc -DNAME=Page -DHTML=page.html -DSTYLE=page.css
# "-DSCRIPT=a.js|b.js" -P page_files.cmake. The scripts are joined in this order; so may styles be.
function(wick_literal out)
  set(text "")
  foreach(file IN LISTS ARGN)
    file(READ ${file} part)
    string(APPEND text "${part}")
  endforeach()
  set(${out} "R\"wick(${text})wick\"" PARENT_SCOPE)
endfunction()
string(REPLACE "|" ";" scripts "${SCRIPT}")
string(REPLACE "|" ";" styles "${STYLE}")
wick_literal(html ${HTML})
wick_literal(style ${styles})
wick_literal(script ${scripts})
file(WRITE ${OUT} "#include \"tools/wick/page_files.h\"\n
namespace wick::tool {
const char* const k${NAME}Html = ${html};
const char* const k${NAME}Style = ${style};
const char* const k${NAME}Script = ${script};
}  // namespace wick::tool\n")
