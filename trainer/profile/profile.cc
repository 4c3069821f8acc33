#include "trainer/profile/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace wick {
namespace {

bool is_kernel(const ProfileSlice& s) { return s.kind == SliceKind::kKernel; }

std::string key_of(const ProfileSlice& s, ProfileBy by) {
  switch (by) {
    case ProfileBy::kOp: return s.name;
    case ProfileBy::kModule: return s.module.empty() ? "(outside of modules)" : s.module;
    case ProfileBy::kLine: return s.where.empty() ? "(no line)" : s.where;
    case ProfileBy::kKernel: return s.kernel;
  }
  return {};
}

// Returns the part of a step that a slice belongs to, or "".
std::string part_of(const ProfileSlice& s) {
  if (s.kind == SliceKind::kModule) return "forward";
  if (s.kind != SliceKind::kRange) return "";
  for (const char* part : {"loader", "zero_grad", "forward", "loss", "backward", "optimizer"}) {
    if (s.name == part) return part;
  }
  return "";
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::vector<ProfileRow> Profile::rows(ProfileBy by, const Roofline& roof) const {
  std::map<std::string, ProfileRow> found;
  double accounted = 0;
  std::vector<double> inner(slices.size(), 0.0);  // seconds of direct children
  for (const ProfileSlice& s : slices) {
    if (s.parent >= 0) inner[static_cast<size_t>(s.parent)] += s.seconds();
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    const ProfileSlice& s = slices[i];
    std::string key;
    double own = s.seconds();
    if (is_kernel(s)) {
      key = key_of(s, by);
    } else if (by == ProfileBy::kOp && s.kind == SliceKind::kRange &&
               (s.name == "loader" || s.name == "optimizer")) {
      key = "[" + s.name + "]";
      own -= inner[i];
    } else {
      continue;
    }
    ProfileRow& row = found[key];
    ++row.calls;
    row.seconds += own;
    accounted += own;
    if (s.backward) row.backward_seconds += own;
    if (!is_kernel(s)) continue;
    row.flops += s.cost.flops();
    row.bytes += s.cost.bytes();
  }
  if (by == ProfileBy::kOp && seconds > accounted) {
    ProfileRow& rest = found["[outside kernels]"];
    rest.seconds = seconds - accounted;
  }
  std::vector<ProfileRow> rows;
  for (auto& [name, row] : found) {
    row.name = name;
    row.bound = roof.bound(row.flops, row.bytes);
    if (row.seconds > 0 && row.bytes > 0)
      row.of_roof = row.flops / row.seconds / roof.roof(row.flops, row.bytes);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return rows;
}

std::string Profile::table(ProfileBy by, size_t top) const {
  return table(by, top, machine_roofline());
}

std::string Profile::table(ProfileBy by, size_t top, const Roofline& roof) const {
  static constexpr const char* kHead[] = {"op", "module", "line", "kernel"};
  const std::vector<ProfileRow> all = rows(by, roof);
  size_t width = 12;
  for (size_t i = 0; i < all.size() && i < top; ++i) width = std::max(width, all[i].name.size());
  std::string text =
      fmt::format("{:<{}}  {:>7}  {:>11}  {:>6}  {:>11}  {:>9}  {:>8}  {:>8}  {:>7}  {:>5}\n",
                  kHead[static_cast<int>(by)], width, "calls", "time", "%", "of it bwd", "a call",
                  "GFLOP/s", "GB/s", "bound", "roof");
  for (size_t i = 0; i < all.size() && i < top; ++i) {
    const ProfileRow& r = all[i];
    const bool ran = r.bytes > 0 && r.seconds > 0;
    text +=
        fmt::format("{:<{}}  {:>7}  {:>11}  {:>5.1f}%  {:>11}  {:>9}  {:>8}  {:>8}  {:>7}  {:>5}\n",
                    r.name, width, r.calls, time_text(r.seconds), 100 * share(r.seconds, seconds),
                    r.backward_seconds > 0 ? time_text(r.backward_seconds) : "-",
                    r.calls > 0 ? time_text(r.seconds / static_cast<double>(r.calls)) : "-",
                    ran ? fmt::format("{:.2f}", r.flops / r.seconds / 1e9) : "-",
                    ran ? fmt::format("{:.2f}", r.bytes / r.seconds / 1e9) : "-", r.bound,
                    ran ? fmt::format("{:.0f}%", 100 * r.of_roof) : "-");
  }
  if (all.size() > top) text += fmt::format("and {} more\n", all.size() - top);
  text += fmt::format("{} in all; {}\n", time_text(seconds), roof.text());
  if (dropped > 0) text += fmt::format("{} slices beyond the limit are not in it\n", dropped);
  return text;
}

StepAnatomy Profile::anatomy() const {
  StepAnatomy a;
  int64_t optimizer_steps = 0;
  uint64_t covered = 0;      // slices before this time belong to a part already
  uint64_t forward_end = 0;  // end of the last forward without a backward so far; 0: none
  double parts = 0;
  for (const ProfileSlice& s : slices) {
    if (s.begin_ns < covered) continue;  // inside of a part
    const std::string part = part_of(s);
    if (part.empty()) continue;
    covered = s.end_ns;
    double* to = part == "loader"      ? &a.loader
                 : part == "zero_grad" ? &a.zero_grad
                 : part == "forward"   ? &a.forward
                 : part == "loss"      ? &a.loss
                 : part == "backward"  ? &a.backward
                                       : &a.optimizer;
    *to += s.seconds();
    parts += s.seconds();
    if (part == "optimizer") ++optimizer_steps;
    if (part == "backward" && forward_end != 0) {
      const double between = static_cast<double>(s.begin_ns - forward_end) * 1e-9;
      a.loss += between;
      parts += between;
    }
    forward_end = part == "forward" || (part == "loss" && forward_end != 0) ? s.end_ns : 0;
  }
  a.steps = std::max<int64_t>(optimizer_steps, 1);
  a.other = std::max(0.0, seconds - parts);
  return a;
}

std::string StepAnatomy::text() const {
  std::string text = fmt::format("{} step{}, {} each\n", steps, steps == 1 ? "" : "s",
                                 time_text(total() / static_cast<double>(steps)));
  auto line = [&](const char* name, double s) {
    text += fmt::format("  {:<10} {:>11}  {:>5.1f}%\n", name,
                        time_text(s / static_cast<double>(steps)), 100 * share(s, total()));
  };
  line("loader", loader), line("zero_grad", zero_grad), line("forward", forward);
  line("loss", loss), line("backward", backward), line("optimizer", optimizer);
  line("other", other);
  return text;
}

}  // namespace wick
