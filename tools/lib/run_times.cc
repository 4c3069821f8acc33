#include "tools/lib/run_times.h"

#include <algorithm>
#include <numeric>

namespace wick::tool {
namespace {

TimeFigures figures_of(std::vector<double> ms) {
  if (ms.empty()) return {};
  std::sort(ms.begin(), ms.end());
  const double sum = std::accumulate(ms.begin(), ms.end(), 0.0);
  return {ms.front(), quantile(ms, 0.5), quantile(ms, 0.95), quantile(ms, 0.99),
          sum / static_cast<double>(ms.size())};
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<size_t>(q * static_cast<double>(sorted.size()));
  return sorted[std::min(sorted.size() - 1, at)];
}

void RunTimes::add(double wall_ms, double cpu_ms) {
  wall_.push_back(wall_ms);
  cpu_.push_back(cpu_ms);
}

void RunTimes::add(const RunTimes& other) {
  wall_.insert(wall_.end(), other.wall_.begin(), other.wall_.end());
  cpu_.insert(cpu_.end(), other.cpu_.begin(), other.cpu_.end());
}

double RunTimes::total_ms() const { return std::accumulate(wall_.begin(), wall_.end(), 0.0); }
TimeFigures RunTimes::wall() const { return figures_of(wall_); }
TimeFigures RunTimes::cpu() const { return figures_of(cpu_); }

}  // namespace wick::tool
