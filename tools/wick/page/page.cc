#include "tools/wick/page/page.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "runtime/core/sha256.h"
#include "tools/wick/page_files.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

std::string base64(Span<const uint8_t> bytes) {
  static const char* const kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (i + k < bytes.size() ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

std::string digest(const std::string& text) {
  uint8_t sum[32];
  Sha256 hash;
  hash.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  hash.finish(sum);
  return "'sha256-" + base64(sum) + "'";
}

// JSON inside a <script>: nothing in it may end the element or begin a comment. The three
// characters occur only in strings, where they are written as \u escapes. Bytes that are not UTF-8
// become U+FFFD.
std::string inert(const nlohmann::json& data) {
  const std::string plain = data.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string text;
  text.reserve(plain.size());
  for (char c : plain) {
    switch (c) {
      case '<': text += "\\u003c"; break;
      case '>': text += "\\u003e"; break;
      case '&': text += "\\u0026"; break;
      default: text += c;
    }
  }
  return text;
}

void put(std::string& page, const std::string& mark, const std::string& text) {
  const size_t at = page.find(mark);
  if (at == std::string::npos) throw Error("the page has no place for " + mark);
  page.replace(at, mark.size(), text);
}

std::string filled(std::string page, const std::string& style, const std::string& script,
                   const nlohmann::json& data) {
  // A second defence besides the escaping: no other script runs, and nothing is fetched.
  put(page, "{{policy}}",
      fmt::format("default-src 'none'; base-uri 'none'; form-action 'none'; script-src {}; "
                  "style-src {}",
                  digest(script), digest(style)));
  put(page, "{{style}}", style);
  put(page, "{{script}}", script);
  put(page, "{{data}}", inert(data));
  return page;
}

}  // namespace

std::string html_page(const nlohmann::json& data) {
  return filled(kPageHtml, kPageStyle, kPageScript, data);
}
std::string report_page(const nlohmann::json& data) {
  return filled(kReportHtml, kReportStyle, kReportScript, data);
}
std::string quantize_page(const nlohmann::json& data) {
  return filled(kQuantizeHtml, kQuantizeStyle, kQuantizeScript, data);
}
std::string roofline_page(const nlohmann::json& data) {
  return filled(kRooflineHtml, kRooflineStyle, kRooflineScript, data);
}
std::string verify_page(const nlohmann::json& data) {
  return filled(kVerifyHtml, kVerifyStyle, kVerifyScript, data);
}

}  // namespace wick::tool
