#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "trainer/profile/benchmark.h"
#include "wick/error.h"

namespace wick {

double student_t95(int64_t degrees) {
  static constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                      2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                      2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                      2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees < 1) return 0;
  if (degrees <= static_cast<int64_t>(std::size(kTable))) return kTable[degrees - 1];
  // Cornish and Fisher's expansion around the normal quantile, accurate to 0.001 from here on.
  const double z = 1.959964, n = static_cast<double>(degrees);
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

BenchmarkResult::BenchmarkResult(std::string m, std::vector<double> v, std::string u, Where where)
    : metric(std::move(m)), unit(std::move(u)), values(std::move(v)) {
  if (values.empty()) throw_error("BenchmarkResult", metric + ": no values", where);
  for (double x : values) {
    if (!std::isfinite(x))
      throw_error("BenchmarkResult", fmt::format("{}: a value is {}", metric, x), where);
  }
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  count = static_cast<int64_t>(n);
  min = sorted.front();
  max = sorted.back();
  median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  for (double x : sorted) mean += x;
  mean /= static_cast<double>(n);
  double squares = 0;
  for (double x : sorted) squares += (x - mean) * (x - mean);
  std = n > 1 ? std::sqrt(squares / static_cast<double>(n - 1)) : 0;
  const double half = student_t95(count - 1) * std / std::sqrt(static_cast<double>(n));
  ci_low = mean - half;
  ci_high = mean + half;
}

std::string BenchmarkResult::to_dict() const {
  return nlohmann::ordered_json{{"metric", metric}, {"unit", unit},     {"mean", mean},
                                {"std", std},       {"median", median}, {"min", min},
                                {"max", max},       {"count", count},   {"ci95", {ci_low, ci_high}}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string BenchmarkResult::text() const {
  const std::string u = unit.empty() ? "" : " " + unit;
  return fmt::format("{}: {:.4g}{} ± {:.2g} (median {:.4g}, {:.4g} to {:.4g}, n = {})", metric,
                     mean, u, std, median, min, max, count);
}

std::vector<size_t> pareto_frontier(const std::vector<Candidate>& candidates,
                                    const std::vector<Better>& directions, Where where) {
  if (directions.empty()) throw_error("pareto_frontier", "no directions", where);
  for (const Candidate& c : candidates) {
    if (c.scores.size() != directions.size()) {
      throw_error("pareto_frontier",
                  fmt::format("'{}' has {} scores for {} directions", c.name, c.scores.size(),
                              directions.size()),
                  where);
    }
    for (double s : c.scores) {
      if (!std::isfinite(s))
        throw_error("pareto_frontier", fmt::format("'{}' has a score of {}", c.name, s), where);
    }
  }
  auto dominates = [&](const Candidate& a, const Candidate& b) {
    bool better = false;
    for (size_t i = 0; i < directions.size(); ++i) {
      const double gain =
          directions[i] == Better::kHigher ? a.scores[i] - b.scores[i] : b.scores[i] - a.scores[i];
      if (gain < 0) return false;
      better = better || gain > 0;
    }
    return better;
  };
  std::vector<size_t> front;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool beaten = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      return dominates(c, candidates[i]);
    });
    if (!beaten) front.push_back(i);
  }
  return front;
}

}  // namespace wick
