#include <cmath>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

void read_matmul(ReadCtx& c) { c.set(0, c.emit(OpId::kMatMul, {c.in(0), c.in(1)})); }

ValueId transposed(ReadCtx& c, ValueId x) {
  return c.emit(OpId::kTranspose, TransposeAttrs{{1, 0}}, {x});
}

// Returns whether `bias` is a vector of as many elements as the weight has rows.
bool is_bias(ReadCtx& c, ValueId bias, const SymDim& rows) {
  const Value& b = c.g.value(bias);
  return b.ranked && b.shape.rank() == 1 && dim_equal(b.shape[0], rows) == Tri::kYes;
}

// Multiplies v by a number that v's integer dtype may not be able to hold.
ValueId scaled(ReadCtx& c, ValueId v, double by) {
  if (by == 1) return v;
  const DType dtype = c.dtype(v);
  if (is_int(dtype) && by != std::floor(by)) {
    ValueId real = cast(c, v, DType::kF64);
    return cast(c, c.emit(OpId::kMul, {real, c.scalar(real, by)}), dtype);
  }
  return c.emit(OpId::kMul, {v, c.scalar(v, by)});
}

// Reads Gemm: Y = alpha op(A) op(B) + beta C. What PyTorch exports for a linear layer (transB, no
// scaling) becomes Linear.
void read_gemm(ReadCtx& c) {
  ValueId a = c.in(0), b = c.in(1), bias = c.optional(2);
  double alpha = c.attr_float("alpha", 1), beta = c.attr_float("beta", 1);
  if (c.attr_int("transA", 0) != 0) a = transposed(c, a);
  bool weight_rows = c.attr_int("transB", 0) != 0;
  const Value& weight = c.g.value(b);
  bool linear = weight_rows && alpha == 1 && is_float(weight.dtype) && weight.ranked &&
                (bias == kNoValue || (beta == 1 && is_bias(c, bias, weight.shape[0])));
  if (linear) return c.set(0, c.emit(OpId::kLinear, {a, b, bias}));
  ValueId y = c.emit(OpId::kMatMul, {a, weight_rows ? transposed(c, b) : b});
  y = scaled(c, y, alpha);
  if (bias != kNoValue) y = c.emit(OpId::kAdd, {y, scaled(c, bias, beta)});
  c.set(0, y);
}

void fused(WriteCtx& c) {
  c.fail("fused ops have no ONNX form; export the graph before it is fused");
}

}  // namespace

WICK_READ(MatMul, read_matmul);
WICK_READ(Gemm, read_gemm);

WICK_ONNX_PLAIN(MatMul);
WICK_ONNX_ROW(Linear, [](WriteCtx& c) {
  if (c.rank(0) == 2) {
    set_int(c.same("Gemm"), "transB", 1);
    return;
  }
  // Gemm is for matrices only.
  std::string weight = c.fresh(), product = c.has(2) ? c.fresh() : c.out(0);
  const int64_t perm[] = {1, 0};
  set_ints(c.add("Transpose", {c.in(1)}, {weight}), "perm", perm);
  c.add("MatMul", {c.in(0), weight}, {product});
  if (c.has(2)) c.add("Add", {product, c.in(2)}, {c.out(0)});
});
WICK_ONNX_ROW(FusedLinear, fused);
WICK_ONNX_ROW(FusedConv, fused);
WICK_ONNX_ROW(FusedMatMul, fused);
WICK_ONNX_ROW(FusedAttention, fused);
WICK_ONNX_ROW(BlockLinear, fused);

}  // namespace wick::onnx
