// The files of tools/wick/page, report_page, quantize_page, roofline_page and verify_page as text;
// page_files.cmake generates the definitions.
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
extern const char* const kRooflineHtml;
extern const char* const kRooflineStyle;
extern const char* const kRooflineScript;
extern const char* const kVerifyHtml;
extern const char* const kVerifyStyle;
extern const char* const kVerifyScript;

}  // namespace wick::tool
