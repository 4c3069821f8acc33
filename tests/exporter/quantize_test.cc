// Quantized models, small types, and operators with a training form: read, kept through the passes,
// written and read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/error_of.h"
#include "wick/compile.h"
#include "wick_onnx.pb.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

// A model of one node after another.
class Model {
 public:
  explicit Model(int64_t opset) {
    model_.set_ir_version(10);
    model_.add_opset_import()->set_version(opset);
  }
  void input(const std::string& name, DType t, std::initializer_list<int64_t> dims) {
    describe(graph().add_input(), name, t, dims);
  }
  void constant(const std::string& name, const HostTensor& t) {
    auto* c = graph().add_initializer();
    c->set_name(name);
    c->set_data_type(static_cast<int32_t>(t.dtype()));
    for (int64_t d : t.shape()) c->add_dims(d);
    c->set_raw_data(t.data(), t.nbytes());
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& in,
                        const std::vector<std::string>& out) {
    auto& n = *graph().add_node();
    n.set_op_type(op);
    for (const auto& s : in) n.add_input(s);
    for (const auto& s : out) n.add_output(s);
    return n;
  }
  static void attribute(onnx::NodeProto& n, const std::string& name, int64_t v) {
    auto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(onnx::AttributeProto::INT);
    a.set_i(v);
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }
  ir::Graph read() const {
    const std::string s = model_.SerializeAsString();
    return import_onnx_bytes({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
  }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

 private:
  static void describe(onnx::ValueInfoProto* v, const std::string& name, DType t,
                       std::initializer_list<int64_t> dims) {
    v->set_name(name);
    auto* type = v->mutable_type()->mutable_tensor_type();
    type->set_elem_type(static_cast<int32_t>(t));
    type->mutable_shape();
    for (int64_t d : dims) type->mutable_shape()->add_dim()->set_dim_value(d);
  }
  onnx::ModelProto model_;
};

HostTensor floats(const Shape& s, std::vector<float> v) { return HostTensor::of(s, v); }
HostTensor bytes(const Shape& s, std::vector<uint8_t> v) { return HostTensor::of(s, v); }

int count(const ir::Graph& g, OpId op) {
  int n = 0;
  for (const ir::Node& node : g.nodes()) n += !node.removed() && node.op == op;
  return n;
}

// The same text and the same results after a trip through a file.
void expect_round_trip(const ir::Graph& g, const std::vector<HostTensor>& in) {
  ir::Graph once = import_onnx_bytes(onnx_bytes(g)), twice = import_onnx_bytes(onnx_bytes(once));
  EXPECT_EQ(ir::print(once, true), ir::print(twice, true));
  auto want = ir::run(g, in), got = ir::run(once, in);
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(want[i], got[i])) << i;
}

TEST(Quantized, StaysAsItIsAndComesBack) {
  Model m(13);
  m.input("x", DType::kF32, {2, 3});
  m.constant("w", bytes({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252}));
  m.constant("s", floats({}, {0.5f}));
  m.constant("ws", floats({4}, {0.5f, 0.25f, 2, 1}));
  m.constant("wz", bytes({4}, {1, 2, 3, 128}));
  m.constant("z", bytes({}, {3}));
  m.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  m.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  m.node("DequantizeLinear", {"w", "ws", "wz"}, {"dw"});
  m.node("MatMul", {"d", "dw"}, {"y"});
  m.output("y");
  ir::Graph g = m.read();
  const std::vector<HostTensor> in = {floats({2, 3}, {0.2f, -3, 7, 100, -1, 60})};
  auto before = ir::run(g, in);
  ir::optimize(g);
  EXPECT_EQ(count(g, OpId::kQuantizeLinear), 1);
  EXPECT_EQ(count(g, OpId::kDequantizeLinear), 2) << "a quantized weight was folded";
  EXPECT_TRUE(same_bits(before[0], ir::run(g, in)[0]));
  expect_round_trip(m.read(), in);
}

TEST(Quantized, IntegerOperatorsComeBack) {
  Model m(13);
  m.input("x", DType::kU8, {1, 1, 3, 4});
  m.constant("w", bytes({2, 1, 2, 2}, {1, 2, 3, 200, 5, 6, 7, 8}));
  m.constant("zx", bytes({}, {5}));
  m.constant("zw", bytes({2}, {7, 9}));
  m.constant("b", bytes({4, 2}, {1, 2, 3, 4, 5, 6, 7, 255}));
  m.constant("sx", floats({}, {0.5f}));
  m.constant("sw", floats({2}, {0.01f, 0.02f}));
  m.constant("sy", floats({}, {0.3f}));
  m.constant("bias", HostTensor::of<int32_t>({2}, {100, -200}));
  m.node("ConvInteger", {"x", "w", "zx", "zw"}, {"y"});
  m.node("MatMulInteger", {"x", "b", "zx"}, {"z"});
  m.node("QLinearConv", {"x", "sx", "zx", "w", "sw", "zw", "sy", "zx", "bias"}, {"q"});
  m.node("QLinearMatMul", {"x", "sx", "zx", "b", "sx", "zx", "sy", "zx"}, {"p"});
  for (const char* name : {"y", "z", "q", "p"}) m.output(name);
  const std::vector<HostTensor> in = {
      bytes({1, 1, 3, 4}, {0, 1, 2, 3, 100, 200, 255, 7, 8, 9, 10, 11})};
  ir::Graph g = m.read();
  expect_round_trip(g, in);
  // QLinearConv by its definition, in double.
  auto out = ir::run(g, in);
  const HostTensor &sum = out[0], &q = out[2];
  for (int64_t i = 0; i < q.numel(); ++i) {
    const int64_t c = i / 6;
    const float scale = 0.5f * (c == 0 ? 0.01f : 0.02f) / 0.3f;
    const double v = (sum.as<int32_t>()[i] + (c == 0 ? 100 : -200)) * static_cast<double>(scale);
    const double want = std::fmin(std::fmax(std::nearbyint(v) + 5, 0), 255);
    EXPECT_EQ(q.as<uint8_t>()[i], want) << i;
  }
}

// Packed constants, a cast to every small type and back, and what moves them.
TEST(SmallTypes, ReadMoveAndRun) {
  Model m(25);
  const uint8_t packed[2] = {0x21, 0xF3};  // 1, 2, 3 and a padding that is not 0
  m.constant("c", HostTensor(DType::kU4, Shape{3}, packed, 2));
  m.input("x", DType::kF32, {2, 3});
  auto& cast = m.node("Cast", {"x"}, {"e"});
  Model::attribute(cast, "to", static_cast<int64_t>(DType::kF8E5M2));
  Model::attribute(cast, "saturate", 0);
  m.node("CastLike", {"x", "c"}, {"four"});
  m.node("Transpose", {"four"}, {"t"});
  m.node("IsNaN", {"e"}, {"nan"});
  m.node("Identity", {"c"}, {"same"});
  for (const char* name : {"e", "t", "nan", "same"}) m.output(name);
  auto out = ir::run(m.read(), {{floats({2, 3}, {1, 70000, NAN, 2.5f, -3, 16})}});
  EXPECT_EQ(element_as_double(out[0], 1), INFINITY);
  EXPECT_TRUE(std::isnan(element_as_double(out[0], 2)));
  const double four[] = {1, 2, 0, 13, 0, 0};  // 2.5 is 2; low bits of 70000, -3 and 16; NaN is 0
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(element_as_double(out[1], i), four[i]) << i;
  EXPECT_EQ(out[2].as<uint8_t>()[2], 1);
  EXPECT_EQ(out[3].as<uint8_t>()[1], 3) << "padding is 0";
}

// A form's opset: of the attributes, of the dtypes, of both.
TEST(Quantized, WrittenAtTheLowestOpset) {
  using Values = std::vector<ir::ValueId>;
  auto opset = [](DType x, const std::function<ir::ValueId(ir::Graph&, ir::ValueId)>& make) {
    ir::Graph g;
    ir::ValueId in = g.add_input("x", x, {SymDim(4), SymDim(2)});
    g.add_output("y", make(g, in));
    const std::vector<uint8_t> file = onnx_bytes(g);
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromArray(file.data(), static_cast<int>(file.size())));
    ir::Graph back = import_onnx_bytes(file);
    EXPECT_EQ(ir::print(back, true), ir::print(import_onnx_bytes(onnx_bytes(back)), true));
    return model.opset_import(0).version();
  };
  auto quantize = [](DType scale, DType zero, QuantizeAttrs a = {}) {
    return [=](ir::Graph& g, ir::ValueId x) {
      HostTensor s(scale, Shape{}), z(zero, Shape{});
      if (scale == DType::kF32) *s.as<float>() = 1;
      Values in = {x, g.add_constant(s)};
      if (zero != DType::kNone) in.push_back(g.add_constant(z));
      return g.emit(OpId::kQuantizeLinear, a, in);
    };
  };
  const DType f32 = DType::kF32, f16 = DType::kF16, i32 = DType::kI32, none = DType::kNone;
  EXPECT_EQ(opset(f32, quantize(f32, DType::kU8)), 17);
  EXPECT_EQ(opset(f32, quantize(f32, none)), 17);
  EXPECT_EQ(opset(i32, quantize(f32, DType::kI8)), 17);
  EXPECT_EQ(opset(f16, quantize(f16, DType::kU8)), 19);
  EXPECT_EQ(opset(f32, quantize(f32, DType::kF8E5M2)), 19);
  EXPECT_EQ(opset(f32, quantize(f32, DType::kI16)), 21);
  EXPECT_EQ(opset(f32, quantize(f32, DType::kI4)), 21);
  EXPECT_EQ(opset(f32, quantize(f16, DType::kU8)), 23);
  EXPECT_EQ(opset(i32, quantize(f32, DType::kU16)), 23);
  EXPECT_EQ(opset(f32, quantize(f32, DType::kF4E2M1)), 23);
  EXPECT_EQ(opset(f32, quantize(f32, DType::kU8, {1, 1, 0, 0, 10})), 23);
  EXPECT_EQ(opset(f32, quantize(DType::kF8E8M0, DType::kU8)), 24);
  EXPECT_EQ(opset(f32, quantize(f32, DType::kU2)), 25);
  auto cast = [](DType to) {
    return [=](ir::Graph& g, ir::ValueId x) {
      return g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(to)}, {x});
    };
  };
  EXPECT_EQ(opset(f32, cast(DType::kF8E4M3FN)), 19);
  EXPECT_EQ(opset(DType::kI4, cast(f32)), 21);
  EXPECT_EQ(opset(f32, cast(DType::kF8E8M0)), 24);
  EXPECT_EQ(opset(DType::kF8E4M3FN,
                  [](ir::Graph& g, ir::ValueId x) {
                    return g.emit(OpId::kTranspose, TransposeAttrs{}, Values{x});
                  }),
            21);
  EXPECT_EQ(
      opset(f32, [](ir::Graph& g,
                    ir::ValueId x) { return g.emit(OpId::kBitCast, BitCastAttrs{6}, Values{x}); }),
      26);
  EXPECT_EQ(opset(f32,
                  [](ir::Graph& g, ir::ValueId x) {
                    const uint8_t packed = 3;
                    return g.emit(
                        OpId::kExpand, ShapeAttrs{},
                        Values{g.add_constant(HostTensor(DType::kU4, Shape{}, &packed, 1)),
                               g.emit(OpId::kShape, ShapeOpAttrs{}, {x})});
                  }),
            21);
}

