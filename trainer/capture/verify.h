// A captured graph beside the forward that it was captured from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/capture/capture.h"
#include "trainer/capture/free_sizes.h"

namespace wick {

// Tensors for the inputs at these sizes, other data for each `number`: what the graph takes and
// what forward sees of it, which differ where an input is normalized.
struct Examples {
  std::vector<Tensor> graph, forward;
};
Examples examples_at(const std::vector<CaptureInput>& inputs, const std::vector<FreeSize>& free,
                     const Sizes& sizes, int64_t number);

struct CaptureFault {
  Sizes sizes;
  std::string text;  // the output, the first element that differs, the sizes
};

// Steps of what ran (op_work, and some for each op), about 1e9 a second. A capture is bounded by
// them and not by time, so that every machine makes the same graph of the same module.
using Work = double;

// Runs both at each of these sizes, on the same kernels: the bits must be equal. The first that are
// not; nothing where all are. Sizes that come when `most` was spent, or whose inputs are large, are
// left out. `ran`, the sizes that were not; `spent` is added to.
std::optional<CaptureFault> verify_capture(const ir::Graph& graph,
                                           const std::vector<CaptureInput>& inputs,
                                           const CaptureCall& call,
                                           const std::vector<FreeSize>& free,
                                           const std::vector<Sizes>& sizes, Work most,
                                           std::vector<Sizes>* ran, Work* spent);

}  // namespace wick
