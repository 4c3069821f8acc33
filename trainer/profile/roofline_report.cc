#include "trainer/profile/roofline_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace wick {

std::vector<RooflinePoint> roofline_points(const Profile& profile, const Roofline& roof) {
  std::map<std::tuple<std::string, std::string, std::string, bool>, RooflinePoint> found;
  for (const ProfileSlice& s : profile.slices) {
    if (s.kind != SliceKind::kKernel || s.cost.bytes() <= 0) continue;
    RooflinePoint& p = found[{s.name, s.module, s.shapes, s.backward}];
    ++p.calls;
    p.seconds += s.seconds();
    p.flops += s.cost.flops();
    p.bytes += s.cost.bytes();
  }
  std::vector<RooflinePoint> points;
  for (auto& [key, p] : found) {
    std::tie(p.op, p.module, p.shapes, p.backward) = key;
    p.intensity = p.flops / p.bytes;
    p.compute_bound = p.intensity >= roof.ridge();
    if (p.seconds > 0) {
      p.gflops = p.flops / p.seconds / 1e9;
      p.gbytes = p.bytes / p.seconds / 1e9;
      // What moves bytes alone is held against the bandwidth, everything else against the roof.
      p.of_roof = p.flops > 0 ? p.gflops * 1e9 / roof.roof(p.flops, p.bytes)
                              : p.gbytes * 1e9 / roof.bytes_per_second;
    }
    points.push_back(std::move(p));
  }
  std::stable_sort(
      points.begin(), points.end(),
      [](const RooflinePoint& a, const RooflinePoint& b) { return a.seconds > b.seconds; });
  return points;
}

std::string roofline_report(const std::vector<RooflinePoint>& points, const Roofline& roof,
                            size_t top) {
  size_t op = 2, module = 6;
  double all = 0, compute = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    all += points[i].seconds;
    compute += points[i].compute_bound ? points[i].seconds : 0;
    if (i >= top) continue;
    op = std::max(op, points[i].op.size() + (points[i].backward ? 4 : 0));
    module = std::max(module, points[i].module.size());
  }
  const auto share = [&](double part) { return all > 0 ? 100 * part / all : 0; };
  std::string text = roof.text() + "\n";
  text += fmt::format("{:<{}}  {:<{}}  {:>5}  {:>8}  {:>6}  {:>8}  {:>8}  {:>8}  {:>7}  {}\n", "op",
                      op, "module", module, "calls", "ms", "%", "FLOP/B", "GFLOP/s", "GB/s",
                      "of roof", "verdict");
  for (size_t i = 0; i < points.size() && i < top; ++i) {
    const RooflinePoint& p = points[i];
    text += fmt::format(
        "{:<{}}  {:<{}}  {:>5}  {:>8.3f}  {:>6.1f}  {:>8.2f}  {:>8.2f}  {:>8.2f}  {:>5.0f} %  {}\n",
        p.op + (p.backward ? " bwd" : ""), op, p.module, module, p.calls, p.seconds * 1e3,
        share(p.seconds), p.intensity, p.gflops, p.gbytes, 100 * p.of_roof, p.verdict());
  }
  if (points.size() > top) text += fmt::format("and {} more\n", points.size() - top);
  return text + fmt::format("{:.3f} ms in ops: {:.0f} % compute-bound, {:.0f} % memory-bound\n",
                            all * 1e3, share(compute), share(all - compute));
}

}  // namespace wick
