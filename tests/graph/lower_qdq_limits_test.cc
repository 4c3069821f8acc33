// Layers that integers cannot hold stay float: sums beyond 32 bits, scales without a finite
// quotient.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/lower_qdq.h"
#include "tests/graph/qdq_builder.h"
#include "tests/support/error_of.h"

namespace wick::ir {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// K x 2 weights of `value` each but the first column, which is 1.
ValueId columns(QdqBuilder* b, int64_t k, int value, bool outputs_first, DType t = DType::kI8) {
  HostTensor q(t, outputs_first ? Shape{2, k} : Shape{k, 2});
  for (int64_t i = 0; i < 2 * k; ++i) {
    const bool first = outputs_first ? i < k : i % 2 == 0;
    q.as<uint8_t>()[i] = static_cast<uint8_t>(first ? 1 : value);
  }
  return b->g.emit(OpId::kDequantizeLinear, DequantizeAttrs{},
                   {b->g.add_constant(std::move(q)), b->number(0.001F)});
}
HostTensor filled(const Shape& shape, int v, DType t = DType::kU8) {
  HostTensor x(t, shape);
  for (int64_t i = 0; i < x.numel(); ++i) x.as<uint8_t>()[i] = static_cast<uint8_t>(v);
  return x;
}

struct Lowered {
  Graph graph;
  LowerReport report;
  std::vector<HostTensor> out;
};
Lowered lower_and_run(const Graph& g, const std::vector<HostTensor>& in) {
  Lowered l{g, {}, {}};
  lower_qdq(l.graph, &l.report);
  l.out = run(l.graph, in);
  return l;
}
void expect_bytes(const HostTensor& y, const std::vector<int>& want) {
  ASSERT_EQ(y.numel(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(y.as<uint8_t>()[i], want[i]) << "element " << i;
}

constexpr Step kX{0.001F, 0}, kY{100.0F, 0};

// 70,000 products of 255 and 127 are 2,266,950,000, 2^31 is 2,147,483,648. In reals 2266.95: 22.67
// steps of y, which a sum that wraps makes 0.
TEST(LowerLimits, SumsThat32BitsMayNotHoldStayFloat) {
  for (const OpId op : {OpId::kLinear, OpId::kMatMul}) {
    QdqBuilder b;
    const int64_t k = 70000;
    const ValueId x = b.input("x", Shape{1, k}, DType::kU8);
    const ValueId w = columns(&b, k, 127, op == OpId::kLinear);
    b.g.add_output("y", b.quantize(b.g.emit(op, {b.dequantize(x, kX), w}, "layer"), kY));
    const Lowered l = lower_and_run(b.g, {filled(Shape{1, k}, 255)});
    expect_bytes(l.out[0], {0, 23});
    ASSERT_THAT(l.report.stayed, SizeIs(1));
    EXPECT_THAT(l.report.stayed[0].reason,
                HasSubstr("32 bits may not hold its sums (channel 1: up to 2266950000)"));
    EXPECT_EQ(l.report.integer_nodes(), 0);
  }
}

// One weight less than too many; x reaches 255 on one side only.
TEST(LowerLimits, SumsThatJustFitAreIntegers) {
  for (const int64_t extra : {0, 1}) {
    QdqBuilder b;
    const int64_t k = 2147483647 / (255 * 127) + extra;  // 66311: 2,147,481,735
    const ValueId x = b.input("x", Shape{1, k}, DType::kU8);
    const ValueId w = columns(&b, k, 127, true);
    b.g.add_output("y", b.g.emit(OpId::kLinear, {b.dequantize(x, kX), w}, "layer"));
    const Lowered l = lower_and_run(b.g, {filled(Shape{1, k}, 255)});
    EXPECT_EQ(l.report.integer_nodes(), extra == 0 ? 1 : 0);
    EXPECT_NEAR(l.out[0].as<float>()[1], static_cast<double>(k) * 255e-3 * 127e-3, 1);
  }
}

// Both signs of x less its zero point, and of w less its own; the bias joins them.
TEST(LowerLimits, ZeroPointsAndTheBiasCount) {
  struct Case {
    int x_zero, w_zero, value;  // 0 .. 255
    int64_t k;
    int32_t bias;
    bool fits;
  };
  const Case cases[] = {
      {128, 128, 255, 131072, 0, true},   // 128 * 127 each: 2,130,706,432
      {128, 128, 255, 132200, 0, false},  //                 2,149,043,200
      {128, 255, 0, 65000, 0, true},      // 128 * 255 each: 2,121,600,000
      {128, 255, 0, 66000, 0, false},     //                 2,154,240,000
      {128, 128, 255, 131072, 16777215, true}, {128, 128, 255, 131072, -16777216, false},
  };
  for (const Case& c : cases) {
    QdqBuilder b;
    const ValueId x = b.input("x", Shape{1, c.k}, DType::kU8);
    HostTensor bias(DType::kI32, Shape{1});
    *bias.as<int32_t>() = c.bias;
    const ValueId w = b.g.emit(OpId::kDequantizeLinear, DequantizeAttrs{},
                               {b.g.add_constant(filled(Shape{1, c.k}, c.value)), b.number(0.001F),
                                b.byte(c.w_zero, DType::kU8)});
    const ValueId d = b.g.emit(OpId::kDequantizeLinear, DequantizeAttrs{},
                               {b.g.add_constant(std::move(bias)), b.number(0.001F * 0.001F)});
    b.g.add_output("y", b.quantize(b.g.emit(OpId::kLinear,
                                            {b.dequantize(x, {0.001F, c.x_zero}), w, d}, "layer"),
                                   kY));
    LowerReport report;
    lowered(b.g, &report);
    EXPECT_EQ(report.integer_nodes() == 1, c.fits) << c.k << " " << c.bias << report.text();
  }
}

TEST(LowerLimits, SumsOfAConvolutionToo) {
  QdqBuilder b;
  const ValueId x = b.input("x", Shape{1, 280, 16, 16}, DType::kU8);
  const ValueId w = b.g.emit(
      OpId::kDequantizeLinear, DequantizeAttrs{},
      {b.g.add_constant(filled(Shape{1, 280, 16, 16}, 127, DType::kI8)), b.number(0.001F)});
  b.g.add_output(
      "y", b.quantize(b.g.emit(OpId::kConv, ConvAttrs{}, {b.dequantize(x, kX), w}, "conv"), kY));
  const Lowered l = lower_and_run(b.g, {filled(Shape{1, 280, 16, 16}, 255)});
  expect_bytes(l.out[0], {23});  // 2321.36 of 100
  EXPECT_THAT(l.report.text(), HasSubstr("Conv 'conv': 32 bits may not hold its sums"));
}

// Nobody knows the bytes of two activations: each counts with its largest.
TEST(LowerLimits, ProductsOfTwoActivationsCountByTheirLength) {
  for (const int64_t k : {33025, 33026}) {
    QdqBuilder b;
    const ValueId x = b.input("x", Shape{1, k}, DType::kU8),
                  z = b.input("z", Shape{k, 1}, DType::kU8);
    b.g.add_output("y", b.quantize(b.g.emit(OpId::kMatMul,
                                            {b.dequantize(x, kX), b.dequantize(z, kX)}, "product"),
                                   kY));
    const Lowered l = lower_and_run(b.g, {filled(Shape{1, k}, 255), filled(Shape{k, 1}, 255)});
    expect_bytes(l.out[0], {21});
    EXPECT_EQ(l.report.integer_nodes(), k == 33025 ? 1 : 0);
  }
}

TEST(LowerLimits, MeansOfTooManyBytesStayFloat) {
  constexpr Step s{0.01F, 0};
  for (const bool pool : {false, true}) {
    QdqBuilder b;
    const ValueId x = b.input("x", Shape{1, 1, 3000, 3000}, DType::kU8);
    const ValueId mean =
        pool ? b.g.emit(OpId::kAveragePool, PoolAttrs{{3000, 3000}, {}, {}, {}},
                        {b.dequantize(x, s)}, "mean")
             : b.g.emit(OpId::kReduceMean, ReduceAttrs{{2, 3}, 1}, {b.dequantize(x, s)}, "mean");
    b.g.add_output("y", b.quantize(mean, s));
    const Lowered l = lower_and_run(b.g, {filled(Shape{1, 1, 3000, 3000}, 255)});
    EXPECT_GE(*l.out[0].as<uint8_t>(), 245);  // nine million floats in turn lose some
    EXPECT_THAT(l.report.text(), HasSubstr("32 bits may not hold the sum of 9000000 bytes"));
  }
}

// A size that only a run knows is looked at there.
TEST(LowerLimits, MeansOfUnknownSizesAreRefusedWhenTheyRun) {
  constexpr Step s{0.01F, 0};
  QdqBuilder b;
  const ValueId x = b.g.add_input(
      "x", DType::kU8, SymShape{SymDim(1), SymDim(1), SymDim::symbol("h"), SymDim::symbol("w")});
  b.g.add_output("y", b.quantize(b.g.emit(OpId::kReduceMean, ReduceAttrs{{2, 3}, 1},
                                          {b.dequantize(x, s)}, "mean"),
                                 s));
  LowerReport report;
  const Graph g = lowered(b.g, &report);
  EXPECT_EQ(report.integer_nodes(), 1) << report.text();
  expect_bytes(run(g, std::vector{filled(Shape{1, 1, 30, 30}, 255)})[0], {255});
  InterpreterOptions fast;
  fast.kernels.assign(default_kernels().begin(), default_kernels().end());
  for (const InterpreterOptions& o : {InterpreterOptions{}, fast}) {
    EXPECT_THAT(test::error_of([&] {
                  run(g, std::vector{filled(Shape{1, 1, 3000, 3000}, 255)}, o);
                }),
                HasSubstr("32 bits may not hold the sum of 9000000 bytes"));
  }
}

// The lowering takes what the kernel takes.
TEST(LowerLimits, SumsWithoutAFiniteQuotientStayFloat) {
  struct Case {
    float a, b, y;
    bool integers;
  };
  for (const Case& c : {Case{1e37F, 1, 1, false}, Case{1, 1e37F, 1, false}, Case{6e35F, 1, 1, true},
                        Case{1e20F, 1e20F, 1e19F, true}, Case{1, 1, 1, true}}) {
    QdqBuilder b;
    const ValueId x = b.input("x", Shape{4}, DType::kU8), z = b.input("z", Shape{4}, DType::kU8);
    const ValueId sum =
        b.g.emit(OpId::kAdd, {b.dequantize(x, {c.a, 0}), b.dequantize(z, {c.b, 0})}, "sum");
    b.g.add_output("y", b.quantize(sum, {c.y, 0}));
    const Lowered l = lower_and_run(b.g, {filled(Shape{4}, 2), filled(Shape{4}, 3)});
    EXPECT_EQ(l.report.integer_nodes() == 1, c.integers) << c.a << " " << c.b << " " << c.y;
    if (!c.integers) {
      EXPECT_THAT(l.report.text(), HasSubstr("the quotient of its scales is not finite"));
    }
    const auto want = run(b.g, std::vector{filled(Shape{4}, 2), filled(Shape{4}, 3)});
    EXPECT_TRUE(same_bits(l.out[0], want[0])) << c.a << " " << c.b << " " << c.y;
  }
}

// Each quantizer of a result, with or without a clamp, makes integers of the layer.
TEST(LowerLimits, AResultThatIsQuantizedTwiceIsIntegersTwice) {
  QdqBuilder b;
  const ValueId x = b.input("x", Shape{1, 2, 6, 6}, DType::kU8);
  const ValueId y =
      b.g.emit(OpId::kConv, ConvAttrs{},
               {b.dequantize(x, {0.02F, 120}), b.weight(Shape{3, 2, 3, 3}, {0.01F})}, "conv");
  b.g.add_output("a", b.quantize(y, {0.5F, 128}));
  b.g.add_output("b", b.quantize(y, {0.25F, 100}));
  b.g.add_output("c", b.quantize(b.g.emit(OpId::kRelu, {y}, "relu"), {0.2F, 0}));
  HostTensor bytes(DType::kU8, Shape{1, 2, 6, 6});
  for (int64_t i = 0; i < bytes.numel(); ++i) bytes.as<uint8_t>()[i] = static_cast<uint8_t>(i * 89);
  const Lowered l = lower_and_run(b.g, {bytes});
  EXPECT_THAT(l.report.stayed, IsEmpty()) << l.report.text();
  EXPECT_EQ(count_of(l.graph, OpId::kConv), 0);
  EXPECT_EQ(count_of(l.graph, OpId::kQLinearConv), 3);
  const auto want = run(b.g, std::vector{bytes});
  for (size_t i = 0; i < want.size(); ++i) {
    for (int64_t k = 0; k < want[i].numel(); ++k)
      EXPECT_NEAR(l.out[i].as<uint8_t>()[k], want[i].as<uint8_t>()[k], 1) << i << " " << k;
  }
}

}  // namespace
}  // namespace wick::ir
