// Quantization: Q/DQ and the integer matmul and convolution are ops of their own. So are the
// QLinear operators where their scales allow it (are_plain()); else they become these and a
// requantization.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "exporter/onnx/families/quantize.h"

#include "exporter/onnx/families/conv.h"
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"
#include "runtime/kernels/bytes/requantize.h"

namespace wick::onnx {

DynamicQuantized dynamic_quantize(ReadCtx& c, ValueId x) {
  const ir::NodeId id = c.g.add_node(OpId::kDynamicQuantizeLinear, AnyAttrs::of(NoAttrs{}), {x}, 3);
  const std::vector<ValueId>& made = c.g.node(id).outputs;
  return {made[0], made[1], made[2]};
}

ValueId scalar_of(ReadCtx& c, ValueId v) {
  if (!c.g.value(v).ranked || c.rank(v) == 0) return v;
  for (const SymDim& d : c.g.value(v).shape) {
    if (dim_equal(d, SymDim(1)) != Tri::kYes) return v;
  }
  ReshapeAttrs a;
  return c.emit(OpId::kReshape, a, {v, c.int_constant({})});
}

namespace {

// Returns the first element of a known float32 scale that `is` refuses; -1: there is none.
int64_t odd_scale(ReadCtx& c, int input, bool (*is)(float)) {
  if (!c.has(input) || !c.g.is_constant(c.in(input))) return -1;
  const HostTensor& s = c.g.value(c.in(input)).constant;
  for (int64_t i = 0; s.dtype() == DType::kF32 && i < s.numel(); ++i) {
    if (!is(s.as<float>()[i])) return i;
  }
  return -1;
}

}  // namespace

void check_scale(ReadCtx& c, int input) {
  const int64_t i = odd_scale(c, input, is_scale);
  if (i < 0) return;
  c.fail(fmt::format("the scale (input {}) must be finite and > 0, element {} is {}", input, i,
                     c.g.value(c.in(input)).constant.as<float>()[i]));
}

ValueId requantize(ReadCtx& c, ValueId sum, ValueId scale, ValueId zero) {
  const DType to = c.dtype(zero);
  if (to != DType::kI8 && to != DType::kU8) c.fail("y_zero_point must be int8 or uint8");
  ValueId y = c.emit(OpId::kMul, {cast(c, sum, DType::kF64), cast(c, scale, DType::kF64)});
  y = c.emit(OpId::kAdd, {c.emit(OpId::kRound, {y}), cast(c, zero, DType::kF64)});
  const double low = to == DType::kI8 ? -128 : 0, high = to == DType::kI8 ? 127 : 255;
  y = c.emit(OpId::kClip, ClipAttrs{}, {y, c.scalar(y, low), c.scalar(y, high)});
  return cast(c, y, to);
}
ValueId scale_ratio(ReadCtx& c, ValueId a, ValueId b, ValueId y) {
  auto f32 = [&](ValueId v) { return cast(c, v, DType::kF32); };
  return c.emit(OpId::kDiv, {c.emit(OpId::kMul, {f32(a), f32(b)}), f32(y)});
}

namespace {

void read_bit_cast(ReadCtx& c) {
  if (c.attr("to") == nullptr) c.fail("attribute 'to' is required");
  c.set(0, c.emit(OpId::kBitCast, BitCastAttrs{c.attr_int("to", 1)}, {c.in(0)}));
}

void read_quantize(ReadCtx& c) {
  check_scale(c, 1);
  QuantizeAttrs a;
  a.axis = c.attr_int("axis", 1);
  a.saturate = c.attr_int("saturate", 1) != 0;
  a.block_size = c.attr_int("block_size", 0);
  a.output_dtype = c.attr_int("output_dtype", 0);
  a.precision = c.attr_int("precision", 0);
  c.set(0, c.emit(OpId::kQuantizeLinear, a, {c.in(0), c.in(1), c.optional(2)}));
}
// (x - zero) * scale, whatever the scale: quantizers make an infinite one of a mask of -infinity.
void read_dequantize(ReadCtx& c) {
  if (odd_scale(c, 1, [](float s) { return std::isfinite(s); }) >= 0) {
    c.scope.model.notes.push_back(
        fmt::format("DequantizeLinear '{}': its scale is infinite or NaN, and so is what it makes, "
                    "in ONNX Runtime as well: leave a mask of -infinity out of the quantization",
                    node_name(c.node)));
  }
  DequantizeAttrs a;
  a.axis = c.attr_int("axis", 1);
  a.block_size = c.attr_int("block_size", 0);
  a.output_dtype = c.attr_int("output_dtype", 0);
  c.set(0, c.emit(OpId::kDequantizeLinear, a, {c.in(0), c.in(1), c.optional(2)}));
}

void read_dynamic_quantize(ReadCtx& c) {
  const DynamicQuantized q = dynamic_quantize(c, c.in(0));
  c.set(0, q.y);
  c.set(1, q.scale);
  c.set(2, q.zero);
}

void read_matmul_integer(ReadCtx& c) {
  c.set(0, c.emit(OpId::kMatMulInteger, {c.in(0), c.in(1), c.optional(2), c.optional(3)}));
}
void read_conv_integer(ReadCtx& c) {
  ValueId x = c.in(0), w = c.in(1);
  const ConvAttrs a = conv_attrs(c, &x, w, c.optional(2));
  c.set(0, c.emit(OpId::kConvInteger, a, {x, w, c.optional(2), c.optional(3)}));
}

// A vector of scales or zero points with one value per row of a matrix of rank >= 2 becomes a
// column; one value per column stays a row.
ValueId per_row(ReadCtx& c, ValueId v, ValueId matrix) {
  v = scalar_of(c, v);
  return c.rank(v) == 1 && c.rank(matrix) > 1 ? unsqueeze(c, v, {1}) : v;
}

bool is_single(ReadCtx& c, ValueId v) { return c.rank(scalar_of(c, v)) == 0; }
// Returns whether the scales and zero points of two byte tensors and of the result (inputs 1 to 7)
// are as the byte operators take them: one number each; the second tensor's one number or a vector.
bool are_plain(ReadCtx& c) {
  for (int i : {1, 2, 6, 7}) {
    if (!c.g.value(c.in(i)).ranked || !is_single(c, c.in(i))) return false;
  }
  for (int i : {4, 5}) {
    if (!c.g.value(c.in(i)).ranked || (!is_single(c, c.in(i)) && c.rank(c.in(i)) != 1))
      return false;
  }
  for (int i : {1, 4, 6}) {
    if (c.dtype(c.in(i)) != DType::kF32) return false;
  }
  return true;
}

void read_qlinear_matmul(ReadCtx& c) {
  for (int i : {1, 4, 6}) check_scale(c, i);
  ValueId a = c.in(0), b = c.in(3);
  const auto is_byte = [&](int i) {
    return c.dtype(c.in(i)) == DType::kU8 || c.dtype(c.in(i)) == DType::kI8;
  };
  if (are_plain(c) && is_byte(0) && is_byte(3) && is_byte(7)) {
    std::vector<ValueId> in;
    for (int i = 0; i < 8; ++i) in.push_back(i == 0 || i == 3 ? c.in(i) : scalar_of(c, c.in(i)));
    return c.set(0, c.emit(OpId::kQLinearMatMul, in));
  }
  if (is_small_float(c.dtype(a)) || is_small_float(c.dtype(b)) ||
      is_small_float(c.dtype(c.in(7)))) {
    auto real = [&](int first) {
      ValueId v = c.in(first), scale = c.in(first + 1), zero = c.in(first + 2);
      ValueId x = c.emit(OpId::kSub, {cast(c, v, DType::kF32), cast(c, zero, DType::kF32)});
      scale = cast(c, scale, DType::kF32);
      return c.emit(OpId::kMul, {x, first == 0 ? per_row(c, scale, v) : scalar_of(c, scale)});
    };
    ValueId y = c.emit(OpId::kMatMul, {real(0), real(3)});
    return c.set(0, c.emit(OpId::kQuantizeLinear, QuantizeAttrs{},
                           {y, scalar_of(c, c.in(6)), scalar_of(c, c.in(7))}));
  }
  ValueId sum = c.emit(OpId::kMatMulInteger, {a, b, scalar_of(c, c.in(2)), scalar_of(c, c.in(5))});
  // Behind a vector b the rows of a are the result's last dim, and a vector's product is one
  // number.
  const bool vector = c.g.value(b).ranked && c.rank(b) == 1;
  const auto row = [&](int i) { return vector ? scalar_of(c, c.in(i)) : per_row(c, c.in(i), a); };
  ValueId ratio = scale_ratio(c, row(1), scalar_of(c, c.in(4)), row(6));
  ValueId y = requantize(c, sum, ratio, row(7));
  if (vector && c.g.value(a).ranked && c.rank(a) == 1) y = reshape(c, y, {});
  c.set(0, y);
}

void read_qlinear_conv(ReadCtx& c) {
  for (int i : {1, 4, 6}) check_scale(c, i);
  ValueId x = c.in(0), w = c.in(3);
  const ConvAttrs a = conv_attrs(c, &x, w, c.in(2));
  if (are_plain(c)) {
    std::vector<ValueId> in = {x};
    for (int i = 1; i < 8; ++i) in.push_back(i == 3 ? w : scalar_of(c, c.in(i)));
    in.push_back(c.optional(8));
    return c.set(0, c.emit(OpId::kQLinearConv, a, std::move(in)));
  }
  ValueId w_zero = scalar_of(c, c.in(5));
  // Equal zero points become one: ONNX Runtime runs ConvInteger with a single number only.
  if (auto known = c.known(w_zero); known && known->numel() > 0) {
    const std::vector<int64_t> zeros = int_values(*known);
    if (std::count(zeros.begin(), zeros.end(), zeros[0]) == static_cast<int64_t>(zeros.size()))
      w_zero = zeros[0] == 0 ? kNoValue : c.scalar(w_zero, static_cast<double>(zeros[0]));
  }
  std::vector<ValueId> in = {x, w, c.in(2)};
  if (w_zero != kNoValue) in.push_back(w_zero);
  ValueId sum = c.emit(OpId::kConvInteger, a, std::move(in));
  // [M] is aligned with the axis before the spatial dims.
  std::vector<int64_t> spatial;
  for (int i = 1; i < c.rank(c.g.value(x).ranked ? x : w) - 1; ++i) spatial.push_back(i);
  auto per_channel = [&](ValueId v) {
    v = scalar_of(c, v);
    return c.rank(v) == 1 && !spatial.empty() ? unsqueeze(c, v, spatial) : v;
  };
  if (c.has(8)) sum = c.emit(OpId::kAdd, {sum, unsqueeze(c, c.in(8), spatial)});
  ValueId ratio =
      scale_ratio(c, scalar_of(c, c.in(1)), per_channel(c.in(4)), scalar_of(c, c.in(6)));
  c.set(0, requantize(c, sum, ratio, scalar_of(c, c.in(7))));
}

bool is_read(const Graph& g, ValueId v) {
  if (g.is_output(v)) return true;
  for (const Node& n : g.nodes()) {
    if (!n.removed() && std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end())
      return true;
  }
  return false;
}
DType dtype_of(WriteCtx& c, size_t i) { return c.g.value(c.node.inputs[i]).dtype; }
// Returns whether the scale is widened: ONNX Runtime fails on a float16 scale with a float32
// result, and the scale as float32 is the same number.
bool widens_scale(WriteCtx& c, const DequantizeAttrs& a) {
  return a.output_dtype == static_cast<int64_t>(DType::kF32) && dtype_of(c, 1) == DType::kF16;
}
bool is_16_bit_int(DType t) { return t == DType::kI16 || t == DType::kU16; }
// Returns whether the operators' first versions take this scale: they take float32; opset 24 added
// float8_e8m0fnu.
bool first_scales(WriteCtx& c, DType scale) {
  if (scale == DType::kF8E8M0) c.need(24);
  return scale == DType::kF32;
}

}  // namespace

WICK_READ(BitCast, read_bit_cast);
WICK_READ(QuantizeLinear, read_quantize);
WICK_READ(DequantizeLinear, read_dequantize);
WICK_READ(DynamicQuantizeLinear, read_dynamic_quantize);
WICK_READ(MatMulInteger, read_matmul_integer);
WICK_READ(ConvInteger, read_conv_integer);
WICK_READ(QLinearMatMul, read_qlinear_matmul);
WICK_READ(QLinearConv, read_qlinear_conv);

void take_half_scales(Graph& g) {
  std::vector<NodeId> casts;
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& n = g.node(static_cast<NodeId>(i));
    if (n.removed() || n.op != OpId::kDequantizeLinear) continue;
    DequantizeAttrs a = n.attrs.as<DequantizeAttrs>();
    const Value& scale = g.value(n.inputs[1]);
    if (a.output_dtype != 0 || scale.dtype != DType::kF32 || scale.origin != ValueOrigin::kNode)
      continue;
    const Node& cast = g.node(scale.producer);
    if (cast.op != OpId::kCast || g.value(cast.inputs[0]).dtype != DType::kF16) continue;
    casts.push_back(scale.producer);
    a.output_dtype = static_cast<int64_t>(DType::kF32);
    n.inputs[1] = cast.inputs[0];
    n.attrs = NodeAttrs::of(a);
  }
  for (const NodeId id : casts) {
    if (!g.node(id).removed() && !is_read(g, g.node(id).outputs[0])) g.remove_node(id);
  }
}

