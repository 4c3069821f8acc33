// Quantization-aware training as two rewrites of a graph:
//
//   float graph --prepare_qat--> a graph that rounds, to be trained --convert_qat--> QDQ graph
//
// quantize::QatModule (quantize/qat/qat_module.h) trains what lies between.
#pragma once

#include "graph/ir/graph.h"
#include "quantize/recipe.h"
#include "runtime/ops/attrs.h"

namespace wick::quantize {

// Recipe's defaults for training: moving averages of the activations' ranges.
Recipe qat_recipe();

// MatMul by a constant matrix becomes Linear (the weight NAME then is NAME.T), as in static
// quantization. Weights (for each output channel, int8 or int4), activations and constants that
// integers meet go through FakeQuantize, where plan_quantization() (quantize/passes/plan.h) says;
// biases are rounded to multiples of s_x * s_w. A BatchNorm behind a Conv or Linear goes into its
// weight, which is rounded as it will be in the folded model: FoldedBatchNorm says how it trains. A
// gamma within 1e-6 of 0, by which nothing could be divided, becomes 1e-6.
//
// Constants "NAME_scale", "NAME_zero_point" and "NAME_range" belong to each value or weight NAME:
// an observer's state is the range, [2] or [2, channels], which is empty (inf, -inf) at first for
// activations. learn_scales: scales train, by LSQ's gradients.
//
// Throws Error: a graph that has FakeQuantize, QuantizeLinear or DequantizeLinear nodes already, or
// no layer that can be quantized; a recipe of no meaning (wick::quantize::check), or of weights
// that are not symmetric.
ir::Graph prepare_qat(const ir::Graph& graph, const Recipe& recipe = qat_recipe(),
                      bool learn_scales = false);

// QuantizeLinear and DequantizeLinear for each FakeQuantize, by its bits; weights as int8 or int4
// and biases as int32 constants behind DequantizeLinear, batch norms folded. What eval() of the
// trained module computes, this graph computes, bit for bit.
//
// Throws Error: no FakeQuantize in the graph; a range that nothing was observed for, all of which
// are listed; a scale that is not finite and above 0.
ir::Graph convert_qat(const ir::Graph& prepared);

// The same weights as floats, batch norms folded alike and nothing rounded: what a report compares
// convert_qat()'s graph with. The float model that training began with has other weights. Errors:
// convert_qat's.
ir::Graph without_rounding(const ir::Graph& prepared);

// -- shared by the parts of this folder
// The dtype whose integers are all those from qmin to qmax; Error, with `what`: there is none.
DType integers_of(const FakeQuantizeAttrs& attrs, const std::string& what);
// By value: computed of constants alone.
std::vector<bool> constant_values(const ir::Graph& graph);

}  // namespace wick::quantize
