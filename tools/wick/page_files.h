// The files of tools/wick/page, report_page and quantize_page as text; page_files.cmake makes the
// definitions.
#pragma once

namespace wick::tool {

extern const char* const kPageHtml;
extern const char* const kPageStyle;
extern const char* const kPageScript;
extern const char* const kReportHtml;
extern const char* const kReportStyle;
extern const char* const kReportScript;
extern const char* const kQuantizeHtml;
extern const char* const kQuantizeStyle;
extern const char* const kQuantizeScript;

}  // namespace wick::tool
