// fuse_integer: what dynamic quantization writes becomes one op, other graphs do not, and no bit
// changes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/rewrite/pass.h"
#include "runtime/kernels/kernel_set.h"
#include "tests/graph/qdq_builder.h"

namespace wick::ir {
namespace {

constexpr int64_t kRows = 5, kIn = 37, kOut = 19;

HostTensor bytes(DType t, const Shape& shape, int seed = 1) {
  HostTensor q(t, shape);
  for (int64_t i = 0; i < q.numel(); ++i)
    q.as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + seed * 101);
  return q;
}

// x -> DynamicQuantizeLinear -> MatMulInteger -> Cast -> Mul by the product of scales -> Add
struct Dynamic : QdqBuilder {
  ValueId x, w, w_scale, w_zero, x_scale, x_zero, sum, reals, product, y;
  DType w_type = DType::kI8;
  Shape x_shape{2, kRows, kIn};

  // Each part may be set first.
  void build(bool zeros = true) {
    x = input("x", x_shape);
    const NodeId q =
        g.add_node(OpId::kDynamicQuantizeLinear, AnyAttrs::of(NoAttrs{}), {x}, 3, "quantize");
    const std::vector<ValueId> made = g.node(q).outputs;
    x_scale = made[1], x_zero = made[2];
    if (!weight_is_set) w = g.add_constant(bytes(w_type, Shape{kIn, kOut}), "w", true);
    if (!scale_is_set) w_scale = number(0.01F);
    std::vector<ValueId> in = {made[0], w};
    if (zeros) in.push_back(x_zero);
    if (zeros && zero_is_set) in.push_back(w_zero);
    sum = g.emit(OpId::kMatMulInteger, in, "sum");
    reals = g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF32)}, {sum}, "reals");
    product = g.emit(OpId::kMul, {x_scale, w_scale}, "scales");
  }
  void scaled() { y = g.emit(OpId::kMul, {reals, product}, "y"); }
  void finish() {
    scaled();
    std::vector<float> bias;
    for (int64_t i = 0; i < kOut; ++i) bias.push_back(0.1F * static_cast<float>(i));
    g.add_output("out", g.emit(OpId::kAdd, {y, numbers(bias)}, "bias"));
  }
  bool weight_is_set = false, scale_is_set = false, zero_is_set = false;
};

// Returns how many QGemm nodes the optimized graph has; checks that its bits are the original
// graph's, on the plain loops and on the SIMD rows.
int fused(const Graph& g, const std::vector<HostTensor>& in) {
  Graph after = g;
  EXPECT_EQ(optimize(after).numerics, Numerics::kExact);
  const std::vector<HostTensor> want = run(g, in);
  for (bool simd : {false, true}) {
    InterpreterOptions options;
    if (simd) options.kernels = {&kCpuKernels, &kReferenceKernels};
    const std::vector<HostTensor> got = run(after, in, options);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(same_bits(got[i], want[i]))
          << "output " << i << (simd ? ", SIMD\n" : ", reference\n") << print(after);
    }
  }
  return static_cast<int>(count_of(after, OpId::kQGemm));
}
HostTensor numbers_of(const Shape& shape) { return wave(shape, 3); }

TEST(FuseInteger, DynamicProductsAreOneOp) {
  Dynamic d;
  d.build();
  d.finish();
  EXPECT_EQ(fused(d.g, {numbers_of(d.x_shape)}), 1);
  Graph after = d.g;
  optimize(after);
  EXPECT_EQ(count_of(after, OpId::kMatMulInteger), 0);
  EXPECT_EQ(count_of(after, OpId::kCast), 0);
}

TEST(FuseInteger, ScalesAndZeroPointsOfEachColumn) {
  for (const DType t : {DType::kI8, DType::kU8}) {
    for (const bool many : {false, true}) {
      Dynamic d;
      d.w_type = t, d.scale_is_set = d.zero_is_set = true;
      std::vector<float> scales;
      for (int64_t i = 0; i < kOut; ++i) scales.push_back(0.003F * static_cast<float>(i + 1));
      d.w_scale = many ? d.numbers(scales) : d.number(0.007F);
      d.w_zero = d.g.add_constant(bytes(t, many ? Shape{kOut} : Shape{}, 3));
      d.build();
      d.finish();
      EXPECT_EQ(fused(d.g, {numbers_of(d.x_shape)}), 1) << dtype_name(t) << many;
    }
  }
}

