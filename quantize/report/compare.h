// Reports where and why a quantized graph computes other numbers than the float graph that it was
// made from. Example:
//
//   QuantizeResult q = quantize_static(g, calibration, recipe);
//   Comparison c = compare(g, q, batches);
//   c.layers[c.first_growth].node       // where the error grows
//   c.layers[c.by_sensitivity[0]].node  // what costs the result most, alone
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quantize/passes/quantize.h"
#include "quantize/report/error_sums.h"

namespace wick::quantize {

// WeightReport describes the integer weight of a layer.
struct WeightReport {
  DType dtype = DType::kNone;                        // of the integers
  int64_t scales = 0;                                // one, one per channel, or one per block
  float least = 0, most = 0;                         // the smallest and the largest scale
  double sqnr_db = kExactDb, channel_db = kExactDb;  // channels are those of dimension 0
};

// LayerReport is of a node, with the activation that a layer does in one go (Relu or Clip behind
// it), or of an input of the graph.
struct LayerReport {
  std::string node, op, module;  // op: "Conv", "Conv + Relu", "input"
  bool quantized = false;        // it computes with integers, or its weights are integers
  std::string reason;            // why it is not quantized, if anything said so

  // The error of its own quantization alone: on the float graph's numbers, with its weights and its
  // result rounded as in the quantized graph; and of each of those alone, on the first batch. A
  // loss in its input counts at the layer that makes the input: every rounding counts once.
  ErrorNumbers own, of_weights, of_result;
  // The error in the whole quantized graph, as readers see it.
  ErrorNumbers accumulated;
  // The amount, in channel_db, by which the accumulated error exceeds that of its worst input,
  // through float ops too.
  double growth_db = 0;
  // The error of the graph's first output if only this node is quantized.
  std::optional<ErrorNumbers> effect;

  // The float graph's values: range, mean and standard deviation.
  Range seen;
  double mean = 0, deviation = 0;
  // If its result is quantized: the parameters, the range that they can represent, and the share of
  // numbers in the quantized graph that was outside.
  std::optional<QParams> result;
  Range representable;
  double saturated = 0;
  std::optional<WeightReport> weight;  // of a layer with a quantized weight

  // Returns "weights" or "result": the part of its own error that is larger alone; "" if it is
  // exact.
  std::string cause() const;
};

// The error of an output, by its name.
struct OutputReport {
  std::string name;
  ErrorNumbers error;
  Range seen;  // the smallest and the largest number that it should have
};

// Holds what compare() measured.
struct Comparison {
  std::vector<LayerReport> layers;    // those with real numbers: inputs first, then nodes in order
  std::vector<OutputReport> outputs;  // in the graph's order
  // Quantized layers, the most sensitive first: by effect if it was measured, else by own.
  std::vector<size_t> by_sensitivity;
  // The quantized layer whose error grows most over that of its inputs; none if nothing is rounded.
  std::optional<size_t> first_growth;
  std::vector<std::string> notes;  // nodes without a counterpart
  int64_t batches = 0;             // that were compared
};

// Options of compare().
struct CompareOptions {
  int64_t batches = 8;  // the first ones; their values are all held at one time
  // Measured on the first batch only: it takes as many runs of half the graph as there are layers.
  bool effects = true;
  // Called with what is done and how much there is, in runs of one layer.
  std::function<void(int64_t done, int64_t all)> progress = {};
  // The kernels that compute.
  std::vector<const KernelSet*> kernels{default_kernels().begin(), default_kernels().end()};
};

// `quantized.graph` is a QDQ graph, or one with weights in blocks or dynamic layers, made from
// `graph`, which prepare() made. Throws Error for graphs of two models, if there is no batch, and
// whatever a run throws.
Comparison compare(const ir::Graph& graph, const QuantizeResult& quantized, const Batches& batches,
                   const CompareOptions& options = {});

// Compares only the outputs, of any two graphs with equal inputs and outputs: an integer graph with
// the float one, or with its QDQ form.
std::vector<OutputReport> compare_outputs(const ir::Graph& graph, const ir::Graph& other,
                                          const Batches& batches,
                                          const CompareOptions& options = {});

}  // namespace wick::quantize
