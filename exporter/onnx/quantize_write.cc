// The operators of bytes in a file: each as the operator it is (com.microsoft's where ONNX has
// none), or as the float operator between DequantizeLinear and QuantizeLinear.
#include <algorithm>

#include "exporter/onnx/conv.h"
#include "exporter/onnx/write.h"

namespace wick::onnx {
namespace {

using Names = std::vector<std::string>;

const Value& value(WriteCtx& c, size_t i) { return c.g.value(c.node.inputs[i]); }
DType dtype(WriteCtx& c, size_t i) { return value(c, i).dtype; }
bool constant(WriteCtx& c, size_t i) { return c.g.is_constant(c.node.inputs[i]); }
bool single(WriteCtx& c, size_t i) {
  const Value& v = value(c, i);
  if (!v.ranked) return false;
  return std::all_of(v.shape.begin(), v.shape.end(),
                     [](const SymDim& d) { return dim_equal(d, SymDim(1)) == Tri::kYes; });
}
bool in_qdq(WriteCtx& c) { return c.quantized() == QuantizedForm::kQdq; }

// The zero point behind the scale at input i, of that one's shape.
std::string zero_of_scale(WriteCtx& c, size_t i) {
  if (single(c, i) || !single(c, i + 1)) return c.in(i + 1);
  if (constant(c, i + 1) && constant(c, i)) {
    const HostTensor& zero = value(c, i + 1).constant;
    HostTensor all(zero.dtype(), value(c, i).constant.shape());
    std::fill_n(all.as<uint8_t>(), all.numel(), zero.as<uint8_t>()[0]);
    return c.tensor(all);
  }
  const std::string shape = c.fresh(), all = c.fresh();
  c.add("Shape", {c.in(i)}, {shape});
  c.add("Expand", {c.in(i + 1), shape}, {all});
  return all;
}

// Input i (bytes named otherwise: `bytes`), whose scale and zero point follow, as reals.
std::string reals(WriteCtx& c, size_t i, int64_t axis = 0, const std::string& bytes = "") {
  const std::string y = c.fresh();
  NodeProto& n =
      c.add("DequantizeLinear",
            {bytes.empty() ? c.in(i) : bytes, c.in(i + 1), zero_of_scale(c, i + 1)}, {y});
  if (!single(c, i + 1) && axis != 1) set_int(n, "axis", axis);
  return y;
}
// The node's output, by the scale at input i.
void quantize(WriteCtx& c, const std::string& from, size_t i) {
  c.add("QuantizeLinear", {from, c.in(i), c.in(i + 1)}, {c.out(0)});
}
// An int32 bias in units of the product of two scales.
std::string real_bias(WriteCtx& c, size_t bias, size_t x_scale, size_t w_scale) {
  std::string unit;
  if (constant(c, x_scale) && constant(c, w_scale)) {
    const HostTensor &x = value(c, x_scale).constant, &w = value(c, w_scale).constant;
    HostTensor product(DType::kF32, w.shape());
    for (int64_t i = 0; i < w.numel(); ++i)
      product.as<float>()[i] = x.as<float>()[0] * w.as<float>()[i];
    unit = c.tensor(product);
  } else {
    unit = c.fresh();
    c.add("Mul", {c.in(x_scale), c.in(w_scale)}, {unit});
  }
  const std::string y = c.fresh();
  NodeProto& n = c.add("DequantizeLinear", {c.in(bias), unit}, {y});
  if (!single(c, w_scale)) set_int(n, "axis", 0);
  return y;
}

// The same number as a byte of the other dtype, whose zero point is 128 away.
std::string other_byte(WriteCtx& c, const std::string& from, DType dtype,
                       const std::string& to = "") {
  const std::string wide = c.cast(from, DType::kI32), moved = c.fresh();
  c.add("Add", {wide, c.scalar(DType::kI32, dtype == DType::kI8 ? 128 : -128)}, {moved});
  const std::string y = to.empty() ? c.fresh() : to;
  set_int(c.add("Cast", {moved}, {y}), "to",
          static_cast<int64_t>(dtype == DType::kI8 ? DType::kU8 : DType::kI8));
  return y;
}
// Input i as a byte of `to`.
std::string as_byte(WriteCtx& c, size_t i, DType from, DType to) {
  return from == to ? c.in(i) : other_byte(c, c.in(i), from);
}
// An operator of com.microsoft whose tensors have one dtype, that of input 0. `y`: where the
// output's scale stands.
NodeProto& of_one_dtype(WriteCtx& c, const char* op, Names in, size_t y) {
  const DType t = dtype(c, 0), to = dtype(c, y + 1);
  in.push_back(c.in(y));
  in.push_back(as_byte(c, y + 1, to, t));
  const std::string out = to == t ? c.out(0) : c.fresh();
  NodeProto& n = c.add_microsoft(op, in, {out});  // which stays where it is
  if (to != t) other_byte(c, out, t, c.out(0));
  return n;
}

void write_conv(WriteCtx& c) {
  const auto& a = c.as<ConvAttrs>();
  if (!in_qdq(c)) return set_conv_attrs(c.same("QLinearConv"), a);
  Names in = {reals(c, 0), reals(c, 3)};
  if (c.has(8)) in.push_back(real_bias(c, 8, 1, 4));
  const std::string y = c.fresh();
  set_conv_attrs(c.add("Conv", in, {y}), a);
  quantize(c, y, 6);
}

void write_matmul(WriteCtx& c) {
  if (!in_qdq(c)) {
    c.same("QLinearMatMul");
    return;
  }
  const std::string y = c.fresh();
  c.add("MatMul", {reals(c, 0), reals(c, 3, c.rank(3) - 1)}, {y});
  quantize(c, y, 6);
}

// [N, K] as MatMul has it.
std::string columns(WriteCtx& c, size_t i) {
  if (constant(c, i)) {
    const HostTensor& w = value(c, i).constant;
    const int64_t n = w.shape()[0], k = w.shape()[1];
    HostTensor t(w.dtype(), Shape{k, n});
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t l = 0; l < k; ++l) t.as<uint8_t>()[l * n + row] = w.as<uint8_t>()[row * k + l];
    }
    return c.tensor(t);
  }
  const std::string y = c.fresh();
  const int64_t perm[] = {1, 0};
  set_ints(c.add("Transpose", {c.in(i)}, {y}), "perm", perm);
  return y;
}

