// The contents of a file of integer operators: each weight once, and the forms that ONNX Runtime
// takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/onnx/onnx.h"
#include "graph/passes/lower_qdq.h"
#include "runtime/core/half.h"
#include "tests/graph/qdq_builder.h"
#include "wick/compile.h"

namespace wick::test {
namespace {

using ir::Graph;
using ir::QdqBuilder;
using ir::Step;
using ir::ValueId;

// Turned for MatMulInteger, its rows' sums beside it: not the weights as they were as well.
TEST(QuantizedFiles, ADynamicLinearHoldsItsWeightsOnce) {
  constexpr int64_t kOut = 96, kIn = 200;
  QdqBuilder b;
  HostTensor w(DType::kI8, Shape{kOut, kIn});
  for (int64_t i = 0; i < w.numel(); ++i) w.as<int8_t>()[i] = static_cast<int8_t>(i * 37 % 256);
  const ValueId x = b.input("x", Shape{7, kIn});
  b.g.add_output("y",
                 b.g.emit(OpId::kDynamicLinear,
                          {x, b.g.add_constant(std::move(w), "w", true), b.number(0.01F)}, "fc"));
  const std::vector<uint8_t> file = onnx_bytes(b.g);
  EXPECT_LT(file.size(), kOut * kIn + 4 * kOut + 4096);
  HostTensor rows = ir::wave(Shape{7, kIn}, 3);
  for (int64_t i = 0; i < kIn; ++i) rows.as<float>()[i] += 5;  // a zero point of another place
  const auto want = ir::run(b.g, {&rows, 1}), got = ir::run(import_onnx_bytes(file), {&rows, 1});
  EXPECT_TRUE(same_bits(got[0], want[0]));
  const auto types = onnx_op_types(b.g);
  EXPECT_EQ(std::count(types.begin(), types.end(), "ReduceSum"), 0);
}

// The shape and the dtype of every constant that the file's one node of this op reads.
std::string constants_of(const Graph& g, OpId op) {
  const Graph back = import_onnx_bytes(onnx_bytes(g));
  std::string text;
  for (const ir::Node& n : back.nodes()) {
    if (n.op != op) continue;
    for (const ValueId v : n.inputs) {
      if (v == ir::kNoValue || !back.is_constant(v)) continue;
      text += dtype_name(back.value(v).dtype);
      text += std::string(to_text(back.value(v).constant.shape()).text) + " ";
    }
  }
  return text;
}

struct Numbers : QdqBuilder {
  ValueId one(float v) { return g.add_constant(HostTensor::of<float>(Shape{1}, {v})); }
  ValueId zero(int v, DType t) {
    HostTensor z(t, Shape{1});
    *z.as<uint8_t>() = static_cast<uint8_t>(v);
    return g.add_constant(std::move(z));
  }
};

TEST(QuantizedFiles, OperatorsOfMicrosoftGetScalars) {
  const DType u8 = DType::kU8;
  Numbers add, pool, gemm;
  const ValueId a = add.input("a", Shape{3, 4}, u8), c = add.input("c", Shape{3, 4}, u8);
  add.g.add_output(
      "y", add.g.emit(OpId::kQLinearAdd, {a, add.one(0.1F), add.zero(3, u8), c, add.one(0.2F),
                                          add.zero(4, u8), add.one(0.3F), add.zero(5, u8)}));
  EXPECT_EQ(constants_of(add.g, OpId::kQLinearAdd),
            "float32[] uint8[] float32[] uint8[] float32[] uint8[] ");
  const ValueId p = pool.input("x", Shape{1, 2, 4, 4}, u8);
  pool.g.add_output("y", pool.g.emit(OpId::kQLinearGlobalAveragePool,
                                     {p, pool.one(0.1F), pool.zero(3, u8), pool.one(0.1F),
                                      pool.zero(130, DType::kI8)}));
  EXPECT_EQ(constants_of(pool.g, OpId::kQLinearGlobalAveragePool),
            "float32[] uint8[] float32[] uint8[] ");
  HostTensor w(u8, Shape{2, 4});
  for (int i = 0; i < 8; ++i) w.as<uint8_t>()[i] = static_cast<uint8_t>(30 * i);
  // int8 by uint8, which becomes int8
  const ValueId x = gemm.input("x", Shape{3, 4}, DType::kI8);
  gemm.g.add_output(
      "y", gemm.g.emit(OpId::kQGemm,
                       {x, gemm.one(0.1F), gemm.zero(3, DType::kI8), gemm.g.add_constant(w),
                        gemm.numbers({0.1F, 0.2F}), gemm.zero(100, u8), ir::kNoValue,
                        gemm.one(0.5F), gemm.zero(7, u8)}));
  EXPECT_EQ(constants_of(gemm.g, OpId::kQGemm),
            "float32[] int8[] int8[2,4] float32[2] int8[2] float32[] int8[] ");
  HostTensor in(DType::kI8, Shape{3, 4});
  for (int i = 0; i < 12; ++i) in.as<int8_t>()[i] = static_cast<int8_t>(i * 21 - 128);
  EXPECT_TRUE(same_bits(ir::run(import_onnx_bytes(onnx_bytes(gemm.g)), {&in, 1})[0],
                        ir::run(gemm.g, {&in, 1})[0]));
  // and what was turned stands in the file once
  const std::vector<uint8_t> file = onnx_bytes(gemm.g);
  const std::string text(file.begin(), file.end());
  EXPECT_EQ(text.find(std::string(reinterpret_cast<const char*>(w.data()), w.nbytes())),
            std::string::npos);
}

// A float16 scale with a float32 result is a Cast before DequantizeLinear in a file, and no Cast
// again in the graph that is read.
TEST(QuantizedFiles, HalfScalesAreCastAndComeBack) {
  QdqBuilder b;
  HostTensor w(DType::kI8, Shape{4, 64}), scales(DType::kF16, Shape{4, 2});
  for (int64_t i = 0; i < 256; ++i) w.as<int8_t>()[i] = static_cast<int8_t>(i * 37 % 256);
  for (int64_t i = 0; i < 8; ++i)
    scales.as<Half>()[i] = Half(0.01F + 0.003F * static_cast<float>(i));
  const ValueId x = b.input("x", Shape{3, 64});
  const DequantizeAttrs a{1, 32, static_cast<int64_t>(DType::kF32)};
  const ValueId weight = b.g.emit(OpId::kDequantizeLinear, a,
                                  {b.g.add_constant(std::move(w), "w", true),
                                   b.g.add_constant(std::move(scales), "w.scale", true)},
                                  "dequantize");
  b.g.add_output("y", b.g.emit(OpId::kLinear, {x, weight}, "fc"));
  EXPECT_THAT(onnx_op_types(b.g), testing::Contains("Cast"));
  const Graph back = import_onnx_bytes(onnx_bytes(b.g));
  EXPECT_EQ(ir::count_of(back, OpId::kCast), 0);
  for (const ir::Node& n : back.nodes()) {
    if (n.op != OpId::kDequantizeLinear) continue;
    EXPECT_EQ(back.value(n.inputs[1]).dtype, DType::kF16);
    EXPECT_EQ(n.attrs.as<DequantizeAttrs>().output_dtype, static_cast<int64_t>(DType::kF32));
    EXPECT_EQ(n.name, "dequantize");
  }
  const HostTensor rows = ir::wave(Shape{3, 64}, 3);
  EXPECT_TRUE(same_bits(ir::run(back, {&rows, 1})[0], ir::run(b.g, {&rows, 1})[0]));
}

// DequantizeLinear wants as many scales as zero points.
TEST(QuantizedFiles, OneScaleForManyZeroPoints) {
  Numbers b;
  HostTensor w(DType::kU8, Shape{4, 2, 3, 3}), zeros(DType::kU8, Shape{4});
  for (int64_t i = 0; i < 72; ++i) w.as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 % 256);
  for (int i = 0; i < 4; ++i) zeros.as<uint8_t>()[i] = static_cast<uint8_t>(100 + 9 * i);
  const DType u8 = DType::kU8;
  const ValueId x = b.input("x", Shape{1, 2, 5, 5}, u8);
  b.g.add_output("y", b.g.emit(OpId::kQLinearConv, ConvAttrs{},
                               {x, b.number(0.5F), b.byte(7, u8), b.g.add_constant(std::move(w)),
                                b.number(0.25F), b.g.add_constant(std::move(zeros)), b.number(64),
                                b.byte(9, u8)},
                               "conv"));
  HostTensor in(u8, Shape{1, 2, 5, 5});
  for (int i = 0; i < 50; ++i) in.as<uint8_t>()[i] = static_cast<uint8_t>(i * 29 % 256);
  for (const QuantizedForm form : {QuantizedForm::kOperators, QuantizedForm::kQdq}) {
    const Graph back = import_onnx_bytes(onnx_bytes(b.g, form), "", {.lower_qdq = true});
    EXPECT_EQ(ir::count_of(back, OpId::kQLinearConv), 1);
    EXPECT_TRUE(same_bits(ir::run(back, {&in, 1})[0], ir::run(b.g, {&in, 1})[0]));
  }
}

}  // namespace
}  // namespace wick::test
