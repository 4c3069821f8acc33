// QDQ graphs lowered: layers and their weights, biases and products.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/graph/lower_qdq_checks.h"
#include "tests/support/error_of.h"

namespace wick::ir {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// LeNet as a calibrated graph has it: a pair behind every layer, relu between a layer and its pair.
struct LeNet : QdqBuilder {
  LeNet() {
    const ValueId x = input("image", Shape{2, 1, 20, 20});
    ValueId v = pair(x, {0.01F, 128}, "first");
    v = conv(v, 0.01F, Shape{6, 1, 3, 3}, 1);
    v = pair(g.emit(OpId::kRelu, {v}, "relu1"), kPositive);
    v = pair(g.emit(OpId::kMaxPool, PoolAttrs{{2, 2}, {2, 2}, {}, {}}, {v}, "pool1"), kPositive);
    v = conv(v, kPositive.scale, Shape{8, 6, 3, 3}, 2);
    v = pair(g.emit(OpId::kRelu, {v}, "relu2"), kPositive);
    v = pair(g.emit(OpId::kAveragePool, PoolAttrs{{2, 2}, {2, 2}, {}, {}}, {v}, "pool2"),
             kPositive);
    v = pair(g.emit(OpId::kFlatten, AxisAttrs{1}, {v}, "flatten"), kPositive);
    const std::vector<float> s(10, 0.002F);
    v = g.emit(OpId::kLinear, {v, weight(Shape{10, 72}, s, 0, 3), bias(kPositive.scale, s, 10)},
               "fc");
    g.add_output("logits", pair(v, {0.3F, 100}));
  }
  ValueId conv(ValueId v, float x_scale, const Shape& shape, int seed) {
    std::vector<float> s;
    for (int64_t i = 0; i < shape[0]; ++i) s.push_back(0.002F + 0.0003F * static_cast<float>(i));
    const ValueId w = weight(shape, s, 0, seed), b = bias(x_scale, s, shape[0]);
    return g.emit(OpId::kConv, ConvAttrs{}, {v, w, b}, "conv" + std::to_string(seed));
  }
};

TEST(LowerQdq, ALeNetIsIntegersFromEndToEnd) {
  const Lowered l = check(LeNet().g, {wave(Shape{2, 1, 20, 20}, 1.2F)}, 2);
  EXPECT_THAT(l.report.stayed, IsEmpty()) << l.report.text();
  EXPECT_EQ(l.report.integer, (std::map<std::string, int>{
                                  {"QLinearConv", 2}, {"QLinearAveragePool", 1}, {"QGemm", 1}}));
  EXPECT_EQ(count_of(l.graph, OpId::kQuantizeLinear), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kDequantizeLinear), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kMaxPool), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kRelu), 0);
}

TEST(LowerQdq, PaddingOfAConvolutionIsTheZeroPoint) {
  const Graph g = between(Shape{1, 2, 5, 5}, kIn, {0.5F, 128}, [](QdqBuilder& b, ValueId x) {
    const ConvAttrs a{{}, {}, {1, 1, 1, 1}, 1};
    return b.g.emit(OpId::kConv, a, {x, b.weight(Shape{3, 2, 3, 3}, {0.01F, 0.02F, 0.03F})});
  });
  const Lowered l = check(g, {bytes(Shape{1, 2, 5, 5})});
  EXPECT_EQ(l.report.integer.at("QLinearConv"), 1);
}

TEST(LowerQdq, WeightsOfEveryForm) {
  for (const DType t : {DType::kI8, DType::kU8}) {
    for (const int zero : {0, 7}) {
      for (const bool channels : {false, true}) {
        SCOPED_TRACE(std::string(dtype_name(t)) + std::to_string(zero) + (channels ? " each" : ""));
        const std::vector<float> s =
            channels ? std::vector<float>{0.01F, 0.004F, 0.02F} : std::vector<float>{0.01F};
        const Graph conv =
            between(Shape{1, 2, 6, 6}, kIn, {0.4F, 90}, [&](QdqBuilder& b, ValueId x) {
              return b.g.emit(
                  OpId::kConv, ConvAttrs{},
                  {x, b.weight(Shape{3, 2, 3, 3}, s, 0, 1, t, zero), b.bias(0.02F, s, 3)});
            });
        EXPECT_EQ(check(conv, {bytes(Shape{1, 2, 6, 6})}).report.integer.at("QLinearConv"), 1);
        // Linear's rows and MatMul's columns are the outputs
        const Graph fc = between(Shape{4, 8}, kIn, {0.3F, 90}, [&](QdqBuilder& b, ValueId x) {
          return b.g.emit(OpId::kLinear,
                          {x, b.weight(Shape{3, 8}, s, 0, 2, t, zero), b.bias(0.02F, s, 3)});
        });
        EXPECT_EQ(check(fc, {bytes(Shape{4, 8})}).report.integer.at("QGemm"), 1);
        const Graph product = between(Shape{4, 8}, kIn, {0.3F, 90}, [&](QdqBuilder& b, ValueId x) {
          const ValueId y =
              b.g.emit(OpId::kMatMul, {x, b.weight(Shape{8, 3}, s, 1, 3, t, zero)}, "product");
          return b.g.emit(OpId::kAdd, {y, b.bias(0.02F, s, 3)});
        });
        const Lowered l = check(product, {bytes(Shape{4, 8})});
        EXPECT_EQ(l.report.integer.at("QGemm"), 1);
        EXPECT_THAT(l.report.stayed, IsEmpty()) << l.report.text();
      }
    }
  }
}

