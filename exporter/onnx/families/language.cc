// Parts of language models besides Attention: rotary embeddings, caches, gates, recurrences.
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

// Rotates each pair (first, second) by its token's angle. The pairs are the halves of a head, or
// neighbouring elements.
void rotary_embedding(ReadCtx& c) {
  ValueId x = c.in(0), cosine = c.in(1), sine = c.in(2);
  const int rank = c.rank(x);
  if (rank != 3 && rank != 4) c.fail("X must have rank 3 or 4");
  const bool packed = rank == 3;  // [B, S, heads, n]; else [B, heads, S, n]
  if (packed) {
    const int64_t heads = c.attr_int("num_heads", 0);
    if (heads < 1) c.fail("a 3-D X needs num_heads");
    ValueId count = c.int_constant({heads});
    ValueId size = c.emit(OpId::kDiv, {dim(c, x, 2), count});
    x = reshape_to(c, x, concat(c, {dims(c, x, 0, 2), count, size}, 0));
  }
  const int64_t part = c.attr_int("rotary_embedding_dim", 0);
  const SymDim& size = shape(c, x)[3];
  if (part < 0 || part % 2 != 0 || (size.known() && part > size.constant()))
    c.fail("rotary_embedding_dim must be even and at most the size of a head");
  if (part == 0 && size.known() && size.constant() % 2 != 0)
    c.fail("the size of a head must be even");
  if (c.has(3)) {
    ValueId at = c.in(3);
    cosine = c.emit(OpId::kGather, AxisAttrs{0}, {cosine, at});
    sine = c.emit(OpId::kGather, AxisAttrs{0}, {sine, at});
  }
  if (c.rank(cosine) != 3 || c.rank(sine) != 3) {
    c.fail("the caches must have rank 2 with position_ids [batch, sequence], rank 3 without");
  }
  cosine = unsqueeze(c, cosine, {packed ? 2 : 1});
  sine = unsqueeze(c, sine, {packed ? 2 : 1});
  Halves parts{x, kNoValue};
  if (part != 0) parts = cut(c, x, 3, c.int_constant({part}));
  const ValueId turned = parts.first;
  const bool interleaved = c.attr_int("interleaved", 0) != 0;
  Halves pair;
  if (interleaved) {
    ValueId two = c.int_constant({2}), count = c.emit(OpId::kDiv, {dim(c, turned, 3), two});
    pair = halve(c, reshape_to(c, turned, concat(c, {dims(c, turned, 0, 3), count, two}, 0)), 4);
    pair = {squeeze(c, pair.first, {4}), squeeze(c, pair.second, {4})};
  } else {
    pair = halve(c, turned, 3);
  }
  const auto mul = [&](ValueId a, ValueId b) { return c.emit(OpId::kMul, {a, b}); };
  ValueId real = c.emit(OpId::kSub, {mul(cosine, pair.first), mul(sine, pair.second)});
  ValueId imaginary = c.emit(OpId::kAdd, {mul(sine, pair.first), mul(cosine, pair.second)});
  ValueId y;
  if (interleaved) {
    y = concat(c, {unsqueeze(c, real, {4}), unsqueeze(c, imaginary, {4})}, 4);
    y = reshape_like(c, y, turned);
  } else {
    y = concat(c, {real, imaginary}, 3);
  }
  if (part != 0) y = concat(c, {y, parts.second}, 3);
  c.set(0, packed ? reshape_like(c, y, c.in(0)) : y);
}

// Multiplies the windows of the padded input [B, C, L + k - 1] by the weight, where the number of
// channels, which a convolution needs as its number of groups, is not known: [B, C, L, k] x [C, k,
// 1].
ValueId convolve_windows(ReadCtx& c, ValueId padded, ValueId length, ValueId weight) {
  ValueId begins = unsqueeze(c, arange(c, length), {1}), taps = arange(c, dim(c, weight, 2));
  ValueId windows =
      c.emit(OpId::kGather, AxisAttrs{2}, {padded, c.emit(OpId::kAdd, {begins, taps})});
  ValueId y = c.emit(OpId::kMatMul, {windows, transpose(c, weight, {0, 2, 1})});
  return squeeze(c, y, {3});
}

