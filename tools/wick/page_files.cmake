# Writes tools/wick/page's files as C++ strings: cmake -DOUT=x.cc -DHTML=page.html -DSTYLE=page.css
# "-DSCRIPT=a.js|b.js" -P page_files.cmake. The scripts are one, in this order.
function(wick_literal out)
  set(text "")
  foreach(file IN LISTS ARGN)
    file(READ ${file} part)
    string(APPEND text "${part}")
  endforeach()
  set(${out} "R\"wick(${text})wick\"" PARENT_SCOPE)
endfunction()
string(REPLACE "|" ";" scripts "${SCRIPT}")
wick_literal(html ${HTML})
wick_literal(style ${STYLE})
wick_literal(script ${scripts})
file(WRITE ${OUT} "#include \"tools/wick/page_files.h\"\n
namespace wick::tool {
const char* const kPageHtml = ${html};
const char* const kPageStyle = ${style};
const char* const kPageScript = ${script};
}  // namespace wick::tool\n")