TEST(Training, DropoutRunsWhereNothingIsDropped) {
  auto model = [](const char* ratio, const char* training) {
    Model m(13);
    m.input("x", DType::kF32, {4});
    m.constant("none", floats({}, {0}));
    m.constant("half", floats({}, {0.5f}));
    HostTensor yes(DType::kBool, Shape{});
    *yes.as<uint8_t>() = 1;
    m.constant("yes", yes);
    m.input("r", DType::kF32, {});
    m.input("t", DType::kBool, {});
    m.node("Dropout", {"x", ratio, training}, {"y", "mask"});
    m.output("y"), m.output("mask");
    return m;
  };
  EXPECT_EQ(count(model("none", "yes").read(), OpId::kDropout), 0);
  EXPECT_EQ(count(model("r", "").read(), OpId::kDropout), 0);
  ir::Graph g = model("r", "t").read();
  EXPECT_EQ(count(g, OpId::kDropout), 1);
  HostTensor x = floats({4}, {1, 2, 3, 4}), yes(DType::kBool, Shape{}), no(DType::kBool, Shape{});
  *yes.as<uint8_t>() = 1;
  for (const auto& [ratio, training] : {std::pair{0.0f, yes}, std::pair{0.5f, no}}) {
    std::vector<HostTensor> in = {x, floats({}, {ratio}), training};
    auto out = ir::run(g, in);
    EXPECT_TRUE(same_bits(out[0], x));
    EXPECT_EQ(out[1].as<uint8_t>()[3], 1);
    expect_round_trip(g, in);
  }
  std::vector<HostTensor> drops = {x, floats({}, {0.5f}), yes};
  EXPECT_THAT(error_of([&] { ir::run(g, drops); }), HasSubstr("random dropout"));
}

