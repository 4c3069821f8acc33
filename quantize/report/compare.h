// Report of a quantized graph: where, and by what, it computes other numbers than the float graph
// that it was made from. Example:
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

// The weight of a layer as integers.
struct WeightReport {
  DType dtype = DType::kNone;
  int64_t scales = 0;  // one, one a channel, or one a block
  float least = 0, most = 0;
  double sqnr_db = kExactDb, channel_db = kExactDb;  // channels are those of dimension 0
};

// A node, with the activation that a layer does in one go (Relu or Clip behind it), or an input of
// the graph.
struct LayerReport {
  std::string node, op, module;  // op: "Conv", "Conv + Relu", "input"
  bool quantized = false;        // it computes with integers, or its weights are
  std::string reason;            // where it is not: why, if somebody said so

  // Its own quantization alone: on the float graph's numbers, its weights and its result rounded as
  // in the quantized graph; and of those one alone, on the first batch. What its input loses counts
  // where that is made: every rounding counts once.
  ErrorNumbers own, of_weights, of_result;
  // In the whole quantized graph, as readers take it.
  ErrorNumbers accumulated;
  // How much the accumulated error is larger, in channel_db, than what arrived at its worst input,
  // through float ops too.
  double growth_db = 0;
  // The graph's first output when only this node is quantized.
  std::optional<ErrorNumbers> effect;

  // What the float graph made: range, mean and standard deviation.
  Range seen;
  double mean = 0, deviation = 0;
  // Where its result becomes integers: by what, what they can stand for, and the share of numbers
  // in the quantized graph that was outside.
  std::optional<QParams> result;
  Range representable;
  double saturated = 0;
  std::optional<WeightReport> weight;

  // "weights" or "result": the part of its own error that is larger alone; "" of an exact one.
  std::string cause() const;
};

struct OutputReport {
  std::string name;
  ErrorNumbers error;
};

struct Comparison {
  std::vector<LayerReport> layers;  // of real numbers: inputs first, then nodes in order
  std::vector<OutputReport> outputs;
  // Quantized layers, the most sensitive first: by effect where it was measured, else by own.
  std::vector<size_t> by_sensitivity;
  // The quantized layer whose error grows most over that of its inputs; none: nothing is rounded.
  std::optional<size_t> first_growth;
  std::vector<std::string> notes;  // nodes that nothing stands for
  int64_t batches = 0;
};

struct CompareOptions {
  int64_t batches = 8;  // the first ones; their values are all held at one time
  // Measured on the first batch only: as many runs of half the graph as there are layers.
  bool effects = true;
  // What is done, of how much, in runs of one layer.
  std::function<void(int64_t done, int64_t all)> progress;
  std::vector<const KernelSet*> kernels{default_kernels().begin(), default_kernels().end()};
};

// `quantized.graph` is a QDQ graph, or one of weights in blocks or dynamic layers, made of `graph`,
// which is prepare()'s. Throws Error: graphs of two models, no batch, whatever a run throws.
Comparison compare(const ir::Graph& graph, const QuantizeResult& quantized, const Batches& batches,
                   const CompareOptions& options = {});

// The outputs alone, of any two graphs with equal inputs and outputs: an integer graph against the
// float one, or against its QDQ form.
std::vector<OutputReport> compare_outputs(const ir::Graph& graph, const ir::Graph& other,
                                          const Batches& batches,
                                          const CompareOptions& options = {});

}  // namespace wick::quantize