TEST(LowerQdq, ScalesAlongAnotherAxisAreNotTheOutputs) {
  const Graph g = between(Shape{4, 3}, kIn, kOut, [](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kLinear, {x, b.weight(Shape{3, 3}, {0.01F, 0.1F, 0.02F}, 1)}, "fc");
  });
  const Lowered l = check(g, {bytes(Shape{4, 3})});
  ASSERT_THAT(l.report.stayed, SizeIs(1));
  EXPECT_THAT(l.report.text(),
              HasSubstr("Linear 'fc': its weight has its scales along axis 1, where "
                        "the outputs are axis 0"));
}

TEST(LowerQdq, AWeightBehindATranspose) {
  const Graph g = between(Shape{4, 8}, kIn, {0.3F, 90}, [](QdqBuilder& b, ValueId x) {
    const ValueId w = b.weight(Shape{3, 8}, {0.01F, 0.004F, 0.02F}, 0);
    return b.g.emit(OpId::kMatMul, {x, b.g.emit(OpId::kTranspose, TransposeAttrs{{1, 0}}, {w})});
  });
  const Lowered l = check(g, {bytes(Shape{4, 8})});
  EXPECT_EQ(l.report.integer.at("QGemm"), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kTranspose), 0);
}

TEST(LowerQdq, AWeightThatTheFileQuantizesWhenItRuns) {
  const Graph g = between(Shape{4, 8}, kIn, {0.3F, 90}, [](QdqBuilder& b, ValueId x) {
    const ValueId w = b.g.add_constant(wave(Shape{3, 8}, 1), "w", true);
    return b.g.emit(OpId::kLinear, {x, b.pair(w, {0.01F, 0, DType::kI8})});
  });
  const Lowered l = check(g, {bytes(Shape{4, 8})});
  EXPECT_EQ(l.report.integer.at("QGemm"), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kQuantizeLinear), 0);
}

Graph linear_with(ValueId (*bias)(QdqBuilder&)) {
  return between(Shape{4, 8}, kIn, {0.3F, 90}, [&](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kLinear, {x, b.weight(Shape{3, 8}, {0.5F}), bias(b)}, "fc");
  });
}
TEST(LowerQdq, ABiasIsInUnitsOfTheScalesProduct) {
  const HostTensor x = bytes(Shape{4, 8});
  const Graph whole = linear_with([](QdqBuilder& b) {
    const float u = kIn.scale * 0.5F;
    return b.numbers({3 * u, -1000 * u, 0});
  });
  const Lowered l = check(whole, {x});
  EXPECT_EQ(l.report.integer.at("QGemm"), 1);
  EXPECT_THAT(l.report.stayed, IsEmpty());
  // Any other would have to be rounded: it is added to the float result.
  const Lowered other = check(linear_with([](QdqBuilder& b) {
                                return b.numbers({0.1234F, 1, 2});
                              }),
                              {x});
  EXPECT_THAT(other.report.text(),
              HasSubstr("Add 'fc': its bias is float32 and no whole multiple of x_scale * w_scale "
                        "(channel 0)"));
  // int32 in other units is not taken for one of these
  const Graph units = linear_with([](QdqBuilder& b) { return b.bias(0.037F, {0.5F}, 3); });
  EXPECT_EQ(count_of(check(units, {x}).graph, OpId::kAdd), 1);
}

TEST(LowerQdq, ALastLayerGivesFloats) {
  QdqBuilder b;
  const ValueId x = b.dequantize(b.input("x", Shape{4, 8}, DType::kU8), kIn);
  const std::vector<float> s{0.01F, 0.004F, 0.02F};
  b.g.add_output("a",
                 b.g.emit(OpId::kLinear, {x, b.weight(Shape{3, 8}, s), b.bias(0.02F, s, 3)}, "a"));
  b.g.add_output(
      "b", b.g.emit(OpId::kLinear, {x, b.weight(Shape{3, 8}, s, 0, 2), b.numbers({.1F, .2F, .3F})},
                    "b"));
  const ValueId c = b.g.emit(OpId::kMatMul, {x, b.weight(Shape{8, 3}, s, 1, 3)}, "c");
  b.g.add_output("c", b.g.emit(OpId::kAdd, {c, b.bias(0.02F, s, 3)}));
  const Lowered l = check(b.g, {bytes(Shape{4, 8})});
  EXPECT_EQ(l.report.integer.at("QGemm"), 3);
  EXPECT_EQ(count_of(l.graph, OpId::kAdd), 1);  // the bias of b is no multiple
}

TEST(LowerQdq, ProductsOfTwoActivations) {
  QdqBuilder b;
  const ValueId x = b.dequantize(b.input("x", Shape{2, 4, 8}, DType::kU8), kIn),
                y = b.dequantize(b.input("y", Shape{2, 8, 5}, DType::kI8), {0.03F, -9, DType::kI8});
  b.g.add_output("z", b.quantize(b.g.emit(OpId::kMatMul, {x, y}), {0.2F, 128}));
  const Lowered l = check(b.g, {bytes(Shape{2, 4, 8}), bytes(Shape{2, 8, 5}, DType::kI8)});
  EXPECT_EQ(l.report.integer.at("QLinearMatMul"), 1);
}

}  // namespace
}  // namespace wick::ir