void write_gemm_qdq(WriteCtx& c) {
  const bool bytes = c.has(7);
  std::string y = bytes ? c.fresh() : c.out(0);
  if (c.rank(0) == 2) {
    Names in = {reals(c, 0), reals(c, 3)};
    if (c.has(6)) in.push_back(real_bias(c, 6, 1, 4));
    set_int(c.add("Gemm", in, {y}), "transB", 1);
  } else {
    const std::string a = reals(c, 0), b = reals(c, 3, 1, columns(c, 3));
    const std::string product = c.has(6) ? c.fresh() : y;
    c.add("MatMul", {a, b}, {product});
    if (c.has(6)) c.add("Add", {product, real_bias(c, 6, 1, 4)}, {y});
  }
  if (bytes) quantize(c, y, 7);
}

void write_gemm(WriteCtx& c) {
  if (in_qdq(c)) return write_gemm_qdq(c);
  const bool matrix = c.rank(0) == 2;
  std::string a = c.in(0), y = c.out(0);
  if (!matrix) {
    a = c.fresh(), y = c.fresh();
    set_int(c.add("Flatten", {c.in(0)}, {a}), "axis", c.rank(0) - 1);
  }
  Names in = {a, c.in(1), c.in(2), c.in(3), c.in(4), zero_of_scale(c, 4), c.in(6)};
  if (c.has(7)) in.insert(in.end(), {c.in(7), c.in(8)});
  set_int(c.add_microsoft("QGemm", in, {y}), "transB", 1);
  if (matrix) return;
  const std::string lead = c.fresh(), last = c.fresh(), shape = c.fresh();
  set_int(c.add("Shape", {c.in(0)}, {lead}), "end", -1);
  set_int(c.add("Shape", {c.in(3)}, {last}), "end", 1);
  set_int(c.add("Concat", {lead, last}, {shape}), "axis", 0);
  c.add("Reshape", {y, shape}, {c.out(0)});
}

void write_binary(WriteCtx& c, const char* op, const char* plain) {
  if (in_qdq(c)) {
    const std::string y = c.fresh();
    c.add(plain, {reals(c, 0), reals(c, 3)}, {y});
    return quantize(c, y, 6);
  }
  const DType t = dtype(c, 0), b = dtype(c, 3);
  of_one_dtype(c, op,
               {c.in(0), c.in(1), c.in(2), as_byte(c, 3, b, t), c.in(4), as_byte(c, 5, b, t)}, 6);
}

void write_pool(WriteCtx& c) {
  const auto& a = c.as<PoolAttrs>();
  const Span<const int64_t> d = a.dilations.span();
  const bool dilated = std::any_of(d.begin(), d.end(), [](int64_t step) { return step != 1; });
  const auto set = [&](NodeProto& n) {
    set_ints(n, "kernel_shape", a.kernel_shape.span());
    if (!a.strides.empty()) set_ints(n, "strides", a.strides.span());
    if (!a.pads.empty()) set_ints(n, "pads", a.pads.span());
    if (a.ceil_mode != 0) set_int(n, "ceil_mode", 1);
    if (a.count_include_pad != 0) set_int(n, "count_include_pad", 1);
  };
  if (!in_qdq(c) && !dilated)
    return set(of_one_dtype(c, "QLinearAveragePool", {c.in(0), c.in(1), c.in(2)}, 3));
  if (!in_qdq(c)) c.fail("com.microsoft's QLinearAveragePool has no dilations: write QDQ");
  if (dilated) c.need(19);
  const std::string y = c.fresh();
  NodeProto& n = c.add("AveragePool", {reals(c, 0)}, {y});
  set(n);
  if (dilated) set_ints(n, "dilations", d);
  quantize(c, y, 3);
}

