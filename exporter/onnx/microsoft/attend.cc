#include "exporter/onnx/microsoft/attend.h"

#include <cmath>
#include <limits>

namespace wick::onnx {
namespace {

// Returns 1 / sqrt(size of a head), or the node's scale.
ValueId scale_of(ReadCtx& c, ValueId q) {
  double scale = c.attr_float("scale", 0);
  const SymDim& size = shape(c, q)[3];
  if (scale == 0 && size.known() && size.constant() > 0)
    scale = 1 / std::sqrt(static_cast<double>(size.constant()));
  if (scale != 0) return c.scalar(q, scale);
  ValueId root = c.emit(OpId::kSqrt, {cast(c, dim(c, q, 3), DType::kF32)});
  return cast(c, c.emit(OpId::kReciprocal, {root}), c.dtype(q));
}

// Stacks the queries of a group along the sequence axis as more queries of the head that they
// share.
ValueId grouped(ReadCtx& c, ValueId left, ValueId right) {
  const SymDim heads = shape(c, left)[1], shared = shape(c, right)[1];
  if (dim_equal(heads, shared) == Tri::kYes) return matmul(c, left, right);
  ValueId rows = over(c, times(c, dim(c, left, 1), dim(c, left, 2)), dim(c, right, 1));
  ValueId stacked =
      reshape_to(c, left, concat(c, {dim(c, left, 0), dim(c, right, 1), rows, dim(c, left, 3)}, 0));
  ValueId y = matmul(c, stacked, right);
  return reshape_to(c, y, concat(c, {dims(c, left, 0, 3), dim(c, right, 3)}, 0));
}

}  // namespace

ValueId Attend::run(ReadCtx& c, DType dtype) {
  ValueId wide = floats_of(c, q);
  wide = times(c, wide, scale_of(c, wide));
  scores = grouped(c, wide, transpose(c, floats_of(c, k), {0, 1, 3, 2}));
  if (softcap != 0) {
    ValueId limit = c.scalar(scores, softcap);
    scores = times(c, c.emit(OpId::kTanh, {over(c, scores, limit)}), limit);
  }
  // They are added one after the other: a mask may round everything else away.
  for (ValueId more : {mask, bias})
    scores = plus_if(c, scores, more == kNoValue ? more : floats_of(c, more));
  if (allowed != kNoValue) {
    // This is not -inf, so that a row of nothing else is not NaN.
    ValueId none = c.scalar(scores, static_cast<double>(std::numeric_limits<float>::lowest()));
    scores = c.emit(OpId::kWhere, {allowed, scores, none});
  }
  ValueId with_sink = scores;
  if (sink != kNoValue) {
    ValueId column = expand_to(c, floats_of(c, sink),
                               concat(c, {dims(c, scores, 0, 3), c.int_constant({1})}, 0));
    with_sink = concat(c, {scores, column}, 3);
  }
  weights = c.emit(OpId::kSoftmax, AxisAttrs{-1}, {with_sink});
  if (sink != kNoValue) weights = first_of(c, weights, 3, dim(c, scores, 3));
  return cast(c, grouped(c, weights, floats_of(c, v)), dtype);
}

ValueId in_heads(ReadCtx& c, ValueId v, int64_t heads, const char* what) {
  if (c.rank(v) != 3)
    c.fail(std::string(what) + " must have rank 3, got " + shape_text(shape(c, v)));
  const SymDim& packed = shape(c, v)[2];
  if (packed.known() && packed.constant() % heads != 0) {
    c.fail("the last dimension of " + std::string(what) + " " + shape_text(shape(c, v)) +
           " does not divide by " + std::to_string(heads) + " heads");
  }
  ValueId count = c.int_constant({heads}), size = over(c, dim(c, v, 2), count);
  return reshape_to(c, v, concat(c, {dims(c, v, 0, 2), count, size}, 0));
}
ValueId heads_merged(ReadCtx& c, ValueId v) {
  ValueId y = heads_first(c, v), size = times(c, dim(c, y, 2), dim(c, y, 3));
  return reshape_to(c, y, concat(c, {dims(c, y, 0, 2), size}, 0));
}

namespace {

// Returns whether key j is below a length and, if there are starts, not before one: [B, 1, 1, T].
ValueId within(ReadCtx& c, ValueId mask, const MaskShape& s) {
  ValueId keys = arange(c, s.total), ends = mask, starts = kNoValue;
  if (dim_equal(shape(c, mask)[0], shape(c, s.q)[0]) != Tri::kYes) {
    // The first B are ends; if there are exactly 2 B, the others are starts.
    ValueId batch = dim(c, s.q, 0), begin = c.int_constant({0});
    ValueId both = c.emit(OpId::kEqual, {dim(c, mask, 0), times(c, batch, c.int_constant({2}))});
    ValueId order = arange(c, batch);
    ends = c.emit(OpId::kGather, AxisAttrs{0}, {mask, order});
    ValueId second = plus(c, order, c.emit(OpId::kWhere, {both, batch, begin}));
    starts = c.emit(OpId::kGather, AxisAttrs{0}, {mask, second});
    starts = c.emit(OpId::kWhere, {both, starts, c.scalar(starts, 0)});
  }
  const auto upright = [&](ValueId v) { return unsqueeze(c, cast(c, v, DType::kI64), {1, 2, 3}); };
  ValueId yes = c.emit(OpId::kLess, {keys, upright(ends)});
  if (starts == kNoValue) return yes;
  return c.emit(OpId::kAnd, {yes, c.emit(OpId::kGreaterOrEqual, {keys, upright(starts)})});
}

}  // namespace

ValueId mask_bias(ReadCtx& c, int i, const MaskShape& s) {
  ValueId mask = c.in(i), yes = kNoValue;
  if (!is_int(c.dtype(mask))) c.fail("a mask must be of integers");
  const int rank = c.rank(mask);
  if (rank == 1) {
    yes = within(c, mask, s);
  } else if (rank >= 2 && rank <= 4) {
    if (rank == 2) mask = unsqueeze(c, mask, {1, 2});
    if (rank == 3) mask = unsqueeze(c, mask, {1});
    if (rank == 4) {
      mask = first_of(c, cut(c, mask, 2, s.past).second, 2, dim(c, s.q, 2));
      mask = first_of(c, mask, 3, s.total);
    }
    yes = c.emit(OpId::kGreater, {mask, c.scalar(mask, 0)});
  } else {
    c.fail("a mask must have rank 1 to 4, got " + shape_text(shape(c, mask)));
  }
  ValueId zero = c.constant(HostTensor(DType::kF32, Shape{}));
  return c.emit(OpId::kWhere,
                {yes, zero, c.scalar(zero, c.attr_float("mask_filter_value", -10000))});
}

ValueId causal(ReadCtx& c, const MaskShape& s) {
  ValueId place = plus(c, unsqueeze(c, arange(c, dim(c, s.q, 2)), {1}), s.past);
  return c.emit(OpId::kLessOrEqual, {arange(c, s.total), place});
}

}  // namespace wick::onnx
