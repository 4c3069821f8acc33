// The times of many runs of a model: what `wick bench` prints of them.
#pragma once

#include <cstddef>
#include <vector>

namespace wick::tool {

// Returns the time below which a share `q` of the sorted times lies: the element at q * n, counted
// from 0, rounded down and no later than the last. 0 where there are none.
double quantile(const std::vector<double>& sorted, double q);

// Figures of the same runs by one clock, in milliseconds; all 0 where nothing ran.
struct TimeFigures {
  double least = 0, p50 = 0, p95 = 0, p99 = 0, mean = 0;
};

// The wall time and the processor time (of all threads) of each run.
class RunTimes {
 public:
  void add(double wall_ms, double cpu_ms);
  // Adds the runs of `other`.
  void add(const RunTimes& other);
  size_t runs() const { return wall_.size(); }
  // Returns the wall time of all runs.
  double total_ms() const;
  TimeFigures wall() const;
  TimeFigures cpu() const;

 private:
  std::vector<double> wall_, cpu_;  // as long as each other
};

}  // namespace wick::tool
