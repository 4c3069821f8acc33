// How far each node of a model is from what the machine can do: `wick bench --roofline`.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/op_cost.h"
#include "tools/lib/node_times.h"
#include "trainer/profile/roofline.h"

namespace wick::tool {

// What keeps a node from being faster.
enum class Bound : uint8_t {
  kCompute,   // arithmetic: at the peak of multiply-adds it would need longer than for its bytes
  kMemory,    // reading and writing
  kOverhead,  // neither: it runs below kOverheadShare of what both allow
};
const char* bound_name(Bound bound);  // "compute-bound", "memory-bound", "overhead"

// A node slower than ten times what the peaks allow is not explained by them: what it pays is the
// start of a step, threads that wake, or a loop without vectors.
constexpr double kOverheadShare = 0.1;

// What a node reaches. Shares are of the machine's peaks; above 1, its bytes come from caches, or
// its products are of narrower numbers than the float32 ones of the peak.
struct NodeRoof {
  double gflops = 0, gbytes = 0;  // a second, in 1e9
  double of_flops = 0, of_bytes = 0;
  Bound bound = Bound::kOverhead;
};

// `cost` is what was done in `ms`. A time of 0 gives rates of 0.
NodeRoof node_roof(const OpCost& cost, double ms, const Roofline& machine);

// A step of a run, with what it reaches.
struct NodeRow {
  std::string op, node, kernel;
  double ms = 0;  // a run, as NodeTimes counts it
  NodeRoof roof;
};
// Returns the steps in the order in which they first ran. `times` has costs.
std::vector<NodeRow> node_rows(const NodeTimes& times, size_t runs, const Roofline& machine);

// The milliseconds of a run in nodes of each verdict.
struct BoundTimes {
  double compute = 0, memory = 0, overhead = 0;
};
BoundTimes bound_times(const std::vector<NodeRow>& rows);

// Returns a line for each row, and one with the sums.
std::string roof_table(const std::vector<NodeRow>& rows);

}  // namespace wick::tool
