// QDQ graphs lowered: which integer op each pattern is, how far from the float form, what stays
// float and why.
#include "graph/passes/lower_qdq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "graph/rewrite/pass.h"
#include "tests/graph/qdq_builder.h"
#include "tests/support/error_of.h"

namespace wick::ir {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Step kIn{0.02F, 120}, kOut{0.05F, 131}, kPositive{0.04F, 0};

// The largest difference of two byte tensors, in steps.
int steps_apart(const HostTensor& a, const HostTensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.shape(), b.shape());
  int most = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    most = std::max(most, std::abs(static_cast<int>(element_as_double(a, i)) -
                                   static_cast<int>(element_as_double(b, i))));
  }
  return most;
}

struct Lowered {
  Graph graph;
  LowerReport report;
};
// Lowered, with bytes at most `room` steps from the float form's; what the exact passes make of it
// has the same bits, and it reads back from its text.
Lowered check(const Graph& g, const std::vector<HostTensor>& in, int room = 1) {
  Lowered l{g, {}};
  lower_qdq(l.graph, &l.report);
  const auto want = run(g, in), got = run(l.graph, in);
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].dtype() != DType::kF32) {
      EXPECT_LE(steps_apart(got[i], want[i]), room) << "output " << i;
      continue;
    }
    double largest = 0;
    for (int64_t k = 0; k < want[i].numel(); ++k)
      largest = std::max(largest, std::fabs(element_as_double(want[i], k)));
    for (int64_t k = 0; k < want[i].numel(); ++k) {
      EXPECT_NEAR(element_as_double(got[i], k), element_as_double(want[i], k), 1e-5 * largest) << k;
    }
  }
  Graph after = l.graph;
  optimize(after);
  const auto fast = run(after, in);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(fast[i], got[i])) << "output " << i;
  EXPECT_EQ(print(parse_graph(print(l.graph, true)), true), print(l.graph, true));
  return l;
}

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

