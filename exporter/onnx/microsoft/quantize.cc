// The quantized operators of com.microsoft. Where their scales allow it (is_plain()), some are byte
// ops of their own; else element-wise ones, pools and softmax become float arithmetic on
// dequantized values, and products are of integers.
#include "exporter/onnx/families/quantize.h"

#include "exporter/onnx/families/conv.h"
#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {
namespace {

// Dequantizes input i by the scale and zero point (none: 0) that follow it.
ValueId real(ReadCtx& c, int i) {
  ValueId zero = c.has(i + 2) ? scalar_of(c, c.in(i + 2)) : kNoValue;
  return c.emit(OpId::kDequantizeLinear, DequantizeAttrs{},
                {c.in(i), scalar_of(c, c.in(i + 1)), zero});
}
// Quantizes y by the scale and zero point (none: 0 of the first input's dtype) at inputs i and i +
// 1.
ValueId quantized(ReadCtx& c, ValueId y, int i, DType dtype) {
  ValueId zero = c.has(i + 1) ? scalar_of(c, c.in(i + 1)) : c.constant(HostTensor(dtype, Shape{}));
  return c.emit(OpId::kQuantizeLinear, QuantizeAttrs{}, {y, scalar_of(c, c.in(i)), zero});
}

// Returns whether input i, a scale or zero point, is one number, as the byte operators take it.
bool is_one(ReadCtx& c, int i, bool there = true) {
  if (!c.has(i)) return !there;
  return ranked(c, c.in(i)) && c.rank(scalar_of(c, c.in(i))) == 0;
}
bool is_plain(ReadCtx& c, int i) {
  check_scale(c, i + 1);
  const DType t = c.dtype(c.in(i));
  return (t == DType::kI8 || t == DType::kU8) && is_one(c, i + 1) && is_one(c, i + 2, false) &&
         c.dtype(c.in(i + 1)) == DType::kF32 && (!c.has(i + 2) || c.dtype(c.in(i + 2)) == t);
}
// Returns the same of the output's scale and zero point, at i and i + 1.
bool is_plain_output(ReadCtx& c, int i) {
  check_scale(c, i);
  const DType t = c.has(i + 1) ? c.dtype(c.in(i + 1)) : c.dtype(c.in(0));
  return (t == DType::kI8 || t == DType::kU8) && is_one(c, i) && is_one(c, i + 1, false) &&
         c.dtype(c.in(i)) == DType::kF32;
}
void put_type(ReadCtx& c, int i, DType dtype, std::vector<ValueId>* in) {
  in->push_back(scalar_of(c, c.in(i)));
  in->push_back(c.has(i + 1) ? scalar_of(c, c.in(i + 1)) : c.constant(HostTensor(dtype, Shape{})));
}
void put_bytes(ReadCtx& c, int i, std::vector<ValueId>* in) {
  in->push_back(c.in(i));
  put_type(c, i + 1, c.dtype(c.in(i)), in);
}
// Returns x with its scale and zero point, then those of the output.
std::vector<ValueId> unary_inputs(ReadCtx& c, ValueId x) {
  std::vector<ValueId> in;
  put_bytes(c, 0, &in);
  in[0] = x;
  put_type(c, 3, c.dtype(x), &in);
  return in;
}
bool read_binary(ReadCtx& c, OpId op) {
  if (!is_plain(c, 0) || !is_plain(c, 3) || !is_plain_output(c, 6)) return false;
  std::vector<ValueId> in;
  put_bytes(c, 0, &in), put_bytes(c, 3, &in), put_type(c, 6, c.dtype(c.in(0)), &in);
  c.set(0, c.emit(op, std::move(in)));
  return true;
}

// Quantizes likewise where the zero point is added before rounding, which decides ties: y includes
// it.
ValueId saturated(ReadCtx& c, ValueId y, DType to) {
  if (to != DType::kI8 && to != DType::kU8) c.fail("needs int8 or uint8 tensors");
  const double low = to == DType::kI8 ? -128 : 0, high = to == DType::kI8 ? 127 : 255;
  y = c.emit(OpId::kClip, ClipAttrs{},
             {c.emit(OpId::kRound, {y}), c.scalar(y, low), c.scalar(y, high)});
  return cast(c, y, to);
}
ValueId number(ReadCtx& c, int i) { return cast(c, scalar_of(c, c.in(i)), DType::kF32); }
// Returns input i minus its zero point, which follows its scale (none: 0).
ValueId centered(ReadCtx& c, int i) {
  ValueId v = cast(c, c.in(i), DType::kF32);
  return c.has(i + 2) ? minus(c, v, number(c, i + 2)) : v;
}
ValueId plus_zero(ReadCtx& c, ValueId y, int i) { return c.has(i) ? plus(c, y, number(c, i)) : y; }

void add(ReadCtx& c) {
  if (read_binary(c, OpId::kQLinearAdd)) return;
  const auto part = [&](int i) {
    return times(c, centered(c, i), over(c, number(c, i + 1), number(c, 6)));
  };
  c.set(0, saturated(c, plus_zero(c, plus(c, part(0), part(3)), 7), c.dtype(c.in(0))));
}
void multiply(ReadCtx& c) {
  if (read_binary(c, OpId::kQLinearMul)) return;
  ValueId scale = over(c, times(c, number(c, 1), number(c, 4)), number(c, 6));
  ValueId y = times(c, times(c, centered(c, 0), centered(c, 3)), scale);
  c.set(0, saturated(c, plus_zero(c, y, 7), c.dtype(c.in(0))));
}
// Quantizes the output of an operator of one input, after whose scale and zero point come the
// output's.
void set_unary(ReadCtx& c, ValueId y) { c.set(0, quantized(c, y, 3, c.dtype(c.in(0)))); }

void sigmoid(ReadCtx& c) { set_unary(c, c.emit(OpId::kSigmoid, {real(c, 0)})); }
void leaky_relu(ReadCtx& c) {
  set_unary(c, activate(c, real(c, 0), "LeakyRelu", {c.attr_float("alpha", 0.01f)}));
}
void softmax(ReadCtx& c) {
  const int64_t opset = c.attr_int("opset", 13);
  if (opset < 1) c.fail("opset must be 1 or more");
  const int64_t axis = c.attr_int("axis", -1);
  const bool last = axis == -1 || (ranked(c, c.in(0)) && axis == c.rank(c.in(0)) - 1);
  if (last && is_plain(c, 0) && is_plain_output(c, 3))
    return c.set(0, c.emit(OpId::kQLinearSoftmax, unary_inputs(c, c.in(0))));
  set_unary(c, Standard(c, "Softmax", opset).set("axis", c.attr_int("axis", -1)).one({real(c, 0)}));
}
void reduce_mean(ReadCtx& c) {
  const bool keep = c.attr_int("keepdims", 1) != 0;
  ValueId x = real(c, 0);
  std::vector<int64_t> axes = c.attr_ints("axes");
  if (axes.empty()) {
    for (int i = 0; i < c.rank(x); ++i) axes.push_back(i);
  }
  set_unary(c, reduce(c, OpId::kReduceMean, x, axes, keep));
}
void average_pool(ReadCtx& c) {
  const bool last = c.attr_int("channels_last", 0) != 0;
  if (is_plain(c, 0) && is_plain_output(c, 3) && (!last || ranked(c, c.in(0)))) {
    const ValueId bytes = last ? channels_first(c, c.in(0)) : c.in(0);
    if (const auto attrs = known_average_attrs(c, bytes)) {
      const ValueId y = c.emit(OpId::kQLinearAveragePool, *attrs, unary_inputs(c, bytes));
      return c.set(0, last ? channels_last(c, y) : y);
    }
  }
  ValueId x = real(c, 0);
  ValueId y =
      Standard(c, "AveragePool", 11)
          .keep({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"})
          .one({last ? channels_first(c, x) : x});
  y = plus_zero(c, over(c, last ? channels_last(c, y) : y, number(c, 3)), 4);
  c.set(0, saturated(c, y, c.dtype(c.in(0))));
}
void global_average_pool(ReadCtx& c) {
  const bool last = c.attr_int("channels_last", 0) != 0;
  ValueId x = c.in(0);
  const int rank = c.rank(x), first = last ? 1 : 2;
  if (rank < 3) c.fail("X must have rank 3 or more, got " + shape_text(shape(c, x)));
  if (is_plain(c, 0) && is_plain_output(c, 3)) {
    const ValueId y =
        c.emit(OpId::kQLinearGlobalAveragePool, unary_inputs(c, last ? channels_first(c, x) : x));
    return c.set(0, last ? channels_last(c, y) : y);
  }
  std::vector<int64_t> axes;
  for (int i = first; i < first + rank - 2; ++i) axes.push_back(i);
  // Whole numbers are summed, so that only the scale and the product are rounded.
  ValueId sum = reduce(c, OpId::kReduceSum, centered(c, 0), axes, true);
  ValueId count = reduce(c, OpId::kReduceProd, dims(c, x, first, first + rank - 2), {0}, false);
  ValueId scale = over(c, number(c, 1), times(c, number(c, 3), cast(c, count, DType::kF32)));
  ValueId y = c.emit(OpId::kRound, {times(c, sum, scale)});
  c.set(0, saturated(c, plus_zero(c, y, 4), c.dtype(x)));
}

void where(ReadCtx& c) {
  ValueId y = c.emit(OpId::kWhere, {c.in(0), real(c, 1), real(c, 4)});
  c.set(0, quantized(c, y, 7, c.dtype(c.in(1))));
}
void concatenate(ReadCtx& c) {
  if (c.inputs() < 5 || c.inputs() % 3 != 2)
    c.fail("needs Y's scale and zero point, then three inputs for each tensor");
  if (c.attr("axis") == nullptr) c.fail("attribute 'axis' is required");
  std::vector<ValueId> parts;
  for (int i = 2; i < c.inputs(); i += 3) parts.push_back(real(c, i));
  c.set(0, quantized(c, concat(c, parts, c.attr_int("axis", 0)), 0, c.dtype(c.in(2))));
}

void conv(ReadCtx& c) {
  const bool last = c.attr_int("channels_last", 0) != 0;
  std::vector<ValueId> in;
  for (int i = 0; i < 9; ++i) in.push_back(c.optional(i));
  if (last) in[0] = channels_first(c, c.in(0));
  ValueId y = Standard(c, "QLinearConv", 10)
                  .keep({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
                  .one(in);
  c.set(0, last ? channels_last(c, y) : y);
}

// Returns scales or zero points of B: one, or one per column.
ValueId columns(ReadCtx& c, int i) { return c.has(i) ? scalar_of(c, c.in(i)) : kNoValue; }

// Returns (sum of a b) scale + bias as reals.
ValueId product(ReadCtx& c, ValueId sum, ValueId a_scale, ValueId b_scale, ValueId bias) {
  ValueId scale = times(c, floats_of(c, a_scale), floats_of(c, b_scale));
  ValueId y = times(c, cast(c, sum, DType::kF32), scale);
  return bias == kNoValue ? y : plus(c, y, floats_of(c, bias));
}
void matmul_to_float(ReadCtx& c) {
  ValueId sum = c.emit(OpId::kMatMulInteger, {c.in(0), c.in(1), columns(c, 4), columns(c, 5)});
  ValueId y = product(c, sum, scalar_of(c, c.in(2)), scalar_of(c, c.in(3)), c.optional(6));
  c.set(0, cast(c, y, c.dtype(c.in(2))));
}
void dynamic_matmul(ReadCtx& c) {
  const DynamicQuantized a = dynamic_quantize(c, c.in(0));
  ValueId sum = c.emit(OpId::kMatMulInteger, {a.y, c.in(1), a.zero, columns(c, 3)});
  c.set(0, product(c, sum, a.scale, scalar_of(c, c.in(2)), c.optional(4)));
}

// Returns whether QGemm can take the inputs: B's scales and zero points are one, or one per column.
bool is_gemm(ReadCtx& c) {
  for (int i : {1, 4, 7}) check_scale(c, i);
  const auto vector = [&](int i) {
    return c.has(i) && ranked(c, c.in(i)) && (is_one(c, i) || c.rank(c.in(i)) == 1);
  };
  const auto byte = [&](int i) {
    return c.dtype(c.in(i)) == DType::kI8 || c.dtype(c.in(i)) == DType::kU8;
  };
  const bool bias =
      !c.has(6) ||
      (c.dtype(c.in(6)) == DType::kI32 && ranked(c, c.in(6)) && c.rank(c.in(6)) == 1 &&
       ranked(c, c.in(3)) &&
       dim_equal(c.g.value(c.in(6)).shape[0],
                 c.g.value(c.in(3)).shape[c.attr_int("transB", 0) != 0 ? 0 : 1]) == Tri::kYes);
  const bool output = !c.has(7) || (c.has(8) && is_plain_output(c, 7));
  return is_plain(c, 0) && byte(3) && vector(4) && (!c.has(5) || vector(5)) && bias && output &&
         c.dtype(c.in(4)) == DType::kF32 && c.attr_float("alpha", 1) == 1;
}

void gemm(ReadCtx& c) {
  const auto matrix = [&](int i, const char* flag, const char* what) {
    ValueId v = ranked_input(c, i, 2, what);
    return c.attr_int(flag, 0) != 0 ? transpose(c, v, {1, 0}) : v;
  };
  if (ranked(c, c.in(0)) && c.rank(c.in(0)) == 2 && ranked(c, c.in(3)) && c.rank(c.in(3)) == 2 &&
      is_gemm(c)) {
    std::vector<ValueId> in;
    put_bytes(c, 0, &in), put_bytes(c, 3, &in);
    in[0] = matrix(0, "transA", "A");
    if (c.attr_int("transB", 0) == 0) in[3] = transpose(c, in[3], {1, 0});
    if (c.has(6) || c.has(7)) in.push_back(c.optional(6));
    if (c.has(7)) put_type(c, 7, c.dtype(c.in(0)), &in);
    return c.set(0, c.emit(OpId::kQGemm, std::move(in)));
  }
  ValueId sum = c.emit(OpId::kMatMulInteger, {matrix(0, "transA", "A"), matrix(3, "transB", "B"),
                                              scalar_of(c, c.in(2)), columns(c, 5)});
  sum = plus_if(c, sum, c.optional(6));
  ValueId a = scalar_of(c, c.in(1)), b = scalar_of(c, c.in(4));
  const double alpha = c.attr_float("alpha", 1);
  if (alpha != 1) a = times(c, a, c.scalar(a, alpha));
  if (!c.has(7)) return c.set(0, product(c, sum, a, b, kNoValue));
  if (!c.has(8)) c.fail("y_scale and y_zero_point go together");
  c.set(0, requantize(c, sum, scale_ratio(c, a, b, scalar_of(c, c.in(7))), scalar_of(c, c.in(8))));
}

void quantize(ReadCtx& c) {
  c.set(0, Standard(c, "QuantizeLinear", 21).keep({"axis"}).one({c.in(0), c.in(1), c.optional(2)}));
}
void dequantize(ReadCtx& c) {
  c.set(0,
        Standard(c, "DequantizeLinear", 21).keep({"axis"}).one({c.in(0), c.in(1), c.optional(2)}));
}

// Sums and products are in 32 bits.
void matmul_16(ReadCtx& c) {
  const bool both = c.dtype(c.in(0)) == DType::kU16 && c.dtype(c.in(1)) == DType::kU16;
  const DType to = both ? DType::kU32 : DType::kI32;
  c.set(0, matmul(c, cast(c, c.in(0), to), cast(c, c.in(1), to)));
}
void mul_integer(ReadCtx& c) {
  const auto whole = [&](int i) {
    ValueId v = cast(c, c.in(i), DType::kI32);
    return c.has(i + 1) ? minus(c, v, cast(c, scalar_of(c, c.in(i + 1)), DType::kI32)) : v;
  };
  c.set(0, times(c, whole(0), whole(2)));
}
void reduce_sum_integer(ReadCtx& c) {
  const DType to = c.dtype(c.in(0)) == DType::kU8 ? DType::kU32 : DType::kI32;
  ValueId x = cast(c, c.in(0), to);
  std::vector<int64_t> axes = c.attr_ints("axes");
  if (axes.empty()) {
    for (int i = 0; i < c.rank(x); ++i) axes.push_back(i);
  }
  c.set(0, reduce(c, OpId::kReduceSum, x, axes, c.attr_int("keepdims", 1) != 0));
}

}  // namespace

WICK_READ_MS(QuantizeLinear, quantize);
WICK_READ_MS(DequantizeLinear, dequantize);
WICK_READ_MS(QLinearAdd, add);
WICK_READ_MS(QLinearMul, multiply);
WICK_READ_MS(QLinearSigmoid, sigmoid);
WICK_READ_MS(QLinearLeakyRelu, leaky_relu);
WICK_READ_MS(QLinearSoftmax, softmax);
WICK_READ_MS(QLinearReduceMean, reduce_mean);
WICK_READ_MS(QLinearAveragePool, average_pool);
WICK_READ_MS(QLinearGlobalAveragePool, global_average_pool);
WICK_READ_MS(QLinearWhere, where);
WICK_READ_MS(QLinearConcat, concatenate);
WICK_READ_MS(QLinearConv, conv);
WICK_READ_MS(QGemm, gemm);
WICK_READ_MS(MatMulIntegerToFloat, matmul_to_float);
WICK_READ_MS(DynamicQuantizeMatMul, dynamic_matmul);
WICK_READ_MS(MatMulInteger16, matmul_16);
WICK_READ_MS(MulInteger, mul_integer);
WICK_READ_MS(ReduceSumInteger, reduce_sum_integer);

}  // namespace wick::onnx
