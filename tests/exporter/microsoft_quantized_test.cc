// com.microsoft's operators of quantized models. The expected values are ONNX Runtime 1.30's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exporter/microsoft_model.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

// Weights as an input and as a constant, which is repacked when it is read.
void expect_n_bits(const std::function<NodeModel(bool)>& model, const Shape& shape,
                   const std::vector<double>& want) {
  for (bool constant : {false, true}) expect_near(model(constant).run()[0], shape, want, 1e-4);
}
NodeModel& weight(NodeModel& m, bool constant, HostTensor t) {
  return constant ? m.constant(std::move(t)) : m.in(std::move(t));
}

TEST(Microsoft, MatMulNBitsHasBlocksThatKDoesNotFill) {
  expect_n_bits(
      [](bool constant) {
        NodeModel m = microsoft("MatMulNBits").in(floats({2, 40}, 1));
        weight(m, constant, bytes({3, 3, 8}, 2)).in(floats({3, 3}, 3));
        weight(m, constant, bytes({3, 2}, 4)).set("K", 40).set("N", 3).set("block_size", 16);
        return m.set("bits", 4);
      },
      {2, 3}, {-2.468118, -19.87537, 3.405625, -4.573425, -35.02938, -3.599999});
}
TEST(Microsoft, MatMulNBitsOfTwoAndEightBits) {
  expect_n_bits(
      [](bool constant) {
        NodeModel m = microsoft("MatMulNBits").in(floats({2, 32}, 1));
        weight(m, constant, bytes({3, 2, 4}, 2)).in(floats({3, 2}, 3));
        weight(m, constant, bytes({3, 1}, 4)).in({}).in(floats({3}, 5));
        return m.set("K", 32).set("N", 3).set("block_size", 16).set("bits", 2);
      },
      {2, 3}, {0.5828572, -3.174513, 3.519818, -0.7872108, 7.362449, -1.145941});
  expect_n_bits(
      [](bool constant) {
        NodeModel m = microsoft("MatMulNBits").in(floats({1, 2, 16}, 1));
        weight(m, constant, bytes({3, 1, 16}, 2)).in(floats({3, 1}, 3));
        return m.set("K", 16).set("N", 3).set("block_size", 16).set("bits", 8);
      },
      {1, 2, 3}, {-38.53659, -29.82748, -144.0651, -3.408888, -42.43374, 197.474});
}
TEST(Microsoft, MatMulNBitsTakesRealZeroPointsAndBlocksByNumber) {
  std::vector<int32_t> block(32);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<int32_t>(i % 2);
  expect_n_bits(
      [&](bool constant) {
        NodeModel m = microsoft("MatMulNBits").in(floats({2, 32}, 1));
        weight(m, constant, bytes({3, 2, 8}, 2)).in(floats({3, 2}, 3)).in(floats({3, 2}, 4));
        return m.in(i32({32}, block)).set("K", 32).set("N", 3).set("block_size", 16).set("bits", 4);
      },
      {2, 3}, {-6.147341, 19.60804, -20.95273, -3.712449, -17.84739, 8.079586});
}
// A constant stays as small as the file has it.
TEST(Microsoft, MatMulNBitsKeepsConstantWeightsPacked) {
  const auto file = microsoft("MatMulNBits")
                        .in(floats({2, 64}, 1))
                        .constant(bytes({32, 4, 8}, 2))
                        .constant(floats({32, 4}, 3))
                        .set("K", 64)
                        .set("N", 32)
                        .set("block_size", 16)
                        .bytes(false, 1);
  const ir::Graph g = import_onnx_bytes(file);
  size_t largest = 0;
  for (size_t i = 0; i < g.value_count(); ++i)
    largest = std::max(largest, g.value(static_cast<ir::ValueId>(i)).constant.nbytes());
  EXPECT_EQ(largest, 32u * 64 / 2);
}

// The middle of 4 bits for 3 blocks: 888, and no fourth 8 that a file does not have.
TEST(Microsoft, MatMulNBitsHasNothingBehindItsLastZeroPoint) {
  const auto file = microsoft("MatMulNBits")
                        .in(floats({2, 16}, 1))
                        .constant(bytes({3, 1, 8}, 2))
                        .constant(floats({3, 1}, 3))
                        .set("K", 16)
                        .set("N", 3)
                        .set("block_size", 16)
                        .bytes(false, 1);
  const ir::Graph g = import_onnx_bytes(file);
  ir::Graph again = import_onnx_bytes(onnx_bytes(g));
  again.metadata = g.metadata;  // the writer adds its own version
  EXPECT_EQ(ir::print(again, true), ir::print(g, true));
}

