#include "tools/wick/verify_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/lib/text.h"

namespace wick::tool {
namespace {

using Verdict = VerifyRow::Verdict;

// The bytes of the UTF-8 character at `i` that XML 1.0 takes, 0 where there is none.
size_t xml_character(const std::string& text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  if (byte(i) < 0x80) return byte(i) >= 0x20 || text[i] == '\t' || text[i] == '\n' ? 1 : 0;
  const size_t n = byte(i) >> 5 == 6 ? 2 : byte(i) >> 4 == 14 ? 3 : byte(i) >> 3 == 30 ? 4 : 0;
  if (n == 0 || i + n > text.size()) return 0;
  uint32_t code = byte(i) & (0xffu >> (n + 1));
  for (size_t k = i + 1; k < i + n; ++k) {
    if (byte(k) >> 6 != 2) return 0;
    code = code << 6 | (byte(k) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[n] || surrogate || code > 0x10ffff || (code & 0xfffe) == 0xfffe ? 0 : n;
}

// Names of a file in an attribute or a text.
std::string xml(const std::string& text) {
  std::string out;
  for (size_t i = 0, n = 1; i < text.size(); i += n) {
    n = xml_character(text, i);
    switch (text[i]) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += n == 0 ? "?" : text.substr(i, n);
    }
    n = std::max<size_t>(n, 1);
  }
  return out;
}

std::string name_of(const VerifyRow& row) {
  return row.sizes.empty() ? row.target : fmt::format("{} [{}]", row.target, row.sizes);
}

}  // namespace

nlohmann::json json_of(const FirstDifference& f) {
  return {{"value", f.value},       {"op", f.op},       {"node", f.node}, {"type", f.type},
          {"element", f.element},   {"got", f.got},     {"ulps", f.ulps}, {"bound", f.bound},
          {"expected", f.expected}, {"text", f.text()}, {"reason", f.why}};
}

nlohmann::json json_of(const VerifyReport& report, const std::vector<std::string>& models) {
  auto rows = nlohmann::json::array();
  for (const VerifyRow& r : report.rows) {
    nlohmann::json row = {{"model", r.model},       {"target", r.target},
                          {"numerics", r.numerics}, {"sizes", r.sizes},
                          {"values", r.values},     {"verdict", verdict_name(r.verdict)},
                          {"why", r.why},           {"first", nullptr}};
    if (r.first) row["first"] = json_of(*r.first);
    if (!r.repro.empty()) row["repro"] = r.repro;
    rows.push_back(std::move(row));
  }
  const char* verdict = report.any(Verdict::kDiffers)  ? "differs"
                        : report.any(Verdict::kFailed) ? "failed"
                        : report.any(Verdict::kClose)  ? "close"
                                                       : "equal";
  return {{"wick", WICK_VERSION}, {"models", models}, {"verdict", verdict}, {"rows", rows}};
}

std::string junit_of(const VerifyReport& report) {
  int failures = 0, errors = 0, skipped = 0;
  std::string cases;
  for (const VerifyRow& r : report.rows) {
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(one_line(r.model)),
                         xml(one_line(name_of(r))));
    const std::string text = one_line(r.first ? r.first->text() : r.why);
    switch (r.verdict) {
      case Verdict::kClose:
      case Verdict::kEqual: cases += "/>\n"; continue;
      case Verdict::kSkipped:
        ++skipped;
        cases += fmt::format(">\n      <skipped message=\"{}\"/>\n", xml(text));
        break;
      case Verdict::kFailed:
        ++errors;
        cases += fmt::format(">\n      <error message=\"{}\"/>\n", xml(text));
        break;
      case Verdict::kDiffers:
        ++failures;
        cases += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n", xml(text),
                             xml(r.repro.empty() ? text : text + "\nshown by " + r.repro));
        break;
    }
    cases += "    </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"wick verify\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  "
      "</testsuite>\n</testsuites>\n",
      report.rows.size(), failures, errors, skipped, cases);
}

std::string line_of(const VerifyRow& row) {
  std::string line = fmt::format("{:<8}{:<26} {:<16} {:<14}", verdict_name(row.verdict), row.target,
                                 row.sizes, row.numerics);
  if (row.verdict == Verdict::kEqual && row.values > 0)
    line += fmt::format("{} values", row.values);
  if (row.first) line += row.first->text();
  if (!row.why.empty()) line += row.why;
  line = one_line(line);
  if (!row.repro.empty()) line += "\n        shown by " + one_line(row.repro);
  return line;
}

}  // namespace wick::tool