void causal_conv(ReadCtx& c) {
  ValueId x = c.in(0), weight = c.in(1);
  if (c.rank(x) != 3 || c.rank(weight) != 3) c.fail("input and weight must have rank 3");
  const std::string activation = c.attr_string("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none") c.fail("unknown activation '" + activation + "'");
  const SymDim channels = shape(c, x)[1].known() ? shape(c, x)[1] : shape(c, weight)[0],
               length = shape(c, x)[2], taps = shape(c, weight)[2];
  if (dim_equal(shape(c, x)[1], shape(c, weight)[0]) == Tri::kNo ||
      dim_equal(shape(c, weight)[1], SymDim(1)) == Tri::kNo ||
      (taps.known() && taps.constant() < 1)) {
    c.fail("the weight must be [channels, 1, k] of the input's channels, got " +
           shape_text(shape(c, weight)) + " for " + shape_text(shape(c, x)));
  }
  ValueId padded;
  if (c.has(3)) {
    if (c.rank(c.in(3)) != 3 || dim_equal(shape(c, c.in(3))[2], taps - SymDim(1)) == Tri::kNo)
      c.fail("past_state must be [batch, channels, k - 1]");
    padded = concat(c, {c.in(3), x}, 2);
  } else {
    ValueId before = c.emit(OpId::kSub, {dim(c, weight, 2), c.int_constant({1})});
    padded = pad_axis(c, x, 2, PadSide::kBefore, before, 0);
  }
  ValueId y;
  if (channels.known() && channels.constant() > 0 && dim_equal(length, SymDim(0)) != Tri::kYes) {
    ConvAttrs a;
    a.group = channels.constant();
    ValueId room = padded;
    if (!length.known()) {  // it may be 0: pad by one and cut that result off again
      ValueId one = c.int_constant({1});
      ValueId more = c.emit(OpId::kSub, {one, c.emit(OpId::kMin, {dim(c, x, 2), one})});
      room = pad_axis(c, padded, 2, PadSide::kAfter, more, 0);
    }
    y = c.emit(OpId::kConv, a, {room, weight, c.optional(2)});
    if (!length.known()) y = cut(c, y, 2, dim(c, x, 2)).first;
    // Also if there are no tokens, for which a convolution's window would not fit.
  } else {
    y = convolve_windows(c, padded, dim(c, x, 2), weight);
    if (c.has(2)) y = c.emit(OpId::kAdd, {y, unsqueeze(c, c.in(2), {1})});
  }
  c.set(0, silu ? c.emit(OpId::kSilu, {y}) : y);
  if (c.wants(1)) c.set(1, cut(c, padded, 2, dim(c, x, 2)).second);
}

// Elements of small dtypes are moved as wider ones that represent each of them, for which there are
// kernels.
ValueId widened(ReadCtx& c, ValueId v) {
  const DType t = c.dtype(v);
  if (!is_small(t)) return v;
  if (t == DType::kF4E2M1) return cast(c, v, DType::kF32);
  if (is_small_int(t))
    return cast(c, v, t == DType::kI4 || t == DType::kI2 ? DType::kI8 : DType::kU8);
  return c.emit(OpId::kBitCast, BitCastAttrs{static_cast<int64_t>(DType::kU8)}, {v});
}
ValueId narrowed(ReadCtx& c, ValueId v, DType t) {
  if (!is_small_float(t) || t == DType::kF4E2M1) return cast(c, v, t);
  return c.emit(OpId::kBitCast, BitCastAttrs{static_cast<int64_t>(t)}, {v});
}

