// Writes the byte operators: each as the operator it is (com.microsoft's where ONNX has none), or
// as the float operator between DequantizeLinear and QuantizeLinear.
#include "exporter/onnx/write/quantize_write.h"

#include <algorithm>
#include <numeric>

#include "exporter/onnx/families/conv.h"
#include "exporter/onnx/write/write.h"
#include "graph/ir/byte_ops.h"

namespace wick::onnx {
namespace {

using Names = std::vector<std::string>;

const Value& value(WriteCtx& c, size_t i) { return c.g.value(c.node.inputs[i]); }
DType dtype(WriteCtx& c, size_t i) { return value(c, i).dtype; }
bool constant(WriteCtx& c, size_t i) { return c.g.is_constant(c.node.inputs[i]); }
bool single(const Value& v) {
  if (!v.ranked) return false;
  return std::all_of(v.shape.begin(), v.shape.end(),
                     [](const SymDim& d) { return dim_equal(d, SymDim(1)) == Tri::kYes; });
}
bool single(WriteCtx& c, size_t i) { return single(value(c, i)); }

// Returns the dtype that input i must have for ONNX Runtime, which has the operators for uint8 with
// either byte dtype and for int8 with int8, with a result like input 0.
DType wanted_dtype(const Graph& g, const Node& node, size_t i) {
  const DType own = g.value(node.inputs[i]).dtype, first = g.value(node.inputs[0]).dtype;
  const OpKind kind = kind_of(node.op);
  const char role = input_role(node.op, i);
  const bool other = role == 'w' || role == 'x' || role == 'z';  // not a scale or a bias
  if (i < 3 || !other || !ir::is_byte_op(node.op) || node.op == OpId::kDynamicLinear) return own;
  const bool of_result = role == 'z' && i > 5;
  if (kind == OpKind::kByteMath || of_result) return first;
  return first == DType::kI8 ? first : own;  // of the weight
}
// Returns whether com.microsoft's operator takes a scalar where a file may have [1].
bool wants_scalar(const Graph& g, const Node& node, size_t i) {
  const Value& v = g.value(node.inputs[i]);
  if (!single(v) || v.shape.rank() == 0) return false;
  const char role = input_role(node.op, i);
  const bool of_microsoft = kind_of(node.op) == OpKind::kByteMath || node.op == OpId::kQGemm;
  return of_microsoft && (role == 's' || role == 'z');
}
bool in_qdq(WriteCtx& c) { return c.quantized() == QuantizedForm::kQdq; }

uint8_t turned(uint8_t byte) { return byte ^ 0x80; }  // the same number in the other dtype

// Returns the same number as a byte of the other dtype, whose zero point is 128 away.
std::string other_byte(WriteCtx& c, const std::string& from, DType dtype,
                       const std::string& to = "") {
  const std::string wide = c.cast(from, DType::kI32), moved = c.fresh();
  c.add("Add", {wide, c.scalar(DType::kI32, dtype == DType::kI8 ? 128 : -128)}, {moved});
  std::string y = to.empty() ? c.fresh() : to;
  set_int(c.add("Cast", {moved}, {y}), "to",
          static_cast<int64_t>(dtype == DType::kI8 ? DType::kU8 : DType::kI8));
  return y;
}

// Returns input i of a byte operator as the ONNX operator takes it.
std::string given(WriteCtx& c, size_t i) {
  const DType own = dtype(c, i), to = wanted_dtype(c.g, c.node, i);
  const bool scalar = wants_scalar(c.g, c.node, i);
  if (own == to && !scalar) return c.in(i);
  if (constant(c, i)) {
    const HostTensor& from = value(c, i).constant;
    HostTensor t(to, scalar ? Shape{} : from.shape(), from.data(), from.nbytes());
    if (own != to)
      std::transform(t.as<uint8_t>(), t.as<uint8_t>() + t.numel(), t.as<uint8_t>(), turned);
    return c.tensor(t);
  }
  std::string y = c.in(i);
  if (scalar) {
    y = c.fresh();
    c.add("Reshape", {c.in(i), c.ints({})}, {y});
  }
  return own == to ? y : other_byte(c, y, own);
}

// Returns the zero point that follows the scale at input i, in the scale's shape. If `as_given`, it
// is as given() returns it.
std::string zero_of_scale(WriteCtx& c, size_t i, bool as_given = false) {
  const std::string one = as_given ? "" : c.in(i + 1);
  if (single(c, i) || !single(c, i + 1)) return as_given ? given(c, i + 1) : one;
  if (constant(c, i + 1) && constant(c, i)) {
    const HostTensor& zero = value(c, i + 1).constant;
    const DType to = as_given ? wanted_dtype(c.g, c.node, i + 1) : zero.dtype();
    const uint8_t byte = zero.as<uint8_t>()[0];
    HostTensor all(to, value(c, i).constant.shape());
    std::fill_n(all.as<uint8_t>(), all.numel(), to == zero.dtype() ? byte : turned(byte));
    return c.tensor(all);
  }
  const std::string shape = c.fresh();
  std::string all = c.fresh();
  c.add("Shape", {c.in(i)}, {shape});
  c.add("Expand", {as_given ? given(c, i + 1) : one, shape}, {all});
  return all;
}

// Returns the scale at input i in the shape of the zero point that follows it: many zero points
// need many scales.
std::string scale_of_zero(WriteCtx& c, size_t i) {
  if (!single(c, i) || single(c, i + 1)) return c.in(i);
  if (constant(c, i) && constant(c, i + 1)) {
    HostTensor all(DType::kF32, value(c, i + 1).constant.shape());
    std::fill_n(all.as<float>(), all.numel(), value(c, i).constant.as<float>()[0]);
    return c.tensor(all);
  }
  const std::string shape = c.fresh();
  std::string all = c.fresh();
  c.add("Shape", {c.in(i + 1)}, {shape});
  c.add("Expand", {c.in(i), shape}, {all});
  return all;
}

// Dequantizes input i (or `bytes` in its place) by the scale and zero point that follow it.
std::string reals(WriteCtx& c, size_t i, int64_t axis = 0, const std::string& bytes = "") {
  std::string y = c.fresh();
  NodeProto& n = c.add(
      "DequantizeLinear",
      {bytes.empty() ? c.in(i) : bytes, scale_of_zero(c, i + 1), zero_of_scale(c, i + 1)}, {y});
  const bool many = !single(c, i + 1) || !single(c, i + 2);
  if (many && axis != 1) set_int(n, "axis", axis);
  return y;
}
// Quantizes into the node's output by the scale at input i.
void quantize(WriteCtx& c, const std::string& from, size_t i) {
  c.add("QuantizeLinear", {from, c.in(i), c.in(i + 1)}, {c.out(0)});
}
// Dequantizes an int32 bias, whose unit is the product of two scales.
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
  std::string y = c.fresh();
  NodeProto& n = c.add("DequantizeLinear", {c.in(bias), unit}, {y});
  if (!single(c, w_scale)) set_int(n, "axis", 0);
  return y;
}

// Adds an operator whose inputs are all as given() returns them; input `zero` is the output's zero
// point. An output of another dtype is converted behind it.
NodeProto& with_output(WriteCtx& c, bool microsoft, const char* op, const Names& in, size_t zero,
                       const std::string& to) {
  const DType made = wanted_dtype(c.g, c.node, zero);
  const bool same = dtype(c, zero) == made;
  const std::string out = same ? to : c.fresh();
  NodeProto& n = microsoft ? c.add_microsoft(op, in, {out}) : c.add(op, in, {out});
  if (!same) other_byte(c, out, made, to);
  return n;  // the reference stays valid
}
Names all_given(WriteCtx& c) {
  Names in;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) in.push_back(c.has(i) ? given(c, i) : "");
  return in;
}

