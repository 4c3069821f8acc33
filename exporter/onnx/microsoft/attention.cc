// Attention whose heads all have their own keys: Attention and QAttention project the input
// themselves, MultiHeadAttention gets queries, keys and values.
#include "exporter/onnx/families/quantize.h"
#include "exporter/onnx/microsoft/attend.h"

namespace wick::onnx {
namespace {

// Reshapes the part of a bias that is for q, k or v to [heads, n].
ValueId in_rows(ReadCtx& c, ValueId part, int64_t heads) { return reshape(c, part, {heads, -1}); }

struct Inputs {
  int mask, past, bias;  // -1: the operator has none
};

// Takes q, k and v [B, S, heads, n] of the new tokens.
void self_attention(ReadCtx& c, const std::vector<ValueId>& qkv, DType dtype, const Inputs& in) {
  Attend a;
  a.q = heads_first(c, qkv[0]);
  a.k = cast(c, heads_first(c, qkv[1]), dtype);  // as they are cached
  a.v = cast(c, heads_first(c, qkv[2]), dtype);
  ValueId past = c.int_constant({0});
  if (c.has(in.past)) {
    ValueId state = c.in(in.past);
    if (c.rank(state) != 5) c.fail("past must be [2, batch, heads, length, size]");
    Halves kv = halve(c, state, 0);
    past = dim(c, state, 3);
    a.k = concat(c, {squeeze(c, kv.first, {0}), a.k}, 2);
    a.v = concat(c, {squeeze(c, kv.second, {0}), a.v}, 2);
  }
  if (c.wants(1)) c.set(1, concat(c, {unsqueeze(c, a.k, {0}), unsqueeze(c, a.v, {0})}, 0));
  const MaskShape s{a.q, dim(c, a.k, 2), past};
  if (c.has(in.mask)) a.mask = mask_bias(c, in.mask, s);
  if (in.bias >= 0 && c.has(in.bias)) a.bias = c.in(in.bias);
  if (c.attr_int("unidirectional", 0) != 0) a.allowed = causal(c, s);
  c.set(0, heads_merged(c, a.run(c, dtype)));
}

void refuse_rare(ReadCtx& c) {
  refuse_unless(c, "do_rotary", 0, "rotate queries and keys by RotaryEmbedding before");
  refuse_unless(c, "past_present_share_buffer", 0, "past and present must be tensors of their own");
}

// Splits the projection of the input into q, k and v, in heads.
std::vector<ValueId> projected(ReadCtx& c, ValueId all, int64_t heads) {
  if (c.rank(all) != 3) c.fail("input must have rank 3, weights rank 2");
  std::vector<int64_t> sizes = c.attr_ints("qkv_hidden_sizes");
  if (!sizes.empty() && sizes.size() != 3) c.fail("qkv_hidden_sizes must have 3 numbers");
  ValueId parts;
  if (sizes.empty()) {
    const SymDim& last = shape(c, all)[2];
    if (last.known() && last.constant() % 3 != 0)
      c.fail("weights must have 3 parts of one size, or qkv_hidden_sizes must tell them");
    ValueId third = over(c, dim(c, all, 2), c.int_constant({3}));
    parts = concat(c, {third, third, third}, 0);
  } else {
    for (int64_t size : sizes) {
      if (size < 1 || size % heads != 0)
        c.fail("qkv_hidden_sizes must be positive and divide by num_heads");
    }
    parts = c.int_constant(sizes);
  }
  std::vector<ValueId> qkv = split(c, all, 2, parts, 3);
  for (ValueId& v : qkv) v = in_heads(c, v, heads, "a part of the projection");
  return qkv;
}

void attention(ReadCtx& c) {
  refuse_rare(c);
  const int64_t heads = needed_int(c, "num_heads", 1);
  ValueId x = ranked_input(c, 0, 3, "input"), w = ranked_input(c, 1, 2, "weights");
  ValueId all = matmul(c, floats_of(c, x), floats_of(c, w));
  if (c.has(2)) all = plus(c, all, floats_of(c, c.in(2)));
  self_attention(c, projected(c, all, heads), c.dtype(x), {3, 4, 5});
}

// Does the same with an integer input and integer weights.
void quantized_attention(ReadCtx& c) {
  refuse_rare(c);
  const int64_t heads = needed_int(c, "num_heads", 1);
  ValueId x = ranked_input(c, 0, 3, "input"), w = ranked_input(c, 1, 2, "weight");
  ValueId scale = times(c, scalar_of(c, c.in(3)), scalar_of(c, c.in(4)));
  const auto zero = [&](int i) { return c.has(i) ? scalar_of(c, c.in(i)) : kNoValue; };
  ValueId sum = c.emit(OpId::kMatMulInteger, {x, w, zero(6), zero(7)});
  ValueId all = plus(c, times(c, cast(c, sum, c.dtype(scale)), scale), c.in(2));
  self_attention(c, projected(c, all, heads), c.dtype(scale), {5, 8, -1});
}

// Splits [B, L, heads, count, n] into `count` tensors [B, L, heads, n].
std::vector<ValueId> unpacked(ReadCtx& c, ValueId v, int64_t count, const char* what) {
  if (c.rank(v) != 5 || dim_equal(shape(c, v)[3], SymDim(count)) == Tri::kNo) {
    c.fail(std::string(what) + " must be packed as [batch, length, heads, " +
           std::to_string(count) + ", size], got " + shape_text(shape(c, v)));
  }
  std::vector<int64_t> ones(static_cast<size_t>(count), 1);
  std::vector<ValueId> parts = split(c, v, 3, c.int_constant(ones), static_cast<int>(count));
  for (ValueId& part : parts) part = squeeze(c, part, {3});
  return parts;
}

void multi_head_attention(ReadCtx& c) {
  const int64_t heads = needed_int(c, "num_heads", 1);
  refuse_input(c, 8, "past and present must be tensors of their own");
  refuse_input(c, 9, "beams are not searched inside of a model");
  const DType dtype = c.dtype(c.in(0));
  if (!is_float(dtype)) c.fail("query must be floating-point");
  std::vector<ValueId> qkv;
  bool ready = false;  // k and v come as they are cached
  if (!c.has(1)) {
    qkv = unpacked(c, c.in(0), 3, "query");
  } else {
    qkv = {in_heads(c, c.in(0), heads, "query")};
    ValueId k = c.in(1);
    if (!c.has(2)) {
      for (ValueId part : unpacked(c, k, 2, "key")) qkv.push_back(part);
    } else if (c.rank(k) == 4) {
      if (c.rank(c.in(2)) != 4) c.fail("key and value must have one rank");
      ready = true;
      qkv.push_back(k), qkv.push_back(c.in(2));
    } else {
      qkv.push_back(in_heads(c, k, heads, "key"));
      qkv.push_back(in_heads(c, c.in(2), heads, "value"));
    }
  }
  if (c.has(3)) {
    ValueId bias = ranked_input(c, 3, 1, "bias");
    ValueId size = times(c, dim(c, qkv[0], 2), dim(c, qkv[0], 3));
    Halves q = cut(c, bias, 0, size);
    qkv[0] = plus(c, qkv[0], in_rows(c, q.first, heads));
    if (!ready) {
      Halves kv = cut(c, q.second, 0, size);
      qkv[1] = plus(c, qkv[1], in_rows(c, kv.first, heads));
      qkv[2] = plus(c, qkv[2], in_rows(c, kv.second, heads));
    }
  }
  Attend a;
  a.q = heads_first(c, qkv[0]);
  a.k = ready ? qkv[1] : heads_first(c, qkv[1]);
  a.v = ready ? qkv[2] : heads_first(c, qkv[2]);
  ValueId past = c.int_constant({0});
  if (c.has(6) != c.has(7)) c.fail("past_key and past_value go together");
  // ONNX Runtime reads the cache only if the node returns all of it.
  const bool cached = c.has(6) && c.wants(1) && c.wants(2), dropped = c.has(6) && !cached;
  if (cached) {
    ValueId k = ranked_input(c, 6, 4, "past_key"), v = ranked_input(c, 7, 4, "past_value");
    past = dim(c, k, 2);
    a.k = concat(c, {k, a.k}, 2);
    a.v = concat(c, {v, a.v}, 2);
  }
  const auto give = [&](int i, ValueId v) {
    const bool own = c.g.value(v).origin == ValueOrigin::kNode && c.g.value(v).name.empty();
    if (c.wants(i)) c.set(i, own ? v : c.emit(OpId::kIdentity, {v}));
  };
  give(1, a.k);
  give(2, a.v);
  const MaskShape s{a.q, dim(c, a.k, 2), past};
  if (c.has(4)) a.mask = mask_bias(c, 4, s);
  if (c.has(5)) {
    a.bias = ranked_input(c, 5, 4, "attention_bias");
    if (dropped) a.bias = first_of(c, a.bias, 3, s.total);
  }
  if (c.attr_int("unidirectional", 0) != 0) a.allowed = causal(c, s);
  c.set(0, heads_merged(c, a.run(c, dtype)));
  if (c.wants(3)) c.set(3, cast(c, a.scores, dtype));
}

}  // namespace

WICK_READ_MS(Attention, attention);
WICK_READ_MS(QAttention, quantized_attention);
WICK_READ_MS(MultiHeadAttention, multi_head_attention);

}  // namespace wick::onnx
