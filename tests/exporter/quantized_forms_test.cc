// Graphs of byte ops as ONNX in both forms, and back: the same integers.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/onnx/onnx.h"
#include "graph/passes/lower_qdq.h"
#include "tests/graph/qdq_builder.h"
#include "tests/support/error_of.h"
#include "wick/compile.h"
#include "wick/runtime.h"

namespace wick::test {
namespace {

using ir::Graph;
using ir::QdqBuilder;
using ir::Step;
using ir::ValueId;
using testing::Contains;
using testing::HasSubstr;

constexpr QuantizedForm kForms[] = {QuantizedForm::kOperators, QuantizedForm::kQdq};

// One node of every operator of bytes between pairs, of one dtype or another.
struct Net : QdqBuilder {
  explicit Net(DType t, DType other) {
    const int low = t == DType::kI8 ? -128 : 0;
    const Step in{0.02F, low + 120, t}, mid{0.05F, low + 90, other}, out{0.1F, low + 100, t};
    const std::vector<float> s{0.004F, 0.006F, 0.005F, 0.003F};
    const ValueId x = input("x", Shape{2, 3, 10, 10});
    const ConvAttrs padded{{}, {}, {1, 1, 1, 1}, 1};
    ValueId v = pair(x, in);
    v = g.emit(OpId::kConv, padded, {v, weight(Shape{4, 3, 3, 3}, s), bias(in.scale, s, 4)},
               "conv");
    const ValueId a = pair(g.emit(OpId::kRelu, {v}, "relu"), mid, "a");
    const ValueId b = pair(g.emit(OpId::kSigmoid, {a}, "sigmoid"), {1.0F / 256, low, t}, "b");
    v = pair(g.emit(OpId::kMul, {a, b}, "mul"), mid);
    v = pair(g.emit(OpId::kAdd, {v, a}, "add"), out);
    v = pair(g.emit(OpId::kMaxPool, PoolAttrs{{2, 2}, {2, 2}, {}, {}}, {v}, "max"), out);
    const ValueId slope =
        g.add_constant(HostTensor::of<float>(Shape{4, 1, 1}, {0.25F, -0.5F, 1.5F, 0}));
    v = pair(g.emit(OpId::kPRelu, {v, slope}, "prelu"), mid);
    v = pair(
        g.emit(OpId::kAveragePool, PoolAttrs{{2, 2}, {1, 1}, {}, {0, 0, 1, 1}}, {v}, "average"),
        mid);
    const ValueId mean = g.emit(OpId::kReduceMean, ReduceAttrs{{2, 3}, 1, 0}, {v}, "mean");
    g.add_output("mean_bytes", quantize(mean, in));
    v = pair(g.emit(OpId::kReshape, ReshapeAttrs{{2, 4, 25}}, {v}, "rows"), mid);
    const ValueId product = g.emit(OpId::kMatMul, {v, weight(Shape{25, 4}, s, 1, 4)}, "product");
    v = pair(g.emit(OpId::kAdd, {product, bias(mid.scale, s, 4)}), out, "c");
    const ValueId turned = g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 1}}, {v});
    v = pair(g.emit(OpId::kMatMul, {v, turned}, "scores"), {0.9F, low + 128, t});
    v = pair(g.emit(OpId::kSoftmax, AxisAttrs{-1}, {v}, "softmax"), {1.0F / 256, low, t});
    v = g.emit(OpId::kFlatten, AxisAttrs{1}, {v});
    const std::vector<float> one{0.01F};
    v = g.emit(OpId::kLinear, {v, weight(Shape{3, 16}, one, 0, 7), bias(1.0F / 256, one, 3)}, "fc");
    g.add_output("logits", v);
  }
};

void expect_same(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << "output " << i;
}

TEST(QuantizedForms, GiveTheSameIntegersBack) {
  for (const auto& [t, other] : {std::pair{DType::kU8, DType::kU8},
                                 {DType::kI8, DType::kI8},
                                 {DType::kU8, DType::kI8},
                                 {DType::kI8, DType::kU8}}) {
    ir::LowerReport report;
    const Graph g = ir::lowered(Net(t, other).g, &report);
    EXPECT_TRUE(report.stayed.empty()) << report.text();
    const std::vector<HostTensor> in = {ir::wave(Shape{2, 3, 10, 10}, 2)};
    const auto want = ir::run(g, in);
    for (const QuantizedForm form : kForms) {
      SCOPED_TRACE(
          fmt::format("{} {} form {}", dtype_name(t), dtype_name(other), static_cast<int>(form)));
      ir::LowerReport again;
      const Graph back =
          import_onnx_bytes(onnx_bytes(g, form), "", {.lower_qdq = true, .lowered = &again});
      expect_same(ir::run(back, in), want);
      EXPECT_TRUE(again.stayed.empty()) << again.text();
      if (t == other) {
        EXPECT_EQ(again.integer, report.integer);
      }
      // the operators as they are read without lowering give the same, too
      if (form == QuantizedForm::kOperators)
        expect_same(ir::run(import_onnx_bytes(onnx_bytes(g, form)), in), want);
    }
  }
}