void write_conv(WriteCtx& c) {
  const auto& a = c.as<ConvAttrs>();
  if (!in_qdq(c))
    return set_conv_attrs(with_output(c, false, "QLinearConv", all_given(c), 7, c.out(0)), a);
  Names in = {reals(c, 0), reals(c, 3)};
  if (c.has(8)) in.push_back(real_bias(c, 8, 1, 4));
  const std::string y = c.fresh();
  set_conv_attrs(c.add("Conv", in, {y}), a);
  quantize(c, y, 6);
}

void write_matmul(WriteCtx& c) {
  if (!in_qdq(c)) {
    with_output(c, false, "QLinearMatMul", all_given(c), 7, c.out(0));
    return;
  }
  const std::string y = c.fresh();
  c.add("MatMul", {reals(c, 0), reals(c, 3, c.rank(3) - 1)}, {y});
  quantize(c, y, 6);
}

// Returns [N, K] transposed, as MatMul takes it.
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
  std::string y = c.fresh();
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
  Names in = {a, given(c, 1), given(c, 2), given(c, 3), given(c, 4), zero_of_scale(c, 4, true)};
  in.push_back(c.in(6));
  if (c.has(7)) in.insert(in.end(), {given(c, 7), given(c, 8)});
  set_int(c.has(7) ? with_output(c, true, "QGemm", in, 8, y) : c.add_microsoft("QGemm", in, {y}),
          "transB", 1);
  if (matrix) return;
  const std::string lead = c.fresh(), shape = c.fresh();
  set_int(c.add("Shape", {c.in(0)}, {lead}), "end", -1);
  std::string last;
  if (constant(c, 3)) {
    last = c.ints({value(c, 3).constant.shape().begin(), 1});
  } else {
    set_int(c.add("Shape", {c.in(3)}, {last = c.fresh()}), "end", 1);
  }
  set_int(c.add("Concat", {lead, last}, {shape}), "axis", 0);
  c.add("Reshape", {y, shape}, {c.out(0)});
}

