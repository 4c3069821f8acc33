// Calibration: the float graph runs over a set of batches, and observers see the values that will
// be integers.
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
// Batch `index`, counted from 0, or none when there are no more. Bias correction asks for the
// first ones again.
using Batches = std::function<std::optional<Batch>(int64_t index)>;
Batches batches_of(std::vector<Batch> all);

struct Calibration {
  // By the value in whose name those stand that share a scale (Plan::scale_of).
  std::map<ir::ValueId, QParams> params;
  // The extremes that were seen there, clipped ones too.
  std::map<ir::ValueId, Range> seen;
  // Scales of weights that somebody knows better than their own range does (training), by the
  // weight's value; else empty.
  std::map<ir::ValueId, QParams> weights;
  // For bias correction: the mean of each output channel of Conv and Linear, by what they make.
  std::map<ir::ValueId, std::vector<double>> means;
  int64_t batches = 0;
  std::vector<std::string> notes;  // what deserves a look: values that never changed
};

struct CalibrateOptions {
  // After each batch: how many are done.
  std::function<void(int64_t done)> progress;
  // The fast kernels: by contract they have the bits of the reference.
  std::vector<const KernelSet*> kernels{default_kernels().begin(), default_kernels().end()};
};

// `graph` as quantize_static() will get it (prepare()). Throws Error: no batch at all; in which
// batch an input is missing, unknown, empty, or of another dtype or shape; which node gave NaN or
// infinity in which batch.
Calibration calibrate(const ir::Graph& graph, const Batches& batches, const Recipe& recipe,
                      const CalibrateOptions& options = {});

// The batch as the graph's inputs, in order.
std::vector<HostTensor> graph_inputs(const ir::Graph& graph, const Batch& batch, int64_t index);

// Adds the sum of each channel of x (all other axes together) to `sums`, and how many numbers a
// channel has to `count`.
void add_channel_sums(const HostTensor& x, int axis, std::vector<double>* sums, int64_t* count);

}  // namespace wick::quantize
