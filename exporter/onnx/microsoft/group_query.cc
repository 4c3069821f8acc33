// GroupQueryAttention: heads that share keys, a cache whose sequences have different lengths,
// rotary embeddings, windows, sinks.
#include "exporter/onnx/microsoft/attend.h"

namespace wick::onnx {
namespace {

struct Lengths {
  ValueId all;    // [B], keys and new tokens of a sequence
  ValueId past;   // [B], keys before them
  ValueId most;   // [1], the largest of `all`
  ValueId first;  // [1], whether this is the first prompt
};

Lengths lengths(ReadCtx& c, ValueId tokens) {
  Lengths n;
  ValueId one = int_scalar(c, 1);
  n.all = plus(c, reshape(c, cast(c, c.in(5), DType::kI64), {-1}), one);
  n.most = reshape(c, cast(c, c.in(6), DType::kI64), {1});
  // A first prompt starts at 0, however long each of its sequences is.
  n.first = c.emit(OpId::kEqual, {n.most, tokens});
  n.past = c.emit(OpId::kWhere, {n.first, int_scalar(c, 0), minus(c, n.all, tokens)});
  return n;
}

// Returns the cache [B, heads, L, n] with the new tokens written at each sequence's end, as long as
// the longest.
ValueId appended(ReadCtx& c, ValueId cache, ValueId now, const Lengths& n) {
  ValueId length = dim(c, cache, 2);
  ValueId room = c.emit(OpId::kMax, {length, n.most});
  ValueId old = c.emit(OpId::kLess, {arange(c, room), unsqueeze(c, n.past, {1})});
  cache = pad_axis(c, cache, 2, PadSide::kAfter, minus(c, room, length), 0);
  cache = c.emit(OpId::kWhere, {unsqueeze(c, old, {1, 3}), cache, c.scalar(cache, 0)});
  ValueId place = plus(c, unsqueeze(c, n.past, {1}), arange(c, dim(c, now, 2)));
  place = expand_to(c, unsqueeze(c, place, {1, 3}), shape_of(c, now));
  return c.emit(OpId::kScatterElements, ScatterAttrs{2, 0}, {cache, place, now});
}

ValueId rotated(ReadCtx& c, ValueId x, ValueId at) {
  ValueId cosine = ranked_input(c, 7, 2, "cos_cache"), sine = ranked_input(c, 8, 2, "sin_cache");
  const SymDim &size = shape(c, x)[3], &half = shape(c, cosine)[1];
  Standard rotate(c, "RotaryEmbedding", 23);
  rotate.set("interleaved", c.attr_int("rotary_interleaved", 0));
  if (half.known() && dim_equal(half * SymDim(2), size) != Tri::kYes)
    rotate.set("rotary_embedding_dim", 2 * half.constant());
  return rotate.one({x, cosine, sine, at});
}

// Returns which keys a query may read.
ValueId readable(ReadCtx& c, const Lengths& n, ValueId tokens) {
  ValueId keys = arange(c, n.most);
  ValueId yes = c.emit(OpId::kLess, {keys, unsqueeze(c, n.all, {1, 2, 3})});
  const int64_t causal = c.attr_int("causal", 1), window = c.attr_int("local_window_size", -1);
  if (causal != 0 && causal != 1) c.fail("causal must be 0 or 1");
  if (window < -1 || (causal == 0 && window != -1))
    c.fail("local_window_size must be -1, or 0 or more where the attention is causal");
  if (causal == 0) return yes;
  ValueId place = plus(c, unsqueeze(c, n.past, {1}), arange(c, tokens));  // [B, S]
  place = unsqueeze(c, place, {1, 3});
  const auto also = [&](OpId op, ValueId a, ValueId b) {
    yes = c.emit(OpId::kAnd, {yes, c.emit(op, {a, b})});
  };
  also(OpId::kLessOrEqual, keys, place);
  if (window >= 0) also(OpId::kGreater, keys, minus(c, place, int_scalar(c, window)));
  return yes;
}

ValueId head_norm(ReadCtx& c, ValueId x, int i) {
  if (!c.has(i)) return x;
  const DType dtype = c.dtype(x);
  ValueId y = rms_norm(c, floats_of(c, x), -1, c.attr_float("qk_norm_epsilon", 1e-6f)).y;
  return cast(c, times(c, y, floats_of(c, ranked_input(c, i, 1, "a norm's weight"))), dtype);
}

// Returns q, k and v as [B, heads, S, n]: from three inputs, or from one that packs them.
std::vector<ValueId> heads_of(ReadCtx& c, int64_t heads, int64_t kv_heads) {
  std::vector<ValueId> qkv;
  if (c.has(1) != c.has(2)) c.fail("key and value go together");
  if (c.has(1)) {
    qkv = {in_heads(c, c.in(0), heads, "query"), in_heads(c, c.in(1), kv_heads, "key"),
           in_heads(c, c.in(2), kv_heads, "value")};
  } else {
    ValueId all = in_heads(c, c.in(0), heads + 2 * kv_heads, "query (packed with key and value)");
    qkv = split(c, all, 2, c.int_constant({heads, kv_heads, kv_heads}), 3);
  }
  for (ValueId& v : qkv) v = heads_first(c, v);
  return qkv;
}

// CacheForm is a cache of another dtype than the inputs: int8 or float8, or 4-bit numbers plus 8,
// two to a byte. They are multiplied by a scale, one for all or one per head and channel.
class CacheForm {
 public:
  CacheForm(ReadCtx& c, const char* kind, int past, int scale) : c_(c) {
    const std::string type = c.attr_string(kind, "NONE");
    if (type == "NONE") {
      refuse_input(c, scale, "the cache is not quantized");
      return;
    }
    if (type != "PER_TENSOR" && type != "PER_CHANNEL")
      c.fail(std::string(kind) + " must be NONE, PER_TENSOR or PER_CHANNEL, not '" + type + "'");
    scale_ = cast(c, c.in(scale), DType::kF32);
    if (c.rank(scale_) != 4) scale_ = reshape(c, scale_, {1});
    dtype_ = c.dtype(c.in(past));
    packed_ = dtype_ == DType::kU8;
    const int64_t bits = c.attr_int("kv_cache_bit_width", packed_ ? 4 : 8);
    const bool known = packed_ ? bits == 4 : dtype_ == DType::kI8 || dtype_ == DType::kF8E4M3FN;
    if (!known || (!packed_ && bits != 8))
      c.fail("a quantized cache must be int8 or float8e4m3fn, or uint8 of 4 bits");
  }
  ValueId stored(ValueId v) const {
    if (scale_ == kNoValue) return v;
    v = over(c_, floats_of(c_, v), scale_);
    if (dtype_ == DType::kF8E4M3FN) return bits_of(cast(c_, v, dtype_));
    const double least = packed_ ? -8 : -128, most = packed_ ? 7 : 127;
    v = c_.emit(OpId::kClip, ClipAttrs{},
                {c_.emit(OpId::kRound, {v}), c_.scalar(v, least), c_.scalar(v, most)});
    if (!packed_) return cast(c_, v, dtype_);
    ValueId two = c_.int_constant({2}), half = over(c_, dim(c_, v, 3), two);
    v = cast(c_, plus(c_, v, c_.scalar(v, 8)), DType::kU8);
    Halves h = halve(c_, reshape_to(c_, v, concat(c_, {dims(c_, v, 0, 3), half, two}, 0)), 4);
    return squeeze(c_, plus(c_, h.first, times(c_, h.second, c_.scalar(v, 16))), {4});
  }
  ValueId real(ValueId v) const {
    if (scale_ == kNoValue) return v;
    if (dtype_ == DType::kF8E4M3FN) v = given(v);
    if (packed_) v = unpack_bits(c_, v, 4);
    v = cast(c_, v, DType::kF32);
    return times(c_, packed_ ? minus(c_, v, c_.scalar(v, 8)) : v, scale_);
  }
  // float8 is moved as bytes.
  ValueId bits_of(ValueId v) const {
    if (c_.dtype(v) != DType::kF8E4M3FN) return v;
    return c_.emit(OpId::kBitCast, BitCastAttrs{static_cast<int64_t>(DType::kU8)}, {v});
  }
  ValueId given(ValueId v) const {
    if (dtype_ != DType::kF8E4M3FN) return v;
    return c_.emit(OpId::kBitCast, BitCastAttrs{static_cast<int64_t>(dtype_)}, {v});
  }