void write_binary(WriteCtx& c, const char* op, const char* plain) {
  if (in_qdq(c)) {
    const std::string y = c.fresh();
    c.add(plain, {reals(c, 0), reals(c, 3)}, {y});
    return quantize(c, y, 6);
  }
  with_output(c, true, op, all_given(c), 7, c.out(0));
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
    return set(with_output(c, true, "QLinearAveragePool", all_given(c), 4, c.out(0)));
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
    set_int(with_output(c, true, "QLinearGlobalAveragePool", all_given(c), 4, c.out(0)),
            "channels_last", 0);
    return;
  }
  const std::string y = c.fresh();
  c.add("GlobalAveragePool", {reals(c, 0)}, {y});
  quantize(c, y, 3);
}

void write_softmax(WriteCtx& c) {
  if (!in_qdq(c)) {
    NodeProto& n = with_output(c, true, "QLinearSoftmax", all_given(c), 4, c.out(0));
    set_int(n, "axis", -1);
    set_int(n, "opset", 13);
    return;
  }
  const std::string y = c.fresh();
  set_int(c.add("Softmax", {reals(c, 0)}, {y}), "axis", -1);
  quantize(c, y, 3);
}

// No ONNX domain has a PRelu of bytes. Both forms write the float operator, which has the same
// bits.
void write_prelu(WriteCtx& c) {
  const std::string y = c.fresh();
  c.add("PRelu", {reals(c, 0), c.in(3)}, {y});
  quantize(c, y, 4);
}

// ONNX has no tables: this is a Gather by the element's value. An int8 below 0 counts from the end.
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

// Returns the sum of each row of weights [N, K]: a constant if they are, since the file has the
// weights in this layout nowhere else.
std::string row_sums(WriteCtx& c, size_t i) {
  if (!constant(c, i)) {
    const int64_t each[] = {1};
    std::string y = c.fresh();
    set_int(c.add("ReduceSum", {c.cast(c.in(i), DType::kI32), c.ints(each)}, {y}), "keepdims", 0);
    return y;
  }
  const HostTensor& w = value(c, i).constant;
  const int64_t n = w.shape()[0], k = w.shape()[1];
  HostTensor sums(DType::kI32, Shape{n});
  for (int64_t row = 0; row < n; ++row) {
    const int8_t* of = w.as<int8_t>() + row * k;
    sums.as<int32_t>()[row] = std::accumulate(of, of + k, 0);
  }
  return c.tensor(sums);
}