// One op between pairs.
template <class F>
Graph between(const Shape& shape, Step in, Step out, F f) {
  QdqBuilder b;
  const ValueId x = b.input("x", shape, in.dtype);
  b.g.add_output("y", b.quantize(f(b, b.dequantize(x, in)), out, "quantize"));
  return b.g;
}
HostTensor bytes(const Shape& shape, DType t = DType::kU8, int seed = 0) {
  HostTensor x(t, shape);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.as<uint8_t>()[i] = static_cast<uint8_t>(i * 89 + seed * 31 + i / 256);
  return x;
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

TEST(LowerQdq, SumsAndProducts) {
  for (const OpId op : {OpId::kAdd, OpId::kMul}) {
    QdqBuilder b;
    const Step other{0.03F, -9, DType::kI8};
    const ValueId x = b.dequantize(b.input("x", Shape{2, 4, 8}, DType::kU8), kIn),
                  y = b.dequantize(b.input("y", Shape{4, 1}, DType::kI8), other);
    b.g.add_output("z", b.quantize(b.g.emit(op, {x, y}), {0.06F, 128}));
    const Lowered l = check(b.g, {bytes(Shape{2, 4, 8}), bytes(Shape{4, 1}, DType::kI8)});
    EXPECT_EQ(l.report.integer.at(op == OpId::kAdd ? "QLinearAdd" : "QLinearMul"), 1);
  }
}

TEST(LowerQdq, Averages) {
  const Shape shape{2, 3, 4, 5};
  const auto mean = [&](DimList axes, bool keep) {
    return between(shape, kIn, {0.021F, 125}, [&](QdqBuilder& b, ValueId x) {
      return b.g.emit(OpId::kReduceMean, ReduceAttrs{axes, keep, 0}, {x}, "mean");
    });
  };
  for (const bool keep : {false, true}) {
    for (const DimList& axes : {DimList{2, 3}, DimList{-1, -2}, DimList{1, 2}, DimList{0, 2, 3}}) {
      const Lowered l = check(mean(axes, keep), {bytes(shape)});
      EXPECT_EQ(l.report.integer.count("QLinearGlobalAveragePool"), 1U) << l.report.text();
    }
    EXPECT_THAT(check(mean({1}, keep), {bytes(shape)}).report.text(),
                HasSubstr("ReduceMean 'mean': the mean is over axes that leave 3 of them"));
  }
  for (const bool pad : {false, true}) {
    const Graph g = between(shape, kIn, {0.021F, 125}, [&](QdqBuilder& b, ValueId x) {
      PoolAttrs a{{3, 2}, {2, 1}, {}, {1, 0, 1, 1}};
      a.count_include_pad = pad;
      return b.g.emit(OpId::kAveragePool, a, {x});
    });
    EXPECT_EQ(check(g, {bytes(shape)}).report.integer.at("QLinearAveragePool"), 1);
  }
}

TEST(LowerQdq, SoftmaxOverTheLastAxis) {
  const auto softmax = [](int64_t axis) {
    return between(Shape{3, 20}, {0.08F, 100}, {1.0F / 256, 0}, [&](QdqBuilder& b, ValueId x) {
      return b.g.emit(OpId::kSoftmax, AxisAttrs{axis}, {x}, "softmax");
    });
  };
  for (const int64_t axis : {-1, 1})
    EXPECT_EQ(check(softmax(axis), {bytes(Shape{3, 20})}).report.integer.at("QLinearSoftmax"), 1);
  EXPECT_THAT(check(softmax(0), {bytes(Shape{3, 20})}).report.text(),
              HasSubstr("Softmax 'softmax': it is not over the last axis"));
}

// -- tables

TEST(LowerQdq, ElementwiseOpsAreOneTable) {
  const auto table = [](Step out, auto f) {
    const Graph g = between(Shape{256}, kIn, out, f);
    const Lowered l = check(g, {bytes(Shape{256})}, 0);  // the same kernels filled it in
    EXPECT_EQ(l.report.integer, (std::map<std::string, int>{{"ByteTable", 1}})) << l.report.text();
    EXPECT_EQ(count_of(l.graph, OpId::kDequantizeLinear), 0);
  };
  const Step half{1.0F / 256, 0}, other{0.03F, -7, DType::kI8};
  table(half, [](QdqBuilder& b, ValueId x) { return b.g.emit(OpId::kSigmoid, {x}); });
  table(other, [](QdqBuilder& b, ValueId x) { return b.g.emit(OpId::kHardSwish, {x}); });
  table(other, [](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kLeakyRelu, LeakyReluAttrs{0.1}, {b.g.emit(OpId::kTanh, {x})});
  });
  // x sigmoid(x), by parts; numbers of rank 1, a quantized one
  table(other, [](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kMul, {x, b.g.emit(OpId::kSigmoid, {x})});
  });
  table(other, [](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kClip,
                    {b.g.emit(OpId::kAdd, {x, b.numbers({0.5F})}), b.number(-1), b.number(1.5F)});
  });
  table(other, [](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kMul, {x, b.dequantize(b.byte(100, DType::kI8), {0.02F, 0, DType::kI8})});
  });
  // another scale, alone
  table(other, [](QdqBuilder&, ValueId x) { return x; });
}

TEST(LowerQdq, ATableOfATableIsOne) {
  const Graph g = between(Shape{256}, kIn, kOut, [](QdqBuilder& b, ValueId x) {
    const ValueId y = b.pair(b.g.emit(OpId::kTanh, {x}), {1.0F / 128, 128});
    return b.g.emit(OpId::kNeg, {y});
  });
  EXPECT_EQ(check(g, {bytes(Shape{256})}, 0).report.integer.at("ByteTable"), 1);
}

TEST(LowerQdq, TheSameScaleBackIsNothing) {
  const Graph g = between(Shape{256}, kIn, kIn, [](QdqBuilder&, ValueId x) { return x; });
  const Lowered l = check(g, {bytes(Shape{256})}, 0);
  EXPECT_EQ(count_of(l.graph, OpId::kByteTable), 0);
  EXPECT_EQ(count_of(l.graph, OpId::kIdentity), 1);  // an output that is an input
}