TEST(Microsoft, GatherBlockQuantizedUnpacksTheRowsItTakes) {
  auto y = microsoft("GatherBlockQuantized")
               .in(bytes({3, 10}, 1))
               .in(whole({2}, {2, -3}))
               .in(floats({3, 2}, 2))
               .in(bytes({3, 1}, 3))
               .set("bits", 4)
               .set("block_size", 16)
               .set("quantize_axis", 1)
               .run();
  expect_near(
      y[0], {2, 20},
      {0,         -1.619048, 1.619048,   -0.9714285, -1.942857, 0,         -0.3238095, 0.647619,
       1.295238,  1.295238,  -2.266666,  -2.914286,  -0.647619, -2.266666, 0.9714285,  -1.619048,
       -4.057143, 0,         -0.6761905, 1.352381,   -9.238095, -8.314285, -4.619048,  -6.466667,
       0,         -4.619048, -10.16191,  -1.847619,  -5.542857, 0,         -0.9238095, -12.93333,
       -11.08571, -10.16191, -6.466667,  -8.314285,  -8.066667, -4.4,      0,          -6.6});
}

void expect_a_step(const HostTensor& got, const std::vector<double>& want) {
  ASSERT_EQ(got.numel(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(element_as_double(got, static_cast<int64_t>(i)), want[i], 1) << "element " << i;
}

// ONNX Runtime adds the zero point before it rounds, we behind it, as everywhere: ties may be a
// step apart (24.5 + 121 is even where 24.5 is not).
TEST(Microsoft, QuantizedSumsAndProductsAreWithinAStep) {
  auto y = microsoft("QLinearAdd")
               .in(bytes({12}, 1))
               .in(number(0.1f))
               .in(byte(128))
               .in(bytes({12}, 2))
               .in(number(0.1f))
               .in(byte(100))
               .in(number(0.2f))
               .in(byte(121))
               .run();
  expect_a_step(y[0], {158, 196, 104, 142, 178, 88, 124, 162, 198, 108, 144, 182});
  y = microsoft("QLinearMul")
          .in(bytes({12}, 1))
          .in(number(0.02f))
          .in(byte(132))
          .in(bytes({12}, 3))
          .in(number(0.03f))
          .in(byte(132))
          .in(number(0.05f))
          .in(byte(115))
          .run();
  expect_a_step(y[0], {147, 112, 109, 140, 203, 0, 208, 143, 110, 111, 144, 210});
}
TEST(Microsoft, QuantizedPoolsRoundAsTheyShould) {
  const auto pool = [](const std::string& op, Shape shape) {
    return microsoft(op)
        .in(bytes(shape, 1))
        .in(number(0.02f))
        .in(byte(137))
        .in(number(0.03f))
        .in(byte(118));
  };
  auto y = pool("QLinearAveragePool", {1, 1, 3, 4}).set("kernel_shape", std::vector<int64_t>{2, 2});
  expect_a_step(y.run()[0], {113, 95, 120, 126, 108, 133});
  expect_near(pool("QLinearGlobalAveragePool", {1, 2, 2, 3}).run()[0], {1, 2, 1, 1}, {127, 133}, 0);
}
TEST(Microsoft, QuantizedGemmHasAScaleAColumn) {
  HostTensor scales = floats({4}, 3);
  for (int i = 0; i < 4; ++i)
    scales.as<float>()[i] = scales.as<float>()[i] * scales.as<float>()[i] * 0.1f + 0.01f;
  auto y = microsoft("QGemm")
               .in(bytes({2, 3}, 1))
               .in(number(0.02f))
               .in(byte(130))
               .in(bytes({4, 3}, 2))
               .in(scales)
               .in(u8({100, 110, 120, 130}))
               .in(i32({4}, {5, -6, 7, -8}))
               .in(number(0.1f))
               .in(byte(90))
               .set("transB", 1)
               .set("alpha", 0.5f)
               .run();
  expect_near(y[0], {2, 4}, {84, 94, 111, 100, 128, 77, 98, 0}, 0);
}
TEST(Microsoft, DynamicQuantizeMatMulScalesByTheInputsRange) {
  auto y = microsoft("DynamicQuantizeMatMul")
               .in(floats({2, 4}, 1))
               .in(bytes({4, 3}, 2))
               .in(number(0.02f))
               .in(byte(128))
               .in(floats({3}, 3))
               .run();
  expect_near(y[0], {2, 3}, {1.985376, 2.304094, 2.822449, -1.481757, -1.456385, 1.829723});
}

// What quantize_dynamic() makes of an LSTM. Values of ONNX Runtime 1.32; forms/microsoft.py has
// more.
TEST(Microsoft, DynamicQuantizeLstmOfTwoDirectionsAndRowsOfTwoLengths) {
  const std::vector<HostTensor> y = microsoft("DynamicQuantizeLSTM")
                                        .in(floats({3, 2, 3}, 1))
                                        .in(bytes({2, 3, 8}, 2))
                                        .in(bytes({2, 2, 8}, 3))
                                        .in(floats({2, 16}, 4))
                                        .in(i32({2}, {3, 2}))
                                        .in(floats({2, 2, 2}, 5))
                                        .in(floats({2, 2, 2}, 6))
                                        .in({})
                                        .in(HostTensor::of<float>({2}, {0.01f, 0.02f}))
                                        .in(u8({120, 130}))
                                        .in(HostTensor::of<float>({2}, {0.02f, 0.01f}))
                                        .in(u8({125, 128}))
                                        .set("hidden_size", 2)
                                        .set("direction", std::string("bidirectional"))
                                        .run(3);
  expect_near(y[0], {3, 2, 2, 2},
              {0.3078522,  -0.3418129, -0.4474962,  -0.1846786, -0.2588033, 0.07348539,
               0.07404352, 0.1128625,  0.2008081,   -0.3113424, 0.1924542,  -0.1799181,
               -0.2658594, 0.08030622, 0.1024884,   0.06397352, 0.1845946,  -0.3067705,
               0,          0,          -0.07578813, 0.03950068, 0,          0});
  expect_near(y[1], {2, 2, 2},
              {0.1845946, -0.3067705, 0.1924542, -0.1799181, -0.2588033, 0.07348539, 0.07404352,
               0.1128625});
  expect_near(
      y[2], {2, 2, 2},
      {0.8647955, -0.6368347, 0.2678933, -0.2792607, -0.4428956, 0.5633577, 0.8328439, 0.6880583});
}
TEST(Microsoft, DynamicQuantizeLstmHasAScaleAColumn) {
  const auto weights = [](const Shape& shape, int seed) {
    const HostTensor t = bytes(shape, seed);
    return HostTensor(DType::kI8, shape, t.data(), t.nbytes());
  };
  HostTensor scales = floats({1, 8}, 7);
  for (int i = 0; i < 8; ++i) scales.as<float>()[i] = (scales.as<float>()[i] + 1.5f) * 0.01f;
  const HostTensor zeros(DType::kI8, {1, 8});
  NodeModel m = microsoft("DynamicQuantizeLSTM").in(floats({2, 1, 3}, 1));
  m.in(weights({1, 3, 8}, 2)).in(weights({1, 2, 8}, 3)).in({}).in({}).in({}).in({}).in({});
  m.in(scales).in(zeros).in(scales).in(zeros);
  m.set("hidden_size", 2).set("direction", std::string("reverse"));
  const std::vector<HostTensor> y = m.run(3);
  expect_near(y[0], {2, 1, 1, 2}, {0.09331117, 0.07495198, 0.08682673, 0.03727258});
  expect_near(y[1], {1, 1, 2}, {0.09331117, 0.07495198});
  expect_near(y[2], {1, 1, 2}, {0.1099029, 0.4018814});
  m.set("activations", std::vector<std::string>{"Sigmoid", "Relu", "Tanh"});
  EXPECT_THAT(error_of([&] { (void)m.run(3); }),
              testing::HasSubstr("'y0': activations other than Sigmoid, Tanh, Tanh"));
  const NodeModel two = microsoft("DynamicQuantizeLSTM")
                            .in(floats({2, 1, 3}, 1))
                            .in(weights({1, 3, 8}, 2))
                            .in(weights({1, 2, 8}, 3))
                            .in({})
                            .in({})
                            .in({})
                            .in({})
                            .in({})
                            .in(scales)
                            .in(zeros)
                            .in(scales)
                            .in(zeros)
                            .set("direction", std::string("bidirectional"));
  EXPECT_THAT(error_of([&] { (void)two.run(3); }),
              testing::HasSubstr("input 1 begins with the directions, which are 2, got [1,3,8]"));
}

TEST(Microsoft, MatMulBnb4LooksUpNormalFloats) {
  HostTensor largest = floats({3}, 3);
  for (int i = 0; i < 3; ++i)
    largest.as<float>()[i] = largest.as<float>()[i] * largest.as<float>()[i] + 0.1f;
  auto y = microsoft("MatMulBnb4")
               .in(floats({2, 16}, 1))
               .in(bytes({24}, 2))
               .in(largest)
               .set("K", 16)
               .set("N", 3)
               .set("block_size", 16)
               .set("quant_type", 1)
               .run();
  expect_near(y[0], {2, 3}, {-0.06972071, -0.04509792, -1.07325, 0.1749207, -0.2495722, 0.4968955});
}

}  // namespace
}  // namespace wick::test