// Does row by row what DynamicQuantizeLinear does with a whole tensor; the zero point of a row is
// taken out of the sum by the sums of the weight's rows, since MatMulInteger takes one zero point.
void write_dynamic(WriteCtx& c) {
  // Of all these nodes only the product and the result have the layer's name, since the file
  // repeats the name for each of them.
  const auto op = [&](const char* name, const Names& in) {
    std::string y = c.fresh();
    c.add(name, in, {y}).clear_name();
    return y;
  };
  const auto cast = [&](const std::string& from, DType to) {
    std::string y = c.fresh();
    NodeProto& n = c.add("Cast", {from}, {y});
    set_int(n, "to", static_cast<int64_t>(to));
    n.clear_name();
    return y;
  };
  const auto reduced = [&](const char* name) {
    std::string y = c.fresh();
    const int64_t last[] = {-1};
    NodeProto& n = c.add(name, {c.in(0)}, {y});
    set_ints(n, "axes", last);
    n.clear_name();
    return y;
  };
  c.need(17);
  const std::string none = c.scalar(DType::kF32, 0), steps = c.scalar(DType::kF32, 255);
  std::string low, high;
  if (has_attribute(c.form("ReduceMin"), "axes")) {
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
  const std::string sum = c.fresh();
  c.add("MatMulInteger", {cast(q, DType::kU8), columns(c, 1)}, {sum});
  const std::string rows = row_sums(c, 1);
  const std::string whole = op("Sub", {sum, op("Mul", {cast(zero, DType::kI32), rows})});
  const std::string unit = op("Mul", {scale, c.in(2)}), reals = cast(whole, DType::kF32);
  if (c.has(3)) {
    c.add("Add", {op("Mul", {reals, unit}), c.in(3)}, {c.out(0)});
  } else {
    c.add("Mul", {reals, unit}, {c.out(0)});
  }
}

}  // namespace

bool written_anew(const Graph& g, const Node& node, size_t input, QuantizedForm form) {
  if (!ir::is_byte_op(node.op)) return false;
  if (node.op == OpId::kDynamicLinear) return input == 1;
  if (node.op == OpId::kQLinearPRelu) return false;
  if (node.op == OpId::kByteTable) return input == 1 && g.value(node.inputs[0]).dtype == DType::kI8;
  if (form == QuantizedForm::kQdq) {
    const Value& x = g.value(node.inputs[0]);
    return node.op == OpId::kQGemm && input == 3 && x.ranked && x.shape.rank() != 2;
  }
  return wanted_dtype(g, node, input) != g.value(node.inputs[input]).dtype ||
         wants_scalar(g, node, input);
}

WICK_ONNX_ROW(QLinearConv, write_conv);
WICK_ONNX_ROW(QLinearMatMul, write_matmul);
WICK_ONNX_ROW(QGemm, write_gemm);
WICK_ONNX_ROW(QLinearAdd, [](WriteCtx& c) { write_binary(c, "QLinearAdd", "Add"); });
WICK_ONNX_ROW(QLinearMul, [](WriteCtx& c) { write_binary(c, "QLinearMul", "Mul"); });
WICK_ONNX_ROW(QLinearPRelu, write_prelu);
WICK_ONNX_ROW(QLinearAveragePool, write_pool);
WICK_ONNX_ROW(QLinearGlobalAveragePool, write_global_pool);
WICK_ONNX_ROW(QLinearSoftmax, write_softmax);
WICK_ONNX_ROW(ByteTable, write_table);
WICK_ONNX_ROW(DynamicLinear, write_dynamic);

}  // namespace wick::onnx
