// Matrix products of com.microsoft: transposed and scaled operands, and a fused activation.
#include <numeric>

#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {
namespace {

// Prepares an operand: `batch` moves its first axis behind the batch axes ([M, b..., K] to [b...,
// M, K]), `last` swaps the last two axes. A vector stays as it is.
ValueId operand(ReadCtx& c, ValueId v, bool batch, bool last) {
  const int rank = c.rank(v);
  if (rank < 2) return v;
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) {
    for (int i = 0; i + 2 < rank; ++i) perm[static_cast<size_t>(i)] = i + 1;
    perm[static_cast<size_t>(rank - 2)] = 0;
  }
  if (last) std::swap(perm[static_cast<size_t>(rank - 1)], perm[static_cast<size_t>(rank - 2)]);
  return transpose(c, v, perm);
}

ValueId product(ReadCtx& c) {
  const auto yes = [&](const char* name) { return c.attr_int(name, 0) != 0; };
  ValueId a = operand(c, c.in(0), yes("transBatchA"), yes("transA"));
  ValueId b = operand(c, c.in(1), yes("transBatchB"), yes("transB"));
  ValueId y = matmul(c, a, b);
  const double alpha = c.attr_float("alpha", 1);
  return alpha == 1 ? y : times(c, y, c.scalar(y, alpha));
}

std::vector<double> activation_numbers(ReadCtx& c) {
  std::vector<double> numbers;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (c.attr(name) == nullptr) break;
    numbers.push_back(c.attr_float(name, 0));
  }
  return numbers;
}

void fused_matmul(ReadCtx& c) { c.set(0, product(c)); }
void fused_matmul_activation(ReadCtx& c) {
  const std::string name = c.attr_string("activation", "");
  if (name.empty()) c.fail("attribute 'activation' is required");
  c.set(0, activate(c, product(c), name, activation_numbers(c)));
}
void fused_gemm(ReadCtx& c) {
  ValueId y = Standard(c, "Gemm", 13)
                  .keep({"alpha", "beta", "transA", "transB"})
                  .one({c.in(0), c.in(1), c.optional(2)});
  c.set(0, activate(c, y, c.attr_string("activation", ""), activation_numbers(c)));
}

// Computes the distances between the rows of A and those of B as |a|^2 + |b|^2 - 2 a b.
void distances(ReadCtx& c) {
  ValueId a = ranked_input(c, 0, 2, "A"), b = ranked_input(c, 1, 2, "B");
  const std::string metric = c.attr_string("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    c.fail("metric must be euclidean or sqeuclidean, not '" + metric + "'");
  const auto squares = [&](ValueId v, bool keep) {
    return reduce(c, OpId::kReduceSum, times(c, v, v), {1}, keep);
  };
  ValueId both = matmul(c, a, transpose(c, b, {1, 0}));
  ValueId y = plus(c, squares(a, true), squares(b, false));
  y = minus(c, y, times(c, both, c.scalar(both, 2)));
  y = c.emit(OpId::kMax, {y, c.scalar(y, 0)});
  c.set(0, metric == "euclidean" ? c.emit(OpId::kSqrt, {y}) : y);
}

}  // namespace

WICK_READ_MS(FusedMatMul, fused_matmul);
WICK_READ_MS(TransposeMatMul, fused_matmul);
WICK_READ_MS(FusedMatMulActivation, fused_matmul_activation);
WICK_READ_MS(FusedGemm, fused_gemm);
WICK_READ_MS(CDist, distances);

}  // namespace wick::onnx
