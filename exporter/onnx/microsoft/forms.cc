// Short formulas of com.microsoft: GELU in its forms, and operators that the
// default domain has too, some with an input less or more.
#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {
namespace {

ValueId gelu(ReadCtx& c, ValueId x, bool tanh = false) {
  return c.emit(OpId::kGelu, GeluAttrs{tanh ? 1 : 0}, {x});
}

// Reads the GELU of input 0 plus the bias, if there is one.
template <bool tanh>
void biased_gelu(ReadCtx& c) {
  ValueId x = floats_of(c, c.in(0));
  if (c.has(1)) x = plus(c, x, floats_of(c, c.in(1)));
  c.set(0, cast(c, gelu(c, x, tanh), c.dtype(c.in(0))));
}
void gemm_fast_gelu(ReadCtx& c) {
  c.set(0, gelu(c, plus_if(c, matmul(c, c.in(0), c.in(1)), c.optional(2)), true));
}
void quick_gelu(ReadCtx& c) {
  ValueId y = activate(c, floats_of(c, c.in(0)), "Swish", {c.attr_float("alpha", 1.702f)});
  c.set(0, cast(c, y, c.dtype(c.in(0))));
}
void bias_add(ReadCtx& c) { c.set(0, plus(c, plus(c, c.in(0), c.in(1)), c.in(2))); }
// Multiplies the left half by the GELU of the right one.
void bias_split_gelu(ReadCtx& c) {
  ValueId x = plus(c, c.in(0), c.in(1));
  if (c.rank(x) < 1) c.fail("X must have rank 1 or more");
  Halves h = halve(c, x, c.rank(x) - 1);
  c.set(0, times(c, h.first, gelu(c, h.second)));
}
void gated_add(ReadCtx& c) { c.set(0, plus(c, c.in(0), times(c, c.in(1), c.in(2)))); }

void range(ReadCtx& c) {
  const auto number = [&](int i) { return reshape(c, c.in(i), {}); };
  ValueId first = number(0);
  c.set(
      0,
      Standard(c, "Range", 11).one({first, number(1), c.has(2) ? number(2) : c.scalar(first, 1)}));
}
void pad(ReadCtx& c) {
  ValueId value = c.optional(2);
  if (value != kNoValue) value = reshape(c, value, {});
  c.set(0, Standard(c, "Pad", 13).keep({"mode"}).one({c.in(0), reshape(c, c.in(1), {-1}), value}));
}
void trilu(ReadCtx& c) {
  c.set(0, Standard(c, "Trilu", 14).keep({"upper"}).one({c.in(0), c.optional(1)}));
}
void gather_nd(ReadCtx& c) {
  c.set(0, Standard(c, "GatherND", 13).one({c.in(0), cast(c, c.in(1), DType::kI64)}));
}
void torch_embedding(ReadCtx& c) {  // the rest of it is for training
  c.set(0, c.emit(OpId::kGather, AxisAttrs{0}, {c.in(0), c.in(1)}));
}
// Reads Unique in the order of appearance.
void unique(ReadCtx& c) {
  const std::vector<ValueId> y =
      Standard(c, "Unique", 11).set("sorted", int64_t{0}).all({c.in(0)}, 4);
  c.set(0, y[0]);
  c.set(1, y[2]);
  c.set(2, y[3]);
}
void grid_sample(ReadCtx& c) {
  c.set(0, Standard(c, "GridSample", 16)
               .keep({"align_corners", "mode", "padding_mode"})
               .one({c.in(0), c.in(1)}));
}
void expand_dims(ReadCtx& c) {
  const auto axis = c.known_ints(c.in(1));
  if (!axis || axis->size() != 1) c.fail("axis must be a constant of one element");
  c.set(0, unsqueeze(c, c.in(0), {(*axis)[0]}));
}

// Reads the softmax of data + bias over the axes from `axis` on, treated as one.
void bias_softmax(ReadCtx& c) {
  ValueId x = plus(c, c.in(0), c.in(1));
  c.set(0, Standard(c, "Softmax", 11).set("axis", c.attr_int("axis", 1)).one({x}));
}

// Multiplies pairs of real and imaginary parts on the last axis, by b's conjugate if asked.
template <bool conjugate>
void complex_mul(ReadCtx& c) {
  const auto parts = [&](int i) {
    ValueId v = c.in(i);
    if (c.rank(v) < 1 || dim_equal(shape(c, v)[c.rank(v) - 1], SymDim(2)) == Tri::kNo)
      c.fail("the last dimension must be 2, got " + shape_text(shape(c, v)));
    return halve(c, v, c.rank(v) - 1);
  };
  Halves a = parts(0), b = parts(1);
  if (conjugate) b.second = c.emit(OpId::kNeg, {b.second});
  ValueId real = minus(c, times(c, a.first, b.first), times(c, a.second, b.second));
  ValueId imaginary = plus(c, times(c, a.first, b.second), times(c, a.second, b.first));
  c.set(0, concat(c, {real, imaginary}, -1));
}

}  // namespace

WICK_READ_MS(Gelu, biased_gelu<false>);
WICK_READ_MS(BiasGelu, biased_gelu<false>);
WICK_READ_MS(FastGelu, biased_gelu<true>);
WICK_READ_MS(GemmFastGelu, gemm_fast_gelu);
WICK_READ_MS(QuickGelu, quick_gelu);
WICK_READ_MS(BiasAdd, bias_add);
WICK_READ_MS(BiasSplitGelu, bias_split_gelu);
WICK_READ_MS(GatedAdd, gated_add);
WICK_READ_MS(Range, range);
WICK_READ_MS(Pad, pad);
WICK_READ_MS(Trilu, trilu);
WICK_READ_MS(GatherND, gather_nd);
WICK_READ_MS(TorchEmbedding, torch_embedding);
WICK_READ_MS(Unique, unique);
WICK_READ_MS(GridSample, grid_sample);
WICK_READ_MS(ExpandDims, expand_dims);
WICK_READ_MS(BiasSoftmax, bias_softmax);
WICK_READ_MS(ComplexMul, complex_mul<false>);
WICK_READ_MS(ComplexMulConj, complex_mul<true>);

}  // namespace wick::onnx
