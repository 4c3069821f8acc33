// Normalizations between the parts of language and diffusion models: sums with a skip connection,
// layer and RMS norm, group norm. 16-bit floats are computed in f32 and rounded once.
#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {
namespace {

ReduceAttrs axes_from(ReadCtx& c, ValueId x, int64_t axis) {
  ReduceAttrs a;
  const int rank = c.rank(x);
  for (int i = axis_of(c, axis, rank); i < rank; ++i) a.axes.values[a.axes.count++] = i;
  return a;
}

Standardized layer_norm(ReadCtx& c, ValueId x, double epsilon) {
  if (c.rank(x) < 1) c.fail("input must have rank 1 or more");
  return standardize(c, x, {c.rank(x) - 1}, epsilon);
}

ValueId floats_if(ReadCtx& c, ValueId v) { return v == kNoValue ? v : floats_of(c, v); }

void need_float(ReadCtx& c, ValueId v) {
  if (!is_float(c.dtype(v)))
    c.fail(std::string("needs a floating-point tensor, got ") + dtype_name(c.dtype(v)));
}

// Computes input + skip + bias and its norm; the sum itself is the last output.
template <bool simplified>
void skip_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  need_float(c, c.in(0));
  constexpr int bias = simplified ? 3 : 4;
  ValueId sum = plus(c, floats_of(c, c.in(0)), floats_of(c, c.in(1)));
  sum = plus_if(c, sum, floats_if(c, c.optional(bias)));
  if (c.rank(sum) < 1) c.fail("input must have rank 1 or more");
  const double epsilon = c.attr_float("epsilon", 1e-12f);
  Standardized n;
  if (simplified) {
    RmsNorm r = rms_norm(c, sum, -1, epsilon);
    n.normal = r.y, n.root = r.root;
    if (c.wants(1)) n.mean = c.emit(OpId::kReduceMean, axes_from(c, sum, -1), {sum});
  } else {
    n = layer_norm(c, sum, epsilon);
  }
  ValueId y = times(c, n.normal, floats_of(c, c.in(2)));
  if (!simplified) y = plus_if(c, y, floats_if(c, c.optional(3)));
  c.set(0, cast(c, y, dtype));
  if (c.wants(1)) c.set(1, n.mean);
  if (c.wants(2)) c.set(2, c.emit(OpId::kReciprocal, {n.root}));
  if (c.wants(3)) c.set(3, cast(c, sum, dtype));
}

void simplified_norm(ReadCtx& c) {
  need_float(c, c.in(0));
  const DType to = c.dtype(c.in(1));
  ValueId x = floats_of(c, c.in(0));
  RmsNorm n = rms_norm(c, x, c.attr_int("axis", -1), c.attr_float("epsilon", 1e-5f));
  c.set(0, cast(c, times(c, n.y, cast(c, c.in(1), c.dtype(x))), to));
  if (c.wants(1)) c.set(1, c.emit(OpId::kReciprocal, {n.root}));
}

// Normalizes over groups of as many elements as the scale has and multiplies by a gate's SiLU; all
// in f32.
void gated_rms_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  need_float(c, c.in(0));
  ValueId x = floats_of(c, c.in(0)), scale = ranked_input(c, 1, 1, "scale");
  const int rank = c.rank(x);
  if (rank < 1) c.fail("X must have rank 1 or more");
  ValueId size = dim(c, scale, 0), groups = over(c, dim(c, x, rank - 1), size);
  ValueId split = reshape_to(c, x, concat(c, {dims(c, x, 0, rank - 1), groups, size}, 0));
  ValueId y = rms_norm(c, split, -1, c.attr_float("epsilon", 1e-5f)).y;
  y = reshape_like(c, times(c, y, floats_of(c, scale)), x);
  c.set(0, cast(c, times(c, y, c.emit(OpId::kSilu, {floats_of(c, c.in(2))})), dtype));
}