WICK_ONNX_ROW(BitCast,
              [](WriteCtx& c) { set_int(c.same("BitCast"), "to", c.as<BitCastAttrs>().to); });
WICK_ONNX_ROW(QuantizeLinear, [](WriteCtx& c) {
  const auto& a = c.as<QuantizeAttrs>();
  const DType x = dtype_of(c, 0), scale = dtype_of(c, 1), y = c.g.value(c.node.outputs[0]).dtype;
  if (!first_scales(c, scale) || (x != DType::kF32 && x != DType::kI32)) c.need(19);
  if (a.block_size != 0 || a.output_dtype != 0 || is_16_bit_int(y)) c.need(21);
  // x and the scale have one dtype, except in the first version, where x may be int32 with a float
  // scale.
  if (x != scale && !(x == DType::kI32 && scale == DType::kF32 && c.opset() < 19)) c.need(23);
  if (a.precision != 0) c.need(23);
  NodeProto& n = c.same("QuantizeLinear");
  if (a.axis != 1) set_int(n, "axis", a.axis);
  if (a.saturate == 0) set_int(n, "saturate", 0);
  if (a.block_size != 0) set_int(n, "block_size", a.block_size);
  if (a.output_dtype != 0) set_int(n, "output_dtype", a.output_dtype);
  if (a.precision != 0) set_int(n, "precision", a.precision);
});
WICK_ONNX_ROW(DequantizeLinear, [](WriteCtx& c) {
  const auto& a = c.as<DequantizeAttrs>();
  const bool widens = widens_scale(c, a);
  if (!widens && !first_scales(c, dtype_of(c, 1))) c.need(19);
  if (a.block_size != 0 || is_16_bit_int(dtype_of(c, 0))) c.need(21);
  if (!widens && a.output_dtype != 0) c.need(23);
  NodeProto& n =
      widens ? c.add("DequantizeLinear",
                     {c.in(0), c.cast(c.in(1), DType::kF32), c.has(2) ? c.in(2) : ""}, {c.out(0)})
             : c.same("DequantizeLinear");
  if (a.axis != 1) set_int(n, "axis", a.axis);
  if (a.block_size != 0) set_int(n, "block_size", a.block_size);
  if (!widens && a.output_dtype != 0) set_int(n, "output_dtype", a.output_dtype);
});
WICK_ONNX_PLAIN(MatMulInteger);
WICK_ONNX_ROW(ConvInteger,
              [](WriteCtx& c) { set_conv_attrs(c.same("ConvInteger"), c.as<ConvAttrs>()); });
WICK_ONNX_PLAIN(DynamicQuantizeLinear);
WICK_ONNX_ROW(Dropout, [](WriteCtx& c) {
  if (is_small(dtype_of(c, 0))) c.need(22);
  std::vector<std::string> in, out = {c.out(0)};
  for (size_t i = 0; i < c.node.inputs.size(); ++i) in.push_back(c.in(i));
  if (is_read(c.g, c.node.outputs[1])) out.push_back(c.out(1));
  c.add("Dropout", in, out);
});

}  // namespace wick::onnx
