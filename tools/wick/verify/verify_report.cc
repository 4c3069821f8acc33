#include "tools/wick/verify/verify_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/core/utf8.h"
#include "tools/lib/text.h"

namespace wick::tool {
namespace {

using Verdict = VerifyRow::Verdict;

// Escapes names from a file for an attribute or a text: what is not an XML 1.0 character becomes a
// question mark.
std::string xml(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point(text.data() + i, text.size() - i);
    const bool taken = c.value != kNoCodePoint && (c.value & 0xfffe) != 0xfffe &&
                       (c.value >= 0x20 || c.value == '\t' || c.value == '\n');
    switch (c.value) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += taken ? text.substr(i, c.bytes) : "?";
    }
    i += c.bytes;
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

std::string counts_of(const VerifyReport& report) {
  std::string text;
  for (const Verdict v :
       {Verdict::kEqual, Verdict::kClose, Verdict::kDiffers, Verdict::kFailed, Verdict::kSkipped}) {
    const auto n = std::count_if(report.rows.begin(), report.rows.end(),
                                 [v](const VerifyRow& r) { return r.verdict == v; });
    if (n != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, verdict_name(v));
  }
  return text;
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
