// Merges several runs of one forward, each a graph with fixed sizes, into one graph whose sizes are
// free.
#pragma once

#include <string>
#include <vector>

#include "trainer/capture/free_sizes.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/capture/size_use.h"

namespace wick {

struct CaptureRun {
  ir::Graph graph;  // with the sizes of this run
  SizeLog log;
  std::vector<RegionValue> region_values;
  Sizes sizes;
};

// Runs of forward, or the graph and forward, differ in what no expression of the sizes explains.
class RunsDiffer : public Error {
 public:
  using Error::Error;
};

// The runs must have the same steps. Integers and constants that differ between them must be
// computed from the sizes, as SizeSolver finds, and become values of the graph. Throws RunsDiffer
// with the op, the user's line, two runs' sizes and the last line before it that read a size.
//
// `graph` has the inputs, `inputs` the value of each that forward sees (they may be normalized
// first), `free` the symbols of the inputs. An Identity in one run only is not a difference:
// contiguous() copies at one size and not at another, and the value is the same.
//
// A comparison of a size that depends on data (NonZero's rows) is an Error: it might have the other
// answer for other data.
SizeUse merge_captures(const std::vector<CaptureRun>& runs, const std::vector<FreeSize>& free,
                       const std::vector<CaptureInput>& from,
                       const std::vector<ir::ValueId>& inputs,
                       const std::vector<std::string>& outputs, ir::Graph& graph);

}  // namespace wick
