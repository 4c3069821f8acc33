#include "tools/lib/chrome_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/core/shape.h"

namespace wick::tool {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string shapes_of(Span<const TensorView> views) {
  std::string text;
  for (const TensorView& v : views) {
    text += text.empty() ? "" : " ";
    text += v.present() ? fmt::format("{}{}", dtype_name(v.dtype), to_text(v.shape).text) : "-";
  }
  return text;
}

// A thread of the trace is a row of the picture.
int row_of(const std::string& backend) { return backend == "cpu" ? 1 : 2; }

// Returns microseconds; three decimals are exact nanoseconds.
double micros(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

void ChromeTrace::on_op(const TraceEvent& e) {
  if (steps_.size() == kMostSteps) {
    ++dropped_;
    return;
  }
  steps_.push_back({e.op, e.node, e.kernel, e.backend, shapes_of(e.in) + " -> " + shapes_of(e.out),
                    e.index, e.begin_ns, e.end_ns});
}

std::string ChromeTrace::text() const {
  auto events = OrderedJson::array();
  uint64_t first = UINT64_MAX;
  std::vector<std::string> rows;
  for (const Step& s : steps_) {
    first = std::min(first, s.begin_ns);
    if (std::find(rows.begin(), rows.end(), s.backend) == rows.end()) rows.push_back(s.backend);
  }
  for (const std::string& backend : rows) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", row_of(backend)},
                      {"args", {{"name", backend}}}});
  }
  for (const Step& s : steps_) {
    events.push_back({{"name", s.node.empty() ? s.op : s.op + " " + s.node},
                      {"cat", "op"},
                      {"ph", "X"},
                      {"ts", micros(s.begin_ns - first)},
                      {"dur", micros(s.end_ns - s.begin_ns)},
                      {"pid", 1},
                      {"tid", row_of(s.backend)},
                      {"args",
                       {{"op", s.op},
                        {"node", s.node},
                        {"kernel", s.kernel},
                        {"step", s.index},
                        {"shapes", s.shapes}}}});
  }
  const OrderedJson doc = {{"traceEvents", std::move(events)},
                           {"displayTimeUnit", "ns"},
                           {"otherData", {{"producer", "wick"}, {"dropped_steps", dropped_}}}};
  // Names come from files: invalid UTF-8 becomes U+FFFD.
  return doc.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace wick::tool
