// Compares a captured graph with the forward that it was captured from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/capture/capture.h"
#include "trainer/capture/free_sizes.h"

namespace wick {

// Tensors for the inputs at these sizes, with different data for each `number`: the graph's inputs,
// and what forward sees of them. They differ if an input is normalized.
struct Examples {
  std::vector<Tensor> graph, forward;
};
Examples examples_at(const std::vector<CaptureInput>& inputs, const std::vector<FreeSize>& free,
                     const Sizes& sizes, int64_t number);

struct CaptureFault {
  Sizes sizes;
  std::string text;  // names the output, the first element that differs, and the sizes
};

// The work of what ran (op_work, plus a constant for each op), in units of about 1e9 per second. A
// capture is limited by work instead of time, so that every machine makes the same graph of the
// same module.
using Work = double;

// Runs both at each of these sizes, on the same kernels, and returns the first difference in bits;
// empty if there is none. Sizes that come after `most` was spent, or whose inputs are too large,
// are skipped. Those that ran are appended to `ran`, and the work is added to `spent`.
std::optional<CaptureFault> verify_capture(const ir::Graph& graph,
                                           const std::vector<CaptureInput>& inputs,
                                           const CaptureCall& call,
                                           const std::vector<FreeSize>& free,
                                           const std::vector<Sizes>& sizes, Work most,
                                           std::vector<Sizes>* ran, Work* spent);

}  // namespace wick
