// Convolution and pooling in the forms of com.microsoft: with a fused activation, channels last, or
// a state that is carried along.
#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {
namespace {

// act(conv + Z)
template <bool last>
void fused_conv(ReadCtx& c) {
  ValueId x = c.in(0), z = c.optional(3);
  if (last) x = channels_first(c, x);
  if (last && z != kNoValue) z = channels_first(c, z);
  ValueId y = Standard(c, "Conv", 11)
                  .keep({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
                  .one({x, c.in(1), c.optional(2)});
  y = activate(c, plus_if(c, y, z), c.attr_string("activation", ""),
               c.attr_floats("activation_params"));
  c.set(0, last ? channels_last(c, y) : y);
}

void nhwc_max_pool(ReadCtx& c) {
  ValueId y = Standard(c, "MaxPool", 12)
                  .keep({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"})
                  .one({channels_first(c, c.in(0))});
  c.set(0, channels_last(c, y));
}

// Puts zeros between the taps of a dilated kernel [C, 1, k]: [C, 1, (k - 1) dilation + 1].
ValueId spread(ReadCtx& c, ValueId weight, int64_t dilation) {
  ValueId rest = c.int_constant({dilation - 1}), one = c.int_constant({1});
  ValueId wide = pad_axis(c, unsqueeze(c, weight, {3}), 3, PadSide::kAfter, rest, 0);
  ValueId step = c.int_constant({dilation}), taps = times(c, dim(c, weight, 2), step);
  wide = reshape_to(c, wide, concat(c, {dims(c, weight, 0, 2), taps}, 0));
  ValueId last = times(c, minus(c, dim(c, weight, 2), one), step);
  return first_of(c, wide, 2, plus(c, last, one));
}

// A state_window of 1 adds one slot as the first axis: the state after the last token, as without
// it.
ValueId past_slot(ReadCtx& c, int i, int64_t window) {
  ValueId past = c.optional(i);
  if (past == kNoValue || window == 0) return past;
  if (c.rank(past) < 1) c.fail("past_state must have a window axis in front");
  return squeeze(c, past, {0});
}
int64_t one_slot(ReadCtx& c) {
  const int64_t window = c.attr_int("state_window", 0);
  if (window != 0 && window != 1)
    c.fail("state_window above 1 is not supported: only the state after the last token is kept");
  return window;
}
void set_state(ReadCtx& c, ValueId state, int64_t window) {
  if (c.wants(1)) c.set(1, window == 0 ? state : unsqueeze(c, state, {0}));
}

void causal_conv(ReadCtx& c) {
  refuse_unless(c, "ndim", 1, "the causal axis must be the only spatial one");
  const int64_t dilation = c.attr_int("dilation", 1), window = one_slot(c);
  if (dilation < 1 || dilation > 1 << 16) c.fail("dilation must be 1 or more");
  const bool last = c.attr_int("channels_last", 0) != 0;
  ValueId x = c.in(0), weight = ranked_input(c, 1, 3, "weight"), past = past_slot(c, 3, window);
  const ValueId given = x;
  // [B, S, d...] as [B, C, S]
  const auto first = [&](ValueId v) {
    if (c.rank(v) < 3) c.fail("channels-last values have a batch, a sequence and channels");
    ValueId flat = reshape_to(c, v, concat(c, {dims(c, v, 0, 2), dim(c, weight, 0)}, 0));
    return transpose(c, flat, {0, 2, 1});
  };
  if (last) x = first(x);
  if (last && past != kNoValue) past = first(past);
  Standard conv(c, "CausalConvWithState", 27);
  conv.keep({"activation"});
  std::vector<ValueId> y =
      conv.all({x, dilation == 1 ? weight : spread(c, weight, dilation), c.optional(2), past}, 2);
  if (last) {
    y[0] = reshape_like(c, transpose(c, y[0], {0, 2, 1}), given);
    ValueId state = transpose(c, y[1], {0, 2, 1});
    y[1] = reshape_to(c, state, concat(c, {dims(c, state, 0, 2), dims(c, given, 2, INT64_MAX)}, 0));
  }
  c.set(0, y[0]);
  set_state(c, y[1], window);
}

// With several key heads per query head, repeats each query head once for each of them.
ValueId repeated_queries(ReadCtx& c, ValueId q, int64_t heads, int64_t times_each) {
  if (c.rank(q) != 3) c.fail("query must have rank 3, got " + shape_text(shape(c, q)));
  ValueId count = c.int_constant({heads}), each = c.int_constant({times_each});
  ValueId size = over(c, dim(c, q, 2), count), one = c.int_constant({1});
  ValueId apart = reshape_to(c, q, concat(c, {dims(c, q, 0, 2), count, one, size}, 0));
  apart = expand_to(c, apart, concat(c, {dims(c, q, 0, 2), count, each, size}, 0));
  ValueId all = times(c, dim(c, q, 2), each);
  return reshape_to(c, apart, concat(c, {dims(c, q, 0, 2), all}, 0));
}

// chunk_size is only a hint to kernels that work in chunks.
void linear_attention(ReadCtx& c) {
  const int64_t window = one_slot(c);
  const int64_t heads = needed_int(c, "q_num_heads", 1), kv = needed_int(c, "kv_num_heads", 1);
  const bool inverse = kv > heads && kv % heads == 0;
  ValueId q = inverse ? repeated_queries(c, c.in(0), heads, kv / heads) : c.in(0);
  std::vector<ValueId> y =
      Standard(c, "LinearAttention", 27)
          .keep({"kv_num_heads", "scale", "update_rule"})
          .set("q_num_heads", inverse ? kv : heads)
          .all({q, c.in(1), c.in(2), past_slot(c, 3, window), c.optional(4), c.optional(5)}, 2);
  c.set(0, y[0]);
  set_state(c, y[1], window);
}

// Computes in f32 the gates that LinearAttention takes.
void linear_attention_gate(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId a = plus(c, floats_of(c, c.in(0)), c.in(1));
  c.set(0, cast(c, times(c, c.in(2), c.emit(OpId::kSoftplus, {a})), dtype));
  if (c.wants(1)) c.set(1, cast(c, c.emit(OpId::kSigmoid, {floats_of(c, c.in(3))}), dtype));
}

}  // namespace

WICK_READ_MS(FusedConv, fused_conv<false>);
WICK_READ_MS(NhwcConv, fused_conv<true>);
WICK_READ_MS(NhwcFusedConv, fused_conv<true>);
WICK_READ_MS(NhwcMaxPool, nhwc_max_pool);
WICK_READ_MS(CausalConvWithState, causal_conv);
WICK_READ_MS(LinearAttention, linear_attention);
WICK_READ_MS(LinearAttentionGate, linear_attention_gate);

}  // namespace wick::onnx
