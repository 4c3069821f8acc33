// Rewrites of float graphs before quantization. Each says what it promises about numbers.
#pragma once

#include "graph/rewrite/pass.h"
#include "quantize/recipe.h"

namespace wick::quantize {

// Folds BatchNorm behind a Conv, or behind a Linear of rank 2, into the layer's weights and bias,
// if nothing else reads the layer: w gamma / sqrt(var + eps), computed in float64 and rounded once.
bool fold_batch_norm(ir::Graph& graph);
// Turns a MatMul by a constant matrix, and the vector added behind it, into Linear. It has the same
// products in the same order, and its weights can have a scale per output.
bool matmul_to_linear(ir::Graph& graph);
// Fuses x sigmoid(x), clip(x + 3, 0, 6) / 6, x (erf(x / sqrt 2) + 1) / 2 and a choice of x or x
// times a constant by x's sign, as files have them in pieces, into Silu, HardSigmoid, HardSwish,
// Gelu and PRelu. On integers each is one table, PRelu one op.
bool fuse_activations(ir::Graph& graph);
// Cross-layer equalization (Nagel et al., Data-Free Quantization Through Weight Equalization and
// Bias Correction, 2019): between two layers with nothing but Relu, LeakyRelu, PRelu, pooling or
// reshaping between them, each channel is divided in the first and multiplied in the second, until
// both use their range alike. The factors are powers of two, so that the graph's function keeps its
// bits (as long as no number leaves float32's normal range).
bool equalize(ir::Graph& graph);

inline constexpr ir::Pass kFoldBatchNorm = {"fold_batch_norm", ir::Numerics::kReassociates,
                                            fold_batch_norm};
inline constexpr ir::Pass kMatMulToLinear = {"matmul_to_linear", ir::Numerics::kExact,
                                             matmul_to_linear};
inline constexpr ir::Pass kFuseActivations = {"fuse_activations", ir::Numerics::kReassociates,
                                              fuse_activations};
inline constexpr ir::Pass kEqualize = {"equalize", ir::Numerics::kExact, equalize};

// Prepares a captured or imported graph: exact simplifications without fusion, matmul_to_linear,
// then fold_batch_norm and equalize if the recipe asks for them; if activations are quantized
// (static, qat), fuse_activations too. The report names what changed and the strongest promise
// left.
ir::Graph prepare(ir::Graph graph, const Recipe& recipe, ir::PassReport* report = nullptr);

}  // namespace wick::quantize
