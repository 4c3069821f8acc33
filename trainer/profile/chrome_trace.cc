#include <nlohmann/json.hpp>

#include "runtime/core/atomic_file.h"
#include "trainer/profile/profile.h"
#include "wick/error.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

const char* category(const ProfileSlice& s) {
  switch (s.kind) {
    case SliceKind::kRange: return "range";
    case SliceKind::kModule: return "module";
    case SliceKind::kNode: return "backward node";
    case SliceKind::kKernel: return s.backward ? "backward op" : "op";
  }
  return "";
}

// Returns microseconds; three decimals are exact nanoseconds.
double us(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

// `roof` null: what bounds an op is left out.
Json events_of(const Profile& profile, int process, int track, const Roofline* roof) {
  Json events = Json::array();
  events.push_back({{"name", "thread_name"},
                    {"ph", "M"},
                    {"pid", process},
                    {"tid", track},
                    {"args", {{"name", "training thread"}}}});
  for (const ProfileSlice& s : profile.slices) {
    Json args = Json::object();
    if (s.kind == SliceKind::kKernel) {
      args["op"] = s.name;
      args["kernel"] = s.kernel;
      args["shapes"] = s.shapes;
      args["bytes"] = s.cost.bytes();
      args["flops"] = s.cost.flops();
      if (roof != nullptr) args["bound"] = roof->bound(s.cost.flops(), s.cost.bytes());
    }
    if (!s.module.empty()) args["module"] = s.module;
    if (!s.where.empty()) args["line"] = s.where;
    events.push_back({{"name", s.name},
                      {"cat", category(s)},
                      {"ph", "X"},
                      {"ts", us(s.begin_ns)},
                      {"dur", us(s.end_ns - s.begin_ns)},
                      {"pid", process},
                      {"tid", track},
                      {"args", std::move(args)}});
  }
  return events;
}

// Names are given by users: invalid UTF-8 becomes U+FFFD.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string Profile::chrome_trace() const { return chrome_trace(machine_roofline()); }

std::string Profile::chrome_events(int process, int track) const {
  const std::string list = text_of(events_of(*this, process, track, nullptr));
  return list.substr(1, list.size() - 2);
}

std::string Profile::chrome_trace(const Roofline& roof) const {
  const Json doc = {{"traceEvents", events_of(*this, 1, 1, &roof)},
                    {"displayTimeUnit", "ns"},
                    {"otherData",
                     {{"producer", "wick"},
                      {"threads", threads},
                      {"dropped_slices", dropped},
                      {"peak_flops_per_second", roof.flops_per_second},
                      {"peak_bytes_per_second", roof.bytes_per_second}}}};
  return text_of(doc) + "\n";
}

void Profile::save_chrome_trace(const std::string& path) const {
  const std::string text = chrome_trace();
  check_status(write_file_atomically(path.c_str(), text.data(), text.size()));
}

}  // namespace wick
