// Quantizes graphs after training. Example:
//
//   Recipe recipe;                                          // uint8 activations, int8 weights
//   ir::Graph g = prepare(import_onnx("m.onnx"), recipe);
//   Calibration c = calibrate(g, batches, recipe);
//   QuantizeResult q = quantize_static(g, c, recipe, batches);
//   // q.graph: a QDQ graph; q.stayed: what is still float, and why
#pragma once

#include "quantize/observe/calibrate.h"
#include "quantize/passes/passes.h"

namespace wick::quantize {

// Holds what quantize() made of a graph.
struct QuantizeResult {
  ir::Graph graph;                  // the quantized one
  std::vector<Unquantized> stayed;  // ids are those of the float graph
  std::vector<std::string> notes;   // calibration's, and what became of weights
  ir::Numerics numerics =
      ir::Numerics::kApproximates;  // what its results promise against the float graph
};

// Puts pairs of QuantizeLinear and DequantizeLinear around the ops that the plan quantizes; nodes
// and values keep their names. Inputs and outputs of the graph stay float32. Weights become
// constants of recipe.weight behind DequantizeLinear, with a scale per output channel; biases
// become int32 in units of the input's scale times the weight's, which is made larger where 32 bits
// would not hold a bias or might not hold a sum. `batches` are for bias correction and GPTQ only.
// Throws Error for what plan_quantization() refuses, and for a calibration of another graph.
QuantizeResult quantize_static(const ir::Graph& graph, const Calibration& calibration,
                               const Recipe& recipe, const Batches& batches = {},
                               const CalibrateOptions& options = {});

// Quantizes weights of Linear (and MatMul by a constant, after prepare()) in blocks of
// recipe.block_size along their inputs, rounded to nearest: recipe.weight integers with float16
// scales (float32 if one is beyond 60,000 or below 2^-17) behind DequantizeLinear, which the pass
// keep_blocks turns into BlockLinear. Tables of Gather are quantized likewise if recipe.embeddings
// says so: their rows are gathered as integers. Each block's scale is, of a few around its largest
// magnitude, the one with the least squared error.
// `batches` are for recipe.gptq only.
QuantizeResult quantize_weights(const ir::Graph& graph, const Recipe& recipe,
                                const Batches& batches = {}, const CalibrateOptions& options = {});

// Turns Linear by constant weights into DynamicLinear: int8 weights with a scale per output (or
// one, as recipe.per_channel says), and an input that is quantized row by row as it comes; a layer
// whose sums 32 bits may not hold stays float. Tables of Gather are in blocks of int8, as above.
QuantizeResult quantize_dynamic(const ir::Graph& graph, const Recipe& recipe,
                                const Batches& batches = {}, const CalibrateOptions& options = {});

// Rounds the weights of every op (matrices and larger, tables of Gather too) to the nearest float16
// or bfloat16 numbers, as recipe.mode says, and keeps them float32: the graph computes as before. A
// weight beyond float16's range, with NaN or infinite numbers, or of another type stays as it is.
QuantizeResult round_weights(const ir::Graph& graph, const Recipe& recipe);

// Runs prepare(), calibrate() and the one of these that recipe.mode asks for.
QuantizeResult quantize(ir::Graph graph, const Recipe& recipe, const Batches& batches = {},
                        const CalibrateOptions& options = {});

}  // namespace wick::quantize
