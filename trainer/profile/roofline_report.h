// Where each op of a profiled step stands under the machine's roofline: how many FLOPs it computes
// for a byte that it moves, how fast it is, and which of the two limits applies.
#pragma once

#include <string>
#include <vector>

#include "trainer/profile/profile.h"
#include "trainer/profile/roofline.h"

namespace wick {

// All calls of one op of one module with the same shapes.
struct RooflinePoint {
  std::string op, module, shapes;  // "conv2d", "conv1", "float32[64,1,28,28] ... -> ..."
  bool backward = false;           // inside of a gradient formula
  int64_t calls = 0;               // of all recorded steps
  double seconds = 0;              // of all calls
  double flops = 0, bytes = 0;     // of all calls, by runtime/ops/op_cost.h
  double intensity = 0;            // FLOPs a byte
  double gflops = 0, gbytes = 0;   // a second, in 1e9; 0 if the clock saw no time
  double of_roof = 0;              // share of what the roof allows; caches may exceed it
  bool compute_bound = false;      // intensity is at or above the ridge; else memory-bound
  // Returns "compute-bound" or "memory-bound".
  const char* verdict() const { return compute_bound ? "compute-bound" : "memory-bound"; }
};

// Returns a point for each op that moved bytes, most time first.
std::vector<RooflinePoint> roofline_points(const Profile& profile, const Roofline& roof);

// Returns the machine's limits, a line for each of the first `top` points, and a last one with the
// time on each side of the ridge.
std::string roofline_report(const std::vector<RooflinePoint>& points, const Roofline& roof,
                            size_t top = 20);

}  // namespace wick