 private:
  ReadCtx& c_;
  ValueId scale_ = kNoValue;
  DType dtype_ = DType::kNone;
  bool packed_ = false;
};

void group_query_attention(ReadCtx& c) {
  refuse_unless(c, "sliding_window_cache", 0, "the cache must hold the whole sequence");
  const int64_t heads = needed_int(c, "num_heads", 1), kv_heads = needed_int(c, "kv_num_heads", 1);
  if (heads % kv_heads != 0) c.fail("num_heads must be a multiple of kv_num_heads");
  const DType dtype = c.dtype(c.in(0));
  if (!is_float(dtype)) c.fail("query must be floating-point");
  if (c.has(3) != c.has(4)) c.fail("past_key and past_value go together");
  if (c.has(14) != c.has(15)) c.fail("q_norm_weight and k_norm_weight go together");
  std::vector<ValueId> qkv = heads_of(c, heads, kv_heads);
  Attend a;
  a.q = head_norm(c, qkv[0], 14);
  a.k = head_norm(c, qkv[1], 15);
  a.v = qkv[2];
  ValueId tokens = dim(c, a.q, 2);
  const Lengths n = lengths(c, tokens);
  if (c.attr_int("do_rotary", 0) != 0) {
    ValueId at = c.optional(9);
    ValueId in_order = plus(c, unsqueeze(c, n.past, {1}), arange(c, tokens));
    if (at == kNoValue) {
      at = in_order;
    } else {  // in a first prompt only the first position counts
      ValueId begin = first_of(c, reshape(c, at, {-1}), 0, c.int_constant({1}));
      at = c.emit(OpId::kWhere, {n.first, plus(c, in_order, begin), at});
    }
    a.q = rotated(c, a.q, at);
    a.k = rotated(c, a.k, at);
  }
  const CacheForm keys(c, "k_quant_type", 3, 12), values(c, "v_quant_type", 4, 13);
  a.k = keys.stored(a.k);
  a.v = values.stored(a.v);
  if (c.has(3)) {
    a.k = appended(c, keys.bits_of(ranked_input(c, 3, 4, "past_key")), a.k, n);
    a.v = appended(c, values.bits_of(ranked_input(c, 4, 4, "past_value")), a.v, n);
  }
  const auto give = [&](int i, ValueId v) {
    if (c.wants(i)) c.set(i, c.has(3) ? v : c.emit(OpId::kIdentity, {v}));
  };
  give(1, keys.given(a.k));
  give(2, values.given(a.v));
  // Cuts off what a cache has room for after the longest sequence.
  a.k = keys.real(first_of(c, a.k, 2, n.most));
  a.v = values.real(first_of(c, a.v, 2, n.most));
  a.allowed = readable(c, n, tokens);
  a.softcap = c.attr_float("softcap", 0);
  if (c.has(10)) a.bias = ranked_input(c, 10, 4, "attention_bias");
  if (c.has(11)) {
    a.sink = reshape(c, ranked_input(c, 11, 1, "head_sink"), {1, heads, 1, 1});
  } else if (c.attr_int("smooth_softmax", 0) == 1) {
    a.sink = c.constant(HostTensor(DType::kF32, Shape{1, 1, 1, 1}));
  }
  const int64_t shown = c.attr_int("qk_output", 0);
  if (shown < 0 || shown > 2) c.fail("qk_output must be 0, 1 or 2");
  c.set(0, heads_merged(c, a.run(c, dtype)));
  if (c.wants(3)) {
    if (shown == 0) c.fail("output_qk needs qk_output 1 or 2");
    ValueId seen =
        shown == 2 ? a.weights : c.emit(OpId::kWhere, {a.allowed, a.scores, c.scalar(a.scores, 0)});
    c.set(3, cast(c, seen, dtype));
  }
}

}  // namespace

WICK_READ_MS(GroupQueryAttention, group_query_attention);

}  // namespace wick::onnx