TEST(FuseInteger, OneRowAndNoZeroPoints) {
  Dynamic row;
  row.x_shape = Shape{kIn};
  row.build();
  row.finish();
  EXPECT_EQ(fused(row.g, {numbers_of(row.x_shape)}), 1);
  Dynamic none;
  none.build(false);
  none.finish();
  EXPECT_EQ(fused(none.g, {numbers_of(none.x_shape)}), 1);
}

TEST(FuseInteger, TheOtherWayRoundAndByOneConstant) {
  Dynamic turned;
  turned.build();
  turned.product = turned.g.emit(OpId::kMul, {turned.w_scale, turned.x_scale});
  turned.y = turned.g.emit(OpId::kMul, {turned.product, turned.reals});
  turned.g.add_output("out", turned.y);
  EXPECT_EQ(fused(turned.g, {numbers_of(turned.x_shape)}), 1);
  Dynamic constant;
  constant.build();
  constant.product = constant.number(0.375F);
  constant.finish();
  EXPECT_EQ(fused(constant.g, {numbers_of(constant.x_shape)}), 1);
}

TEST(FuseInteger, InfinityAndNaNStayWhatTheyWere) {
  Dynamic d;
  d.build();
  d.finish();
  for (const float odd :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN(), 3e38F, 1e-44F}) {
    HostTensor x = numbers_of(d.x_shape);
    x.as<float>()[11] = odd;
    EXPECT_EQ(fused(d.g, {x}), 1) << odd;
  }
  EXPECT_EQ(fused(d.g, {HostTensor(DType::kF32, d.x_shape)}), 1);
}

TEST(FuseInteger, WhatIsNotThatStays) {
  const auto stays = [](const char* what, auto&& change) {
    Dynamic d;
    change(d);
    EXPECT_EQ(fused(d.g, {numbers_of(d.x_shape)}), 0) << what;
  };
  stays("somebody else reads the sum", [](Dynamic& d) {
    d.build();
    d.finish();
    d.g.add_output("sum", d.sum);
  });
  stays("somebody else reads the reals", [](Dynamic& d) {
    d.build();
    d.finish();
    d.g.add_output("reals", d.reals);
  });
  for (const float bad : {0.0F, -0.5F, std::numeric_limits<float>::infinity()}) {
    stays("a scale that QGemm refuses", [bad](Dynamic& d) {
      d.scale_is_set = true, d.w_scale = d.number(bad);
      d.build();
      d.finish();
    });
  }
  stays("each scale rounds alone", [](Dynamic& d) {
    d.build();
    const ValueId once = d.g.emit(OpId::kMul, {d.reals, d.x_scale});
    d.g.add_output("out", d.g.emit(OpId::kMul, {once, d.w_scale}));
  });
  stays("scales of each row", [](Dynamic& d) {
    d.x_shape = Shape{kOut, kIn};  // as many rows as columns
    std::vector<float> rows(static_cast<size_t>(kOut), 0.5F);
    rows[1] = 0.25F;
    d.scale_is_set = true;
    d.w_scale = d.g.add_constant(HostTensor::of<float>(Shape{kOut, 1}, rows));
    d.build();
    d.finish();
  });
  stays("it grows with its scales", [](Dynamic& d) {
    d.scale_is_set = true;
    d.w_scale = d.g.add_constant(HostTensor::of<float>(Shape{1, 1, 1, 1}, {0.5F}));
    d.build();
    d.finish();
  });
}

// QGemm would refuse what is not above 0.
TEST(FuseInteger, AScaleFromElsewhereStays) {
  Dynamic d;
  d.build();
  d.product = d.g.emit(OpId::kMul, {d.input("scale", Shape{}), d.w_scale});
  d.finish();
  for (const float scale : {0.0F, -0.25F, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(fused(d.g, {numbers_of(d.x_shape), HostTensor::of<float>(Shape{}, {scale})}), 0);
  }
}

TEST(FuseInteger, AWeightThatIsComputedStays) {
  Dynamic d;
  d.weight_is_set = true;
  d.w = d.input("w", Shape{kIn, kOut}, DType::kI8);
  d.build();
  d.finish();
  EXPECT_EQ(fused(d.g, {bytes(DType::kI8, Shape{kIn, kOut}), numbers_of(d.x_shape)}), 0);
}

}  // namespace
}  // namespace wick::ir