TEST(LowerQdq, AReluIsTheRangeOnlyWhereItsLowestByteIsZero) {
  const auto conv = [](OpId op, const AnyAttrs& attrs, Step out) {
    return between(Shape{1, 2, 5, 5}, kIn, out, [&](QdqBuilder& b, ValueId x) {
      const ValueId y =
          b.g.emit(OpId::kConv, ConvAttrs{}, {x, b.weight(Shape{3, 2, 3, 3}, {0.01F})});
      return b.g.node(b.g.add_node(op, attrs, {y}, 1, "clamp")).outputs[0];
    });
  };
  const AnyAttrs none = AnyAttrs::of(NoAttrs{}), six = AnyAttrs::of(ClipAttrs{0, 6});
  struct Case {
    OpId op;
    AnyAttrs attrs;
    Step out;
    int tables;
  };
  for (const Case& c :
       {Case{OpId::kRelu, none, {0.3F, 0}, 0}, Case{OpId::kRelu, none, {0.3F, 1}, 1},
        Case{OpId::kRelu, none, {0.3F, -128, DType::kI8}, 0},
        Case{OpId::kRelu, none, {0.3F, 0, DType::kI8}, 1},
        Case{OpId::kClip, six, {6 / 255.0F, 0}, 0}, Case{OpId::kClip, six, {0.03F, 0}, 1}}) {
    SCOPED_TRACE(std::to_string(c.out.zero) + " " + std::to_string(c.out.scale));
    const Lowered l = check(conv(c.op, c.attrs, c.out), {bytes(Shape{1, 2, 5, 5})});
    EXPECT_EQ(l.report.integer.at("QLinearConv"), 1);
    EXPECT_EQ(count_of(l.graph, OpId::kByteTable), c.tables);
    EXPECT_THAT(l.report.stayed, IsEmpty());
  }
}

// -- movements

TEST(LowerQdq, BytesMoveAsTheyAre) {
  const Shape shape{2, 4, 6, 6};
  const auto one = [&](auto f) {
    const Graph g = between(shape, kIn, kIn, f);
    const Lowered l = check(g, {bytes(shape)}, 0);
    EXPECT_EQ(l.report.integer_nodes(), 0);
    EXPECT_EQ(count_of(l.graph, OpId::kDequantizeLinear), 0) << print(l.graph);
    EXPECT_EQ(count_of(l.graph, OpId::kQuantizeLinear), 0);
  };
  one([](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kMaxPool, PoolAttrs{{2, 2}, {2, 2}, {}, {1, 1, 0, 0}}, {x});
  });
  one([](QdqBuilder& b, ValueId x) {
    const ValueId t = b.g.emit(OpId::kTranspose, TransposeAttrs{{0, 2, 3, 1}}, {x});
    return b.g.emit(OpId::kReshape, ReshapeAttrs{{2, -1}}, {b.g.emit(OpId::kIdentity, {t})});
  });
  one([](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kSlice, SliceAttrs{{1}, {3}, {1}, {1}}, {x});
  });
  one([](QdqBuilder& b, ValueId x) { return b.g.emit(OpId::kConcat, AxisAttrs{1}, {x, x}); });
  one([](QdqBuilder& b, ValueId x) {  // zeros are the zero point
    return b.g.emit(OpId::kPad, PadAttrs{{0, 0, 1, 1, 0, 0, 1, 1}, 0, 0, {}}, {x});
  });
  one([](QdqBuilder& b, ValueId x) {
    return b.g.emit(OpId::kReduceMax, ReduceAttrs{{2, 3}, 0, 0}, {x});
  });
  one([](QdqBuilder& b, ValueId x) {
    const ValueId scales = b.numbers({1, 1, 2, 2});
    ResizeAttrs a;
    a.coordinates = static_cast<int64_t>(ResizeCoordinates::kAsymmetric);
    return b.g.emit(OpId::kResize, a, {x, kNoValue, scales});
  });
}

TEST(LowerQdq, PartsOfUnlikeScalesAreJoinedInTheResults) {
  QdqBuilder b;
  const Step steps[] = {kIn, {0.01F, 3}, {0.05F, -9, DType::kI8}};
  std::vector<ValueId> parts;
  for (int i = 0; i < 3; ++i) {
    const auto& s = steps[static_cast<size_t>(i)];
    parts.push_back(b.dequantize(b.input("x" + std::to_string(i), Shape{2, 3}, s.dtype), s));
  }
  b.g.add_output("y", b.quantize(b.g.emit(OpId::kConcat, AxisAttrs{1}, parts), kIn));
  const Lowered l = check(
      b.g,
      {bytes(Shape{2, 3}), bytes(Shape{2, 3}, DType::kU8, 1), bytes(Shape{2, 3}, DType::kI8, 2)},
      0);
  EXPECT_EQ(l.report.integer.at("ByteTable"), 2);
  EXPECT_EQ(count_of(l.graph, OpId::kConcat), 1);
}

// -- what stays

