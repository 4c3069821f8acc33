// QDQ graphs lowered: the ops between layers, and which ops stay float and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/graph/lower_qdq_checks.h"
#include "tests/support/error_of.h"

namespace wick::ir {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

// A slope for each channel stays float32, also where a file has it as bytes; one for all is a
// table.
TEST(LowerQdq, APReluIsOneOp) {
  const Shape shape{2, 3, 5, 7};
  const auto prelu = [&](Step out, auto slope) {
    const Graph g = between(shape, kIn, out, [&](QdqBuilder& b, ValueId x) {
      return b.g.emit(OpId::kPRelu, {x, slope(b)}, "prelu");
    });
    Lowered l = check(g, {bytes(shape)}, 0);  // rounded as the float ops are
    EXPECT_THAT(l.report.stayed, IsEmpty()) << l.report.text();
    EXPECT_EQ(count_of(l.graph, OpId::kDequantizeLinear), 0);
    return l.report.integer;
  };
  const auto channels = [](QdqBuilder& b) {
    return b.g.add_constant(HostTensor::of<float>(Shape{3, 1, 1}, {0.25F, -0.5F, 1.5F}));
  };
  const std::map<std::string, int> one{{"QLinearPRelu", 1}}, table{{"ByteTable", 1}};
  EXPECT_EQ(prelu({0.03F, 100}, channels), one);
  EXPECT_EQ(prelu({0.03F, -7, DType::kI8}, channels), one);
  EXPECT_EQ(prelu({0.03F, 100},
                  [](QdqBuilder& b) {
                    return b.weight(Shape{3, 1, 1}, {0.01F});
                  }),
            one);
  EXPECT_EQ(prelu({0.03F, 100}, [](QdqBuilder& b) { return b.numbers({0.25F}); }), table);
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
