// Quantization-aware training as two rewrites of a graph:
//
//   float graph --prepare_qat--> a graph that rounds, to be trained --convert_qat--> QDQ graph
//
// quantize::QatModule (quantize/qat/qat_module.h) trains the graph in between.
#pragma once

#include "graph/ir/graph.h"
#include "quantize/recipe.h"
#include "runtime/ops/attrs.h"

namespace wick::quantize {

// Returns Recipe's defaults for training: moving averages of the activations' ranges.
Recipe qat_recipe();

// MatMul by a constant matrix becomes Linear (the weight NAME is then NAME.T), as in static
// quantization. Weights (per output channel, int8 or int4), activations and constants that integers
// meet go through FakeQuantize where plan_quantization() (quantize/passes/plan.h) says so; biases
// are rounded to multiples of s_x * s_w. A BatchNorm behind a Conv or Linear is folded into its
// weight, which is rounded as it will be in the folded model: FoldedBatchNorm says how it trains. A
// gamma within 1e-6 of 0, by which nothing could be divided, becomes 1e-6.
//
// Constants "NAME_scale", "NAME_zero_point" and "NAME_range" belong to each value or weight NAME:
// an observer's state is the range, [2] or [2, channels], which is empty (inf, -inf) at first for
// activations. learn_scales: the scales train, by LSQ's gradients.
//
// Throws Error for a graph that already has FakeQuantize, QuantizeLinear or DequantizeLinear nodes,
// or has no layer that can be quantized, and for a recipe that is invalid (wick::quantize::check)
// or whose weights are not symmetric.
ir::Graph prepare_qat(const ir::Graph& graph, const Recipe& recipe = qat_recipe(),
                      bool learn_scales = false);

// Replaces each FakeQuantize by QuantizeLinear and DequantizeLinear of its bits; weights become
// int8 or int4 and biases int32 constants behind DequantizeLinear, and batch norms are folded. This
// graph computes bit for bit what eval() of the trained module computes.
//
// Throws Error if the graph has no FakeQuantize, if nothing was observed for a range (all such
// ranges are listed), and for a scale that is not finite and above 0.
ir::Graph convert_qat(const ir::Graph& prepared);

// Returns the same weights as floats, with batch norms folded alike and nothing rounded: a report
// compares convert_qat()'s graph with it. The float model that training began with has other
// weights. Throws the same errors as convert_qat().
ir::Graph without_rounding(const ir::Graph& prepared);

// -- shared by the parts of this folder
// Returns the dtype that has exactly the integers from qmin to qmax; throws Error, with `what`, if
// there is none.
DType integers_of(const FakeQuantizeAttrs& attrs, const std::string& what);
// Returns, by value, whether it is computed from constants alone.
std::vector<bool> constant_values(const ir::Graph& graph);

}  // namespace wick::quantize