TEST(LowerQdq, WhatStaysFloatIsListedWithTheReason) {
  QdqBuilder b;
  const ValueId x = b.input("x", Shape{1, 2, 5, 5});
  const ValueId in = b.pair(x, kIn), w = b.weight(Shape{3, 2, 3, 3}, {0.01F});
  // read as float
  const ValueId a = b.g.emit(OpId::kConv, ConvAttrs{}, {in, w}, "read");
  b.g.add_output("a", b.quantize(a, kOut));
  b.g.add_output("b", b.g.emit(OpId::kExp, {a}, "reader"));
  // no scale before the activation
  const ValueId c = b.g.emit(OpId::kConv, ConvAttrs{}, {in, w}, "between");
  b.g.add_output("c", b.quantize(b.g.emit(OpId::kSilu, {c}, "silu"), kOut));
  // not quantized at all
  b.g.add_output("d", b.quantize(b.g.emit(OpId::kConv, ConvAttrs{}, {x, w}, "raw"), kOut));
  // 16 bits
  HostTensor zero(DType::kU16, Shape{});
  const ValueId e = b.g.emit(OpId::kConv, ConvAttrs{}, {in, w}, "wide");
  b.g.add_output("e", b.g.emit(OpId::kQuantizeLinear, QuantizeAttrs{},
                               {e, b.number(0.1F), b.g.add_constant(zero)}));
  // no such op on bytes
  b.g.add_output(
      "f",
      b.quantize(b.g.emit(OpId::kLpPool, LpPoolAttrs{{{2, 2}, {}, {}, {}}, 2}, {in}, "lp"), kOut));
  b.g.add_output(
      "g", b.quantize(b.g.emit(OpId::kConv, ConvAttrs{},
                               {in, b.g.add_constant(wave(Shape{3, 2, 3, 3}, 1))}, "float weight"),
                      kOut));
  const Lowered l = check(b.g, {wave(Shape{1, 2, 5, 5}, 1)});
  const std::string text = l.report.text();
  EXPECT_THAT(text, HasSubstr("Conv 'read': its result is read as float by Exp reader"));
  EXPECT_THAT(text, HasSubstr("Exp 'reader': its input is float: Conv"));
  EXPECT_THAT(text, HasSubstr("Conv 'between': its result is read as float by Silu"));
  EXPECT_THAT(text, HasSubstr("Silu 'silu': its input is float: Conv"));
  EXPECT_THAT(text, HasSubstr("Conv 'raw': its input is not quantized: 'x'"));
  EXPECT_THAT(text, HasSubstr("Conv 'wide': of its result quantized to uint16, not bytes"));
  EXPECT_THAT(text, HasSubstr("LpPool 'lp': it has no integer form"));
  EXPECT_THAT(text, HasSubstr("Conv 'float weight': its weight is not quantized"));
}

TEST(LowerQdq, RefusesScalesThatAreNone) {
  for (const float s : {0.0F, -0.1F, std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity()}) {
    QdqBuilder b;
    b.g.add_output("y", b.quantize(b.input("x", Shape{2}), {s, 0}, "q"));
    EXPECT_THAT(error_of([&] { lower_qdq(b.g); }),
                HasSubstr("QuantizeLinear q] the scale must be finite and > 0"));
  }
}

TEST(LowerQdq, RegionsToo) {
  QdqBuilder b;
  const ValueId c = b.g.add_input("c", DType::kBool, SymShape{});
  const ValueId x = b.input("x", Shape{8}, DType::kU8);
  const auto branch = [&](OpId op) {
    QdqBuilder r;
    r.g = b.g.region("r");
    const ValueId v = r.input("x", Shape{8}, DType::kU8);
    r.g.add_output("y", r.quantize(r.g.emit(op, {r.dequantize(v, kIn)}), kOut));
    return r.g;
  };
  const NodeId n =
      b.g.add_control(OpId::kIf, {}, {c, x}, {branch(OpId::kTanh), branch(OpId::kNeg)});
  b.g.add_output("y", b.g.node(n).outputs[0]);
  for (const bool on : {false, true}) {
    HostTensor condition(DType::kBool, Shape{});
    *condition.as<bool>() = on;
    EXPECT_EQ(check(b.g, {condition, bytes(Shape{8})}, 0).report.integer.at("ByteTable"), 2);
  }
}

}  // namespace
}  // namespace wick::ir