void write_global_pool(WriteCtx& c) {
  if (!in_qdq(c)) {
    set_int(of_one_dtype(c, "QLinearGlobalAveragePool", {c.in(0), c.in(1), c.in(2)}, 3),
            "channels_last", 0);
    return;
  }
  const std::string y = c.fresh();
  c.add("GlobalAveragePool", {reals(c, 0)}, {y});
  quantize(c, y, 3);
}

void write_softmax(WriteCtx& c) {
  if (!in_qdq(c)) {
    NodeProto& n = of_one_dtype(c, "QLinearSoftmax", {c.in(0), c.in(1), c.in(2)}, 3);
    set_int(n, "axis", -1);
    set_int(n, "opset", 13);
    return;
  }
  const std::string y = c.fresh();
  set_int(c.add("Softmax", {reals(c, 0)}, {y}), "axis", -1);
  quantize(c, y, 3);
}

// ONNX has no tables: an element of one by its index. An int8 below 0 counts from the end.
void write_table(WriteCtx& c) {
  std::string table = c.in(1), index = c.cast(c.in(0), DType::kI32);
  if (dtype(c, 0) == DType::kI8 && constant(c, 1)) {
    const HostTensor& t = value(c, 1).constant;
    HostTensor turned(t.dtype(), t.shape());
    const auto half = t.nbytes() / 2;
    const char* from = static_cast<const char*>(t.data());
    std::copy_n(from + half, half, static_cast<char*>(turned.data()));
    std::copy_n(from, half, static_cast<char*>(turned.data()) + half);
    table = c.tensor(turned);
  } else if (dtype(c, 0) == DType::kI8) {
    const std::string moved = c.fresh();
    c.add("Add", {index, c.scalar(DType::kI32, 128)}, {moved});
    index = moved;
  }
  c.add("Gather", {table, index}, {c.out(0)});
}

// What DynamicQuantizeLinear does with a whole tensor, row by row; the zero point of a row leaves
// the sum by the sums of the weight's rows, since MatMulInteger takes one zero point.
void write_dynamic(WriteCtx& c) {
  const auto op = [&](const char* name, const Names& in) {
    const std::string y = c.fresh();
    c.add(name, in, {y});
    return y;
  };
  const auto reduced = [&](const char* name) {
    const std::string y = c.fresh();
    const int64_t last[] = {-1};
    set_ints(c.add(name, {c.in(0)}, {y}), "axes", last);
    return y;
  };
  c.need(17);
  const std::string none = c.scalar(DType::kF32, 0), steps = c.scalar(DType::kF32, 255);
  std::string low, high;
  if (c.opset() < 18) {
    low = reduced("ReduceMin"), high = reduced("ReduceMax");
  } else {
    const int64_t last[] = {-1};
    const std::string axes = c.ints(last);
    low = op("ReduceMin", {c.in(0), axes}), high = op("ReduceMax", {c.in(0), axes});
  }
  low = op("Min", {low, none}), high = op("Max", {high, none});
  const std::string range = op("Div", {op("Sub", {high, low}), steps});
  const std::string some = op("Greater", {range, none});
  const std::string scale = op("Where", {some, range, c.scalar(DType::kF32, 1)});
  const std::string at = op("Round", {op("Min", {op("Div", {op("Neg", {low}), scale}), steps})});
  const std::string zero = op("Where", {some, at, none});
  const std::string q =
      op("Clip", {op("Add", {op("Round", {op("Div", {c.in(0), scale})}), zero}), none, steps});
  const std::string sum = op("MatMulInteger", {c.cast(q, DType::kU8), columns(c, 1)});
  const int64_t each[] = {1};
  const std::string rows = c.fresh();
  set_int(c.add("ReduceSum", {c.cast(c.in(1), DType::kI32), c.ints(each)}, {rows}), "keepdims", 0);
  const std::string whole = op("Sub", {sum, op("Mul", {c.cast(zero, DType::kI32), rows})});
  const std::string unit = op("Mul", {scale, c.in(2)});
  const std::string y = c.has(3) ? c.fresh() : c.out(0);
  c.add("Mul", {c.cast(whole, DType::kF32), unit}, {y});
  if (c.has(3)) c.add("Add", {y, c.in(3)}, {c.out(0)});
}

}  // namespace

WICK_ONNX_ROW(QLinearConv, write_conv);
WICK_ONNX_ROW(QLinearMatMul, write_matmul);
WICK_ONNX_ROW(QGemm, write_gemm);
WICK_ONNX_ROW(QLinearAdd, [](WriteCtx& c) { write_binary(c, "QLinearAdd", "Add"); });
WICK_ONNX_ROW(QLinearMul, [](WriteCtx& c) { write_binary(c, "QLinearMul", "Mul"); });
WICK_ONNX_ROW(QLinearAveragePool, write_pool);
WICK_ONNX_ROW(QLinearGlobalAveragePool, write_global_pool);
WICK_ONNX_ROW(QLinearSoftmax, write_softmax);
WICK_ONNX_ROW(ByteTable, write_table);
WICK_ONNX_ROW(DynamicLinear, write_dynamic);

}  // namespace wick::onnx
