// The files of tools/wick/page as text; page_files.cmake makes the definitions.
#pragma once

namespace wick::tool {

extern const char* const kPageHtml;
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace wick::tool