// Sums and normalizes the word, position and segment embeddings of a BERT model.
void embed_layer_norm(ReadCtx& c) {
  ValueId ids = ranked_input(c, 0, 2, "input_ids");
  const auto rows = [&](int table, ValueId which) {
    return floats_of(c, c.emit(OpId::kGather, AxisAttrs{0}, {c.in(table), which}));
  };
  ValueId positions = c.optional(8);
  if (positions == kNoValue) positions = unsqueeze(c, arange(c, dim(c, ids, 1)), {0});
  const DType dtype = c.dtype(c.in(2));
  need_float(c, c.in(2));
  ValueId sum = plus(c, rows(2, ids), rows(3, positions));
  if (c.has(1) != c.has(4)) c.fail("segment_ids and segment_embedding go together");
  if (c.has(1)) sum = plus(c, sum, rows(4, c.in(1)));
  ValueId y = layer_norm(c, sum, c.attr_float("epsilon", 1e-12f)).normal;
  y = plus(c, times(c, y, floats_of(c, c.in(5))), floats_of(c, c.in(6)));
  c.set(0, cast(c, y, dtype));
  if (c.wants(1)) {  // the number of words that the mask leaves
    ValueId count;
    if (c.has(7)) {
      ValueId mask = ranked_input(c, 7, 2, "mask"), one = c.scalar(mask, 1);
      ValueId words = cast(c, c.emit(OpId::kEqual, {mask, one}), DType::kI32);
      count = reduce(c, OpId::kReduceSum, words, {1}, false);
    } else {
      count = expand_to(c, cast(c, int_scalar(c, 0), DType::kI32), dim(c, ids, 0));
    }
    c.set(1, count);
  }
  if (c.wants(2)) c.set(2, cast(c, sum, dtype));
}

// A skip has x's shape, or one value per channel ([N, 1, 1, C] or [N, C]).
template <bool skip>
void group_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  need_float(c, c.in(0));
  const bool last = c.attr_int("channels_last", 1) != 0;
  const int64_t groups = needed_int(c, "groups", 1);
  const int64_t activation = c.attr_int("activation", 0);
  if (activation != 0 && activation != 1) c.fail("activation must be 0 (none) or 1 (SiLU)");
  ValueId x = floats_of(c, c.in(0));
  const int rank = c.rank(x);
  if (rank < 3) c.fail("X must have rank 3 or more, got " + shape_text(shape(c, x)));
  std::vector<int64_t> spatial;
  for (int i = 0; i < rank - 2; ++i) spatial.push_back(i + 1);
  if (skip) {
    ValueId other = floats_of(c, c.in(3));
    if (c.rank(other) == 2) {
      std::vector<int64_t> at = spatial;
      if (!last) {
        for (int64_t& i : at) ++i;
      }
      other = unsqueeze(c, other, at);
    }
    x = plus(c, x, other);
    if (c.has(4)) {
      ValueId bias = floats_of(c, ranked_input(c, 4, 1, "bias"));
      x = plus(c, x, last ? bias : unsqueeze(c, bias, spatial));
    }
    if (c.wants(1)) c.set(1, cast(c, x, dtype));
  }
  ValueId y =
      Standard(c, "GroupNormalization", 21)
          .set("num_groups", groups)
          .set("epsilon", c.attr_float("epsilon", 1e-5f))
          .one({last ? channels_first(c, x) : x, floats_of(c, c.in(1)), floats_of(c, c.in(2))});
  if (activation == 1) y = c.emit(OpId::kSilu, {y});
  c.set(0, cast(c, last ? channels_last(c, y) : y, dtype));
}

}  // namespace

RmsNorm rms_norm(ReadCtx& c, ValueId x, int64_t axis, double epsilon) {
  ValueId mean = c.emit(OpId::kReduceMean, axes_from(c, x, axis), {times(c, x, x)});
  ValueId root = c.emit(OpId::kSqrt, {plus(c, mean, c.scalar(x, epsilon))});
  return {over(c, x, root), root};
}

WICK_READ_MS(SkipLayerNormalization, skip_norm<false>);
WICK_READ_MS(SkipSimplifiedLayerNormalization, skip_norm<true>);
WICK_READ_MS(GatedRMSNorm, gated_rms_norm);
WICK_READ_MS(EmbedLayerNormalization, embed_layer_norm);
WICK_READ_MS(GroupNorm, group_norm<false>);
WICK_READ_MS(SkipGroupNorm, group_norm<true>);
WICK_READ(SimplifiedLayerNormalization, simplified_norm);
WICK_READ_MS(SimplifiedLayerNormalization, simplified_norm);

}  // namespace wick::onnx