// Statistics of the batch, running ones beside them; per opset the outputs there are.
TEST(Training, BatchNormalization) {
  for (int64_t opset : {6, 7, 9, 14, 15}) {
    SCOPED_TRACE(opset);
    Model m(opset);
    m.input("x", DType::kF32, {2, 2, 2});
    for (const char* name : {"scale", "bias", "mean", "var"}) m.input(name, DType::kF32, {2});
    std::vector<std::string> outputs = {"y", "rm", "rv"};
    if (opset < 14) outputs.insert(outputs.end(), {"sm", "sv"});
    auto& n = m.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, outputs);
    if (opset >= 14) Model::attribute(n, "training_mode", 1);
    for (const auto& name : outputs) m.output(name);
    const std::vector<HostTensor> in = {floats({2, 2, 2}, {1, 3, 0, 8, 5, 7, 2, 2}),
                                        floats({2}, {2, 1}), floats({2}, {0, 1}),
                                        floats({2}, {10, 20}), floats({2}, {1, 2})};
    auto out = ir::run(m.read(), in);
    // Channel 0: 1 3 5 7, mean 4, variance 5. Channel 1: 0 8 2 2, mean 3, variance 9.
    EXPECT_NEAR(out[0].as<float>()[0], 2 * (1 - 4) / std::sqrt(5.00001), 1e-5);
    EXPECT_NEAR(out[0].as<float>()[3], (8 - 3) / std::sqrt(9.00001) + 1, 1e-5);
    EXPECT_NEAR(out[1].as<float>()[0], 10 * 0.9 + 4 * 0.1, 1e-5);
    EXPECT_NEAR(out[2].as<float>()[1], 2 * 0.9 + 9 * 0.1, 1e-5);
    if (opset < 14) {
      EXPECT_NEAR(out[3].as<float>()[0], 4, 1e-6);
      EXPECT_NEAR(out[4].as<float>()[1], 9, 1e-6);
    }
  }
}

// spatial 0: every element of an image is a channel. A vector is one channel.
TEST(Training, BatchNormalizationOfOtherShapes) {
  Model m(7);
  m.input("x", DType::kF32, {1, 2, 2});
  for (const char* name : {"scale", "bias", "mean", "var"}) m.input(name, DType::kF32, {2, 2});
  Model::attribute(m.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"}),
                   "spatial", 0);
  m.output("y");
  const std::vector<HostTensor> in = {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2, 2}, {1, 2, 3, 4}),
                                      floats({2, 2}, {0, 0, 0, 1}), floats({2, 2}, {1, 1, 1, 1}),
                                      floats({2, 2}, {1, 1, 1, 1})};
  auto out = ir::run(m.read(), in);
  const float want[] = {0, 2, 6, 13};
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(out[0].as<float>()[i], want[i], 1e-4);
  Model v(15);
  v.input("x", DType::kF16, {3});
  for (const char* name : {"scale", "bias", "mean", "var"}) v.input(name, DType::kF32, {1});
  v.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
  v.output("y");
  ir::Graph g = v.read();
  EXPECT_EQ(g.value(g.outputs()[0].value).dtype, DType::kF16);
}

}  // namespace
}  // namespace wick
