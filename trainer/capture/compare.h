// Whether two runs of one forward made the same graph.
#pragma once

#include <string>
#include <vector>

#include "trainer/capture/graph_tracer.h"

namespace wick {

struct CaptureRun {
  ir::Graph graph;
  std::vector<SizeRead> reads;
  std::string sizes;  // "batch = 4"; empty where the runs have one shape
};

// The graphs must be one: what differs came from the data or from a size. Throws Error with the op,
// the user's line, the runs' sizes and the last line before it that read a size. `hint` ends the
// message.
//
// An Identity on one side only is no difference: contiguous() copies at one size and not at
// another, and the value is the same.
void compare_captures(const CaptureRun& a, const CaptureRun& b, const std::string& hint);

}  // namespace wick
