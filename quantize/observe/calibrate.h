// Calibration: the float graph runs over a set of batches, and observers see the values that will
// be quantized.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/interpreter/interpreter.h"
#include "quantize/passes/plan.h"
#include "quantize/qparams.h"

namespace wick::quantize {

using Batch = std::map<std::string, HostTensor>;  // by the input's name
// Returns batch `index`, counted from 0, or none if there are no more. Bias correction asks for the
// first ones again.
using Batches = std::function<std::optional<Batch>(int64_t index)>;
// Returns the batches of a list.
Batches batches_of(std::vector<Batch> all);

// The ranges that calibration found.
struct Calibration {
  // Keyed by the value that represents those which share a scale (Plan::scale_of).
  std::map<ir::ValueId, QParams> params;
  // The extremes seen there, clipped ones too.
  std::map<ir::ValueId, Range> seen;
  // Keyed by the weight's value: scales known better than by the weight's own range (from
  // training); else empty.
  std::map<ir::ValueId, QParams> weights;
  // For bias correction: the mean of each output channel of Conv and Linear, by its output value.
  std::map<ir::ValueId, std::vector<double>> means;
  int64_t batches = 0;             // that were observed
  std::vector<std::string> notes;  // worth a look: values that never changed
};

// Options of calibrate().
struct CalibrateOptions {
  // Called after each batch with the number of batches done.
  std::function<void(int64_t done)> progress = {};
  // The fast kernels, which by contract give the bits of the reference.
  std::vector<const KernelSet*> kernels{default_kernels().begin(), default_kernels().end()};
};

// `graph` is as quantize_static() will get it (prepare()). Throws Error if there is no batch; if an
// input of a batch is missing, unknown, empty, or of another dtype or shape; and if a node gives
// NaN or infinity. The error names the batch.
Calibration calibrate(const ir::Graph& graph, const Batches& batches, const Recipe& recipe,
                      const CalibrateOptions& options = {});

// Does the same for several observers of activations in one pass over the batches, and returns what
// each found, in their order. All average by the share that the recipe's observer has.
std::vector<Calibration> calibrate_all(const ir::Graph& graph, const Batches& batches,
                                       const Recipe& recipe,
                                       const std::vector<ObserverSpec>& observers,
                                       const CalibrateOptions& options = {});

// Returns the batch as the graph's inputs, in order.
std::vector<HostTensor> graph_inputs(const ir::Graph& graph, const Batch& batch, int64_t index);

// Adds the sum of each channel of x (over all other axes) to `sums`, and the number of values per
// channel to `count`.
void add_channel_sums(const HostTensor& x, int axis, std::vector<double>* sums, int64_t* count);

}  // namespace wick::quantize