TEST(QuantizedForms, TheOperatorsAreThose) {
  const Graph g = ir::lowered(Net(DType::kU8, DType::kU8).g);
  const auto operators = onnx_op_types(g), qdq = onnx_op_types(g, QuantizedForm::kQdq);
  for (const char* name :
       {"QLinearConv", "com.microsoft::QLinearAdd", "com.microsoft::QLinearMul", "QLinearMatMul",
        "com.microsoft::QLinearAveragePool", "com.microsoft::QLinearGlobalAveragePool",
        "com.microsoft::QGemm", "com.microsoft::QLinearSoftmax", "Gather", "MaxPool", "PRelu"})
    EXPECT_THAT(operators, Contains(name));
  for (const char* name : {"Conv", "Add", "Mul", "MatMul", "AveragePool", "GlobalAveragePool",
                           "Gemm", "Softmax", "Gather", "MaxPool", "PRelu"})
    EXPECT_THAT(qdq, Contains(name));
  for (const std::string& name : qdq) {
    EXPECT_EQ(name.find("QLinear"), std::string::npos);
    EXPECT_EQ(name.find("::"), std::string::npos);
  }
}

// The interpreter on the reference kernels, and the optimised program as it runs.
TEST(QuantizedForms, TheProgramGivesTheInterpretersBits) {
  const Graph g = ir::lowered(Net(DType::kU8, DType::kI8).g);
  const std::vector<HostTensor> in = {ir::wave(Shape{2, 3, 10, 10}, 2)};
  const auto want = ir::run(g, in);
  const std::vector<uint8_t> file = compile_program(g);
  auto program = Program::load(Span<const uint8_t>(file));
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto session = Session::create(*program.value(), {});
  ASSERT_TRUE(session.ok()) << session.status().message();
  const TensorView x = in[0].view();
  std::vector<TensorView> out(want.size());
  const Status s = session.value()->run({&x, 1}, out);
  ASSERT_TRUE(s.ok()) << s.message();
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(
        same_bits(HostTensor(out[i].dtype, out[i].shape, out[i].data, out[i].nbytes()), want[i]));
  }
}

TEST(QuantizedForms, ADynamicLinearIsStandardOperators) {
  for (const bool with_bias : {false, true}) {
    QdqBuilder b;
    const ValueId x = b.input("x", Shape{3, 5, 8});
    HostTensor w(DType::kI8, Shape{4, 8});
    for (int64_t i = 0; i < 32; ++i) w.as<int8_t>()[i] = static_cast<int8_t>(i * 37 % 255 - 127);
    std::vector<ValueId> inputs = {x, b.g.add_constant(std::move(w)),
                                   b.numbers({.01F, .02F, .03F, .5F})};
    if (with_bias) inputs.push_back(b.numbers({1, -2, 0.1F, 3}));
    b.g.add_output("y", b.g.emit(OpId::kDynamicLinear, inputs));
    HostTensor rows = ir::wave(Shape{3, 5, 8}, 3);
    for (int i = 0; i < 8; ++i) {  // all 0, no negative one, no positive one
      rows.as<float>()[i] = 0;
      rows.as<float>()[8 + i] = std::fabs(rows.as<float>()[8 + i]);
      rows.as<float>()[16 + i] = -std::fabs(rows.as<float>()[16 + i]);
    }
    const auto want = ir::run(b.g, {&rows, 1});
    for (const QuantizedForm form : kForms)
      expect_same(ir::run(import_onnx_bytes(onnx_bytes(b.g, form)), {&rows, 1}), want);
  }
}

TEST(QuantizedForms, ScalesOfAFileAreFiniteAndPositive) {
  for (const float s : {0.0F, -1.0F, std::nanf("")}) {
    QdqBuilder b;
    b.g.add_output("y", b.quantize(b.input("x", Shape{4}), {s, 3}, "first"));
    const std::vector<uint8_t> file = onnx_bytes(b.g);
    EXPECT_THAT(error_of([&] { import_onnx_bytes(file); }),
                HasSubstr("QuantizeLinear 'first': the scale (input 1) must be finite and > 0"));
  }
}

// ONNX Runtime's quantizer makes an infinite scale of a mask of -infinity, and its sessions run it
// as ONNX says: (x - zero) * scale in float32. Nothing of it becomes an integer op.
TEST(QuantizedForms, WhatADequantizeLinearScalesIsAnyNumber) {
  const HostTensor x = HostTensor::of<uint8_t>({4}, {0, 127, 128, 255});
  for (const float s : {INFINITY, 0.0F, -1.0F}) {
    QdqBuilder b;
    const ValueId at = b.input("x", Shape{4}, DType::kU8);
    const ValueId reals = b.dequantize(at, {s, 127});
    b.g.add_output("reals", reals);
    b.g.add_output("y", b.quantize(b.g.emit(OpId::kRelu, {reals}), {0.5F, 3}, "q"));
    OnnxReadOptions options;
    std::vector<std::string> warnings;
    options.warnings = &warnings;
    options.lower_qdq = true;
    const ir::Graph g = import_onnx_bytes(onnx_bytes(b.g), "", options);
    EXPECT_EQ(g.node(0).op, OpId::kDequantizeLinear);
    EXPECT_EQ(warnings.size(), std::isinf(s) ? 1u : 0u);
    const std::vector<HostTensor> y = ir::run(g, {&x, 1}), as_built = ir::run(b.g, {&x, 1});
    expect_same(y, as_built);
    for (int64_t i = 0; i < 4; ++i) {
      const float want = static_cast<float>(x.as<uint8_t>()[i] - 127) * s;
      const float got = y[0].as<float>()[i];
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << got << " " << want;
    }
  }
}

}  // namespace
}  // namespace wick::test