// Writes update[b, ..., s, ...] to position write_indices[b] + s of the cache.
void tensor_scatter(ReadCtx& c) {
  const int known = ranked(c, c.in(1)) ? c.rank(c.in(1)) : -1;
  const int rank = rank_or(c, c.in(0), known);
  if (rank_or(c, c.in(1), rank) != rank) c.fail("past_cache and update must have one rank");
  ValueId cache = widened(c, c.in(0)), update = widened(c, c.in(1));
  const int axis = axis_of(c, c.attr_int("axis", -2), rank);
  if (axis == 0) c.fail("axis 0 is the batch");
  const std::string mode = c.attr_string("mode", "linear");
  if (mode != "linear" && mode != "circular") c.fail("unknown mode '" + mode + "'");
  for (int i = 0; i < rank; ++i) {
    const SymDim &have = shape(c, cache)[i], &brought = shape(c, update)[i];
    bool known = have.known() && brought.known();
    if (known && (i == axis ? brought.constant() > have.constant()
                            : brought.constant() != have.constant())) {
      c.fail("an update of " + shape_text(shape(c, update)) + " does not fit a cache of " +
             shape_text(shape(c, cache)));
    }
  }
  ValueId place = arange(c, dim(c, update, axis));
  std::vector<int64_t> axes;  // that the positions do not depend on
  for (int i = c.has(2) ? 1 : 0; i < rank; ++i) {
    if (i != axis) axes.push_back(i);
  }
  if (c.has(2)) {
    if (c.rank(c.in(2)) != 1) c.fail("write_indices must have rank 1");
    place = c.emit(OpId::kAdd, {unsqueeze(c, cast(c, c.in(2), DType::kI64), {1}), place});
    if (mode == "circular") place = c.emit(OpId::kMod, {place, dim(c, cache, axis)});
  }
  if (!axes.empty()) place = unsqueeze(c, place, axes);
  place = expand_to(c, place, shape_of(c, update));
  cache = c.emit(OpId::kScatterElements, ScatterAttrs{axis, 0}, {cache, place, update});
  c.set(0, narrowed(c, cache, c.dtype(c.in(0))));
}

// The gate is Swish.
void swiglu(ReadCtx& c) {
  ValueId a = c.in(0), b = c.in(1);
  const double alpha = c.attr_float("alpha", 1);
  if (c.g.value(a).ranked && c.g.value(b).ranked) {
    bool same = shape(c, a).rank() == shape(c, b).rank();
    for (int i = 0; same && i < shape(c, a).rank(); ++i)
      same = dim_equal(shape(c, a)[i], shape(c, b)[i]) != Tri::kNo;
    if (!same) {
      c.fail("A and B must have one shape, got " + shape_text(shape(c, a)) + " and " +
             shape_text(shape(c, b)));
    }
  }
  ValueId gate =
      alpha == 1
          ? c.emit(OpId::kSilu, {a})
          : c.emit(OpId::kMul, {a, c.emit(OpId::kSigmoid,
                                          {c.emit(OpId::kMul, {a, c.scalar(a, alpha, "alpha")})})});
  c.set(0, c.emit(OpId::kMul, {gate, b}));
}

constexpr const char* kUpdateRules[] = {"linear", "gated", "delta", "gated_delta"};

void linear_attention(ReadCtx& c) {
  const std::string rule = c.attr_string("update_rule", "gated_delta");
  LinearAttentionAttrs a{c.attr_int("q_num_heads", 0), c.attr_int("kv_num_heads", 0), -1,
                         c.attr_float("scale", 0)};
  for (int64_t i = 0; i < 4; ++i) {
    if (rule == kUpdateRules[i]) a.update_rule = i;
  }
  if (a.update_rule < 0) c.fail("unknown update_rule '" + rule + "'");
  std::vector<ValueId> in = {c.in(0), c.in(1), c.in(2)};
  for (int i = 3; i < 6; ++i) in.push_back(c.optional(i));
  c.emit_all(OpId::kLinearAttention, a, in, 2);
}

}  // namespace

WICK_READ(RotaryEmbedding, rotary_embedding);
WICK_READ(CausalConvWithState, causal_conv);
WICK_READ(TensorScatter, tensor_scatter);
WICK_READ(SwiGLU, swiglu);
WICK_READ(LinearAttention, linear_attention);

WICK_ONNX_ROW(LinearAttention, [](WriteCtx& c) {
  const auto& a = c.as<LinearAttentionAttrs>();
  NodeProto& n = c.same("LinearAttention");
  set_int(n, "q_num_heads", a.q_num_heads);
  set_int(n, "kv_num_heads", a.kv_num_heads);
  set_string(n, "update_rule", kUpdateRules[a.update_rule]);
  if (a.scale != 0) set_float(n, "scale", a.scale);
});

}  // namespace wick::onnx
