// How fast the ranks are, and which one holds the others up.
//
//   distributed::Pace pace(world);
//   for (...) {
//     ...
//     if (std::string line = pace.step(); !line.empty()) std::puts(line.c_str());
//   }
#pragma once

#include <string>
#include <vector>

#include "trainer/distributed/group.h"

namespace wick::distributed {

// Options of Pace.
struct PaceOptions {
  int64_t every = 20;  // steps between two lines
  double slow = 1.5;   // a rank is slow whose own work takes so many times the median
};

// Times a training loop. All ranks of a synchronous step take the same time, as they wait for each
// other: a rank's own work is its time without that wait.
class Pace {
 public:
  // Throws Error unless `every` is at least 1 and `slow` above 1.
  explicit Pace(const Group& group, const PaceOptions& options = {},
                Where where = Where::current());
  // Counts a step; every rank calls it at the same place. After every `every` steps the ranks
  // exchange their times, and rank 0 gets a line (the others, and between lines all, an empty
  // text):
  //   step 40: 12.3 ms; own work of rank 0..3: 8.1, 8.0, 12.1, 8.2 ms; rank 2 is slow (1.5x)
  std::string step(Where where = Where::current());
  // Milliseconds of own work a step, by rank, at the last line; empty before.
  const std::vector<double>& own_ms() const { return own_ms_; }
  // The ranks that were slow at the last line.
  const std::vector<int>& stragglers() const { return stragglers_; }

 private:
  double now() const;

  Group group_;
  PaceOptions options_;
  int64_t steps_ = 0;
  double began_, waited_;  // seconds, at the last line
  std::vector<double> own_ms_;
  std::vector<int> stragglers_;
};

// Returns the ranks whose own work takes more than `slow` times the median of all.
std::vector<int> slow_ranks(const std::vector<double>& own_ms, double slow);

}  // namespace wick::distributed
