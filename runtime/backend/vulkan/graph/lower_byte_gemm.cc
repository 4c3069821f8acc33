// Tiled products and convolutions of bytes: QLinearConv, ConvInteger, QGemm, and QLinearMatMul and
// MatMulInteger if they are large enough. Scales and zero points must be known, except the zero
// points of plain sums and those of QGemm's x: sums are multiplied by a quotient, which a device
// may round differently. The CPU reports bad scales.
#include <cmath>

#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/kernels/bytes/qlinear.h"

namespace wick::vulkan {
namespace {

constexpr int64_t kTile = 64;      // rows and columns of a tile of byte_gemm
constexpr int64_t kFar = 1 << 29;  // positions have 32 bits
constexpr uint32_t kRunBindings = 8;
constexpr int64_t kWorthTiles = 4096;  // products; for fewer, each invocation computes its own sum

// A call in the shaders' terms. Inputs are numbered as in the call.
struct Bytes {
  int left = 0, right = 0, bias = -1;  // -1: none
  bool weight_left = false, transposed = false;
  int64_t rows = 1, columns = 1, depth = 1, batches = 1, groups = 1;
  int64_t dims[4] = {1, 1, 1, 1}, left_strides[4] = {}, right_strides[4] = {};
};

// Describes how a sum is converted to the result.
struct Ends {
  uint32_t result = WICK_BYTES_TO_SUMS;
  int32_t zero = 0;  // of the operand that is not the weight
  int32_t y_zero = 0, y_low = 0;
  bool other_zero = false, weight_zero = false;  // any that is not 0 as a signed byte
  int zero_of_a_run = -1;       // input with the value for `zero`, if only a run knows it
  bool scale_of_a_run = false;  // left's scale is known in a run only, and not in the table
  float y_scale = 1;
};

bool known(const OpCall& call, size_t i) {
  return !has_input(call.in, i) || call.in[i].data != nullptr;
}

// Returns the zero point for signed bytes: uint8 is offset by 128.
int32_t signed_zero(const TensorView& bytes, const TensorView* zeros, int64_t i) {
  const int32_t from = bytes.dtype == DType::kU8 ? 128 : 0;
  return (zeros == nullptr ? 0 : byte_at(*zeros, zeros->numel() == 1 ? 0 : i)) - from;
}
const TensorView* zeros_of(const OpCall& call, size_t i) {
  return has_input(call.in, i) ? &call.in[i] : nullptr;
}

// Writes multipliers and the weight's zero points to the table. `other_zero`, `weight_zero`:
// inputs.
Status fill_table(const OpCall& call, const Bytes& b, const ProductScales* scales,
                  size_t other_zero, size_t weight_zero, Lowered& out, Ends& ends) {
  const TensorView& weight = call.in[static_cast<size_t>(b.weight_left ? b.left : b.right)];
  const TensorView& other = call.in[static_cast<size_t>(b.weight_left ? b.right : b.left)];
  const int64_t channels = b.weight_left ? b.rows * b.groups : b.columns;
  WICK_TRY(out.table.reserve(static_cast<size_t>(2 * channels)));
  for (int64_t i = 0; i < channels; ++i) {
    const float m = scales == nullptr ? 0 : scales->at(i);
    if (!std::isfinite(m)) return unsupported("an infinite scale");
    WICK_TRY(out.table.push_back(std::bit_cast<uint32_t>(m)));
  }
  for (int64_t i = 0; i < channels; ++i) {
    const int32_t zero = signed_zero(weight, zeros_of(call, weight_zero), i);
    ends.weight_zero = ends.weight_zero || zero != 0;
    WICK_TRY(out.table.push_back(static_cast<uint32_t>(zero)));
  }
  if (!known(call, other_zero)) {
    ends.zero_of_a_run = static_cast<int>(other_zero);
    ends.other_zero = true;
    return {};
  }
  ends.zero = signed_zero(other, zeros_of(call, other_zero), 0);
  ends.other_zero = ends.zero != 0;
  return {};
}

void add_common(const OpCall& call, const Bytes& b, const Ends& ends, Dispatch& d) {
  const auto is_unsigned = [&](int i) {
    return call.in[static_cast<size_t>(i)].dtype == DType::kU8;
  };
  uint32_t flags = 0;
  const auto flag = [&](bool set, uint32_t bit) { flags |= set ? bit : 0; };
  flag(is_unsigned(b.left), WICK_BYTES_LEFT_UNSIGNED);
  flag(is_unsigned(b.right), WICK_BYTES_RIGHT_UNSIGNED);
  flag(b.bias >= 0, WICK_BYTES_BIAS);
  flag(b.weight_left, WICK_BYTES_WEIGHT_LEFT);
  flag(b.transposed, WICK_BYTES_ALONG_K);
  flag(b.weight_left ? ends.other_zero : ends.weight_zero, WICK_BYTES_ROW_SUMS);
  flag(b.weight_left ? ends.weight_zero : ends.other_zero, WICK_BYTES_COLUMN_SUMS);
  flag(b.columns % 4 == 0, WICK_BYTES_WHOLE_WORDS);
  flag(ends.zero_of_a_run >= 0, WICK_BYTES_ZERO_OF_A_RUN);
  add_spec(d, ends.result);
  add_push(d, b.rows);
  add_push(d, b.columns);
  add_push(d, b.depth);
  add_push(d, b.batches);
  add_push(d, b.groups);
  for (int32_t v : {ends.zero, ends.y_zero, ends.y_low}) add_push(d, static_cast<uint32_t>(v));
  add_push(d, flags);
  add_operand(d, b.left);
  add_operand(d, b.right);
  add_operand(d, out_operand(0));
  // Sums have no bias; absent: binds another tensor, which is not read.
  const bool sums = ends.zero_of_a_run >= 0 && !ends.scale_of_a_run;
  add_operand(d, sums ? ends.zero_of_a_run : b.bias >= 0 ? b.bias : b.left);
  add_operand(d, kTableOperand);
}

Status set_groups(int64_t columns, int64_t rows, int64_t zs, Dispatch& d) {
  const int64_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
  if (across > kMaxGroups || down > kMaxGroups)
    return unsupported("more tiles than a dispatch has");
  d.groups[0] = static_cast<uint32_t>(across);
  d.groups[1] = static_cast<uint32_t>(down);
  d.groups[2] = groups_for(zs, 1);
  return {};
}

Status add_product(const OpCall& call, const Bytes& b, const Ends& ends, Lowered& out) {
  const bool dot = out.can.integer_dot, run = ends.scale_of_a_run;
  if (run && out.can.bindings < kRunBindings) return unsupported("more buffers than a shader sees");
  Dispatch d;
  d.shader = run   ? dot ? ShaderId::k_byte_gemm_run_dot : ShaderId::k_byte_gemm_run
             : dot ? ShaderId::k_byte_gemm_dot
                   : ShaderId::k_byte_gemm;
  add_common(call, b, ends, d);
  for (int64_t v : b.dims) add_push(d, v);
  for (int64_t v : b.left_strides) add_push(d, v);
  for (int64_t v : b.right_strides) add_push(d, v);
  if (run) {
    add_push(d, ends.y_scale);
    d.fault_push = d.push_words;
    d.fault_text = "a scale is not above 0 and finite, or the scales' quotient is not finite";
    add_push(d, uint32_t{0});
    add_operand(d, 1);
    add_operand(d, ends.zero_of_a_run >= 0 ? ends.zero_of_a_run : 1);  // absent: not read
    add_operand(d, kFaultOperand);
  }
  WICK_TRY(set_groups(b.columns, b.rows, b.batches, d));
  return out.dispatches.push_back(d);
}

// Converts to bytes with y's zero point in input `zero`, which determines y's dtype.
Ends to_bytes(const OpCall& call, size_t zero) {
  Ends ends;
  ends.result = WICK_BYTES_TO_BYTES;
  ends.y_zero = byte_at(call.in[zero], 0);
  ends.y_low = call.in[zero].dtype == DType::kI8 ? -128 : 0;
  return ends;
}

// Returns multipliers, or the weight's scales if left's scale is known in a run only.
Status scales_of_gemm(const OpCall& call, ProductScales& scales, Ends& ends) {
  ends.scale_of_a_run = !known(call, 1) || !known(call, 2);
  if (!ends.scale_of_a_run) {
    return product_scales(call.in, 0, 3, 7, &scales).ok() ? Status()
                                                          : unsupported("a scale that is none");
  }
  const bool y = has_input(call.in, 7);
  if (!check_scale(call.in[4], "").ok() || (y && !check_scale(call.in[7], "").ok()))
    return unsupported("a scale that is none");
  scales.b = call.in[4].as<float>();
  scales.count = call.in[4].numel();
  scales.to_float = true;
  if (y) ends.y_scale = call.in[7].as<float>()[0];
  return {};
}

// For QLinearConv and QLinearMatMul, which have scales at the same inputs.
Status read_scales(const OpCall& call, ProductScales* scales, Ends* ends) {
  for (size_t i : {1, 4, 6, 7}) {
    if (!known(call, i)) return unsupported("scales that only a run knows");
  }
  if (!product_scales(call.in, 0, 3, 6, scales).ok()) return unsupported("a scale that is none");
  *ends = to_bytes(call, 7);
  return {};
}

}  // namespace

static Status lower_byte_conv(const OpCall& call, Lowered& out) {
  const bool bytes = call.op == OpId::kQLinearConv;
  const auto& conv = *static_cast<const ConvAttrs*>(call.attrs);
  Bytes b;
  b.left = bytes ? 3 : 1;
  b.right = 0;
  b.weight_left = true;
  b.bias = bytes && has_input(call.in, 8) ? 8 : -1;
  const size_t x_zero = 2, w_zero = bytes ? 5 : 3;
  if (!known(call, w_zero) || (bytes && !known(call, x_zero)))
    return unsupported("a zero point that only a run knows");
  ProductScales scales;
  Ends ends;
  if (bytes) WICK_TRY(read_scales(call, &scales, &ends));
  const Shape &x = call.in[0].shape, &w = call.in[static_cast<size_t>(b.left)].shape;
  const Shape& y = call.out[0].shape;
  const int spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 2) return unsupported("a convolution over three dims");
  auto at = [&](const Shape& s, int i) {
    return i < 2 - spatial ? int64_t{1} : s[s.rank() - 2 + i];
  };
  auto of = [&](const auto& list, int i, int64_t fallback) {
    return i < 2 - spatial ? fallback : list.at_or(i - (2 - spatial), fallback);
  };
  bool pointwise = true;
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = at(y, i) * of(conv.strides, i, 1) + at(w, i) * of(conv.dilations, i, 1) +
                          of(conv.pads, i, 0);
    if (of(conv.strides, i, 1) > kFar || of(conv.dilations, i, 1) > kFar || reach > kFar)
      return unsupported("a window that reaches too far");
    pointwise = pointwise && at(w, i) == 1 && of(conv.strides, i, 1) == 1 &&
                of(conv.pads, i, 0) == 0 && at(y, i) == at(x, i);
  }
  b.groups = conv.group;
  b.rows = w[0] / conv.group;
  b.columns = at(y, 0) * at(y, 1);
  b.depth = w[1] * at(w, 0) * at(w, 1);
  b.batches = x[0] * conv.group;
  WICK_TRY(fill_table(call, b, bytes ? &scales : nullptr, x_zero, w_zero, out, ends));
  const bool direct = b.rows < 8;
  if (pointwise && !direct) {  // a product whose batches are images and groups
    b.dims[2] = x[0];
    b.dims[3] = conv.group;
    b.left_strides[3] = b.rows * b.depth;
    b.right_strides[3] = b.depth * b.columns;
    b.right_strides[2] = b.right_strides[3] * conv.group;
    return add_product(call, b, ends, out);
  }
  const int64_t each = bytes ? 4 : 1;
  Dispatch d = flat_dispatch(ShaderId::k_byte_conv_direct, (call.out[0].numel() + each - 1) / each);
  if (!direct) d.shader = out.can.integer_dot ? ShaderId::k_byte_conv_dot : ShaderId::k_byte_conv;
  add_common(call, b, ends, d);
  add_push(d, at(x, 0));
  add_push(d, at(x, 1));
  add_push(d, at(y, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(conv.strides, i, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(conv.dilations, i, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(conv.pads, i, 0));
  for (int i = 0; i < 2; ++i) add_push(d, at(w, i));
  if (!direct) WICK_TRY(set_groups(b.columns * x[0], b.rows, conv.group, d));
  return out.dispatches.push_back(d);
}

Status lower_byte_gemm(const OpCall& call, Lowered& out) {
  Bytes b;
  Ends ends;
  ProductScales scales;
  if (call.op == OpId::kQGemm) {
    const bool bytes = has_input(call.in, 8);
    for (size_t i : {4, 5, 7, 8}) {
      if (!known(call, i)) return unsupported("scales that only a run knows");
    }
    if (bytes) ends = to_bytes(call, 8);
    if (!bytes) ends.result = WICK_BYTES_TO_FLOATS;
    WICK_TRY(scales_of_gemm(call, scales, ends));
    b.right = 3;
    b.bias = has_input(call.in, 6) ? 6 : -1;
    b.transposed = true;
    b.columns = call.in[3].shape[0];
    b.depth = call.in[3].shape[1];
    b.rows = call.out[0].numel() / b.columns;
    WICK_TRY(fill_table(call, b, &scales, 2, 5, out, ends));
    return add_product(call, b, ends, out);
  }
  const bool bytes = call.op == OpId::kQLinearMatMul;
  b.right = bytes ? 3 : 1;
  const size_t a_zero = 2, b_zero = bytes ? 5 : 3;
  if (!known(call, b_zero) || (bytes && !known(call, a_zero)))
    return unsupported("a zero point that only a run knows");
  const TensorView plain[] = {call.in[0], call.in[static_cast<size_t>(b.right)], {}, {}};
  const Shape& y = call.out[0].shape;
  const IntegerProduct p({plain, 4}, TensorView(nullptr, DType::kI32, y));
  b.rows = p.m;
  b.columns = p.n;
  b.depth = p.k;
  b.batches = p.batches;
  const TensorView* zeros[] = {zeros_of(call, a_zero), zeros_of(call, b_zero)};
  const bool one_zero = zeros[0] == nullptr || zeros[0]->numel() == 1;
  const bool column_zeros = zeros[1] == nullptr || zeros[1]->numel() == 1 ||
                            (zeros[1]->rank() == 1 && zeros[1]->numel() == p.n);
  const bool in_rows = p.a.column == 1 && (p.m == 1 || p.a.row == p.k) &&
                       (p.n == 1 || p.b.column == 1) && p.b.row == p.n;
  if (!one_zero || !column_zeros || !in_rows || p.a.batch.rank() > 4)
    return unsupported("operands that are no plain matrices");
  if (p.batches * p.m * p.n * p.k < kWorthTiles) return unsupported("too little for tiles");
  if (call.in[static_cast<size_t>(b.right)].rank() == 2 && call.in[0].rank() >= 2) {
    b.rows *= b.batches;  // all of left's rows use the same right operand
    b.batches = 1;
  } else {
    const int rank = p.a.batch.rank();
    for (int i = 0; i < rank; ++i) {
      b.dims[4 - rank + i] = y[i];
      b.left_strides[4 - rank + i] = p.a.batch[i];
      b.right_strides[4 - rank + i] = p.b.batch[i];
    }
  }
  if (bytes) WICK_TRY(read_scales(call, &scales, &ends));
  WICK_TRY(fill_table(call, b, bytes ? &scales : nullptr, a_zero, b_zero, out, ends));
  return add_product(call, b, ends, out);
}

WICK_VULKAN(QGemm, {.lower = lower_byte_gemm,
                    .types = {is_byte_or_real},
                    .host_inputs = inputs({4, 5, 7, 8})});
WICK_VULKAN(QLinearConv, {.lower = lower_byte_conv,
                          .types = {is_byte_or_sum},
                          .host_inputs = inputs({1, 2, 4, 5, 6, 7})});
WICK_VULKAN(ConvInteger,
            {.lower = lower_byte_conv, .types = {is_byte_or_sum}, .host_inputs = inputs({3})});

}  // namespace wick::vulkan
