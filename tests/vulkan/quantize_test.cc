// Quantization: the CPU's integers, ties among them, for every pair of dtypes and form of scale.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

Value with(DType t, const Shape& shape, const std::vector<double>& values) {
  Value v(t, shape);
  for (int64_t i = 0; i < v.view().numel(); ++i)
    v.set(i, values[static_cast<size_t>(i) % values.size()]);
  return v;
}
Value random(DType t, const Shape& shape, double lo, double hi, const char* name) {
  return make_inputs(sample(name, {of(t, shape, lo, hi)}))[0];
}

constexpr DType kIntegers[] = {DType::kI8, DType::kU8, DType::kI16, DType::kU16,
                               DType::kI4, DType::kU4, DType::kI2,  DType::kU2};
constexpr DType kSmallFloats[] = {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
                                  DType::kF8E5M2FNUZ, DType::kF4E2M1};
// A zero point that the type has.
double zero_of(DType t) { return t == DType::kI2 || t == DType::kU2 ? 1 : 3; }

// Whole numbers and a half of powers of two are ties; others lie a unit from one.
Value ties(DType t) {
  std::vector<double> v;
  for (int i = -700; i <= 700; ++i) v.push_back(i * 0.25);
  for (int i = -300; i <= 300; ++i) {
    const auto tie = static_cast<float>((i + 0.5) * 0.1);
    for (float x : {tie, std::nextafter(tie, 1e9f), std::nextafter(tie, -1e9f)}) v.push_back(x);
  }
  for (double x : {1e30, -1e30, 1e-40, 65504.0, 3e38}) v.push_back(x);
  if (t != DType::kI32)
    v.insert(v.end(), {INFINITY, -INFINITY, NAN});
  else
    for (double& x : v) x = std::floor(std::fmod(x, 1e9));
  return with(t, {static_cast<int64_t>(v.size())}, v);
}

TEST(VulkanQuantize, TiesOfEveryDtype) {
  WICK_NEED_DEVICE();
  struct Types {
    DType x, scale;
  };
  for (Types t : {Types{DType::kF32, DType::kF32}, Types{DType::kF16, DType::kF16},
                  Types{DType::kBF16, DType::kBF16}, Types{DType::kI32, DType::kF32},
                  Types{DType::kI32, DType::kI32}, Types{DType::kF32, DType::kF8E8M0}}) {
    for (double scale : {0.1, 0.5, 3.0}) {
      if (t.scale == DType::kF8E8M0 || t.scale == DType::kI32) scale = scale < 1 ? 2 : 4;
      const Value s = with(t.scale, {}, {scale});
      for (DType y : kIntegers) {
        const bool often = y == DType::kI8 || y == DType::kU16 || y == DType::kI4;
        if (t.x != DType::kF32 && !often) continue;
        EXPECT_EQ(differs_from_cpu(OpId::kQuantizeLinear, AnyAttrs::of(QuantizeAttrs{}).get(),
                                   {ties(t.x), s, with(y, {}, {zero_of(y)})}),
                  "")
            << dtype_name(t.x) << " / " << scale << " to " << dtype_name(y);
      }
    }
  }
}

TEST(VulkanQuantize, SmallFloats) {
  WICK_NEED_DEVICE();
  for (DType y : kSmallFloats) {
    for (int64_t saturate : {0, 1}) {
      QuantizeAttrs a;
      a.saturate = saturate;
      for (double zero : {0.0, 1.5}) {
        EXPECT_EQ(differs_from_cpu(
                      OpId::kQuantizeLinear, &a,
                      {ties(DType::kF32), with(DType::kF32, {}, {0.3}), with(y, {}, {zero})}),
                  "")
            << dtype_name(y) << " " << zero;
      }
    }
  }
}

// One number, one an index of the axis, one a block; the scale of 0 that a run may bring.
TEST(VulkanQuantize, FormsOfScale) {
  WICK_NEED_DEVICE();
  const Shape shape{3, 6, 5};
  const Value x = random(DType::kF32, shape, -20, 20, "x");
  for (int64_t axis : {0, 1, 2, -2}) {
    const int at = static_cast<int>(axis < 0 ? axis + 3 : axis);
    QuantizeAttrs a;
    DequantizeAttrs back;
    a.axis = back.axis = axis;
    for (DType t : {DType::kI8, DType::kU4}) {
      const Value scale = random(DType::kF32, {shape[at]}, 0.1, 0.5, "s");
      const Value zero = random(t, {shape[at]}, 0, 5, "z");
      EXPECT_EQ(differs_from_cpu(OpId::kQuantizeLinear, &a, {x, scale, zero}), "") << axis;
      EXPECT_EQ(differs_from_cpu(OpId::kDequantizeLinear, &back,
                                 {random(t, shape, 0, 7, "q"), scale, zero}),
                "")
          << axis;
      Shape blocks = shape;
      blocks[at] = (shape[at] + 1) / 2;
      QuantizeAttrs blocked = a;
      DequantizeAttrs blocked_back = back;
      blocked.block_size = blocked_back.block_size = 2;
      const Value scales = random(DType::kF32, blocks, 0.1, 0.5, "bs");
      const Value zeros = random(t, blocks, 0, 5, "bz");
      EXPECT_EQ(differs_from_cpu(OpId::kQuantizeLinear, &blocked, {x, scales, zeros}), "") << axis;
      EXPECT_EQ(differs_from_cpu(OpId::kDequantizeLinear, &blocked_back,
                                 {random(t, shape, 0, 7, "q"), scales, zeros}),
                "")
          << axis;
    }
  }
  QuantizeAttrs a;
  WICK_EXPECT_AS_CPU(OpId::kQuantizeLinear, &a, x, with(DType::kF32, {}, {0.0}));
  WICK_EXPECT_AS_CPU(OpId::kQuantizeLinear, &a, x, with(DType::kF32, {}, {-0.25}));
}

TEST(VulkanQuantize, BackFromEveryDtype) {
  WICK_NEED_DEVICE();
  for (DType t : {DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI4, DType::kU4,
                  DType::kI2, DType::kF8E4M3FN, DType::kF8E5M2FNUZ, DType::kF4E2M1, DType::kI32}) {
    for (DType s : {DType::kF32, DType::kF16, DType::kBF16}) {
      if (s != DType::kF32 && t != DType::kI8 && t != DType::kI32 && t != DType::kF8E4M3FN)
        continue;
      const Value x = t == DType::kI32 ? with(t, {5}, {2147483647.0, -2147483648.0, 1, -7, 0})
                                       : with(t, {7}, {0, 1, 1, 0, 1, 0, 1});
      DequantizeAttrs a;
      EXPECT_EQ(differs_from_cpu(OpId::kDequantizeLinear, &a,
                                 {x, with(s, {}, {0.375}), with(t, {}, {1})}),
                "")
          << dtype_name(t) << " to " << dtype_name(s);
      EXPECT_EQ(differs_from_cpu(OpId::kDequantizeLinear, &a, {x, with(s, {}, {0.375})}), "");
    }
  }
}

TEST(VulkanQuantize, RangesOfARun) {
  WICK_NEED_DEVICE();
  const std::vector<std::vector<double>> all = {
      {1, 2.5, -3, 0.1}, {1, 2, 3},     {-1, -2},        {0},
      {NAN, 1, -4},      {INFINITY, 1}, {1e-45, -1e-44}, {0.1, 25.4, -0.1, 12.7}};
  for (const auto& v : all) {
    for (int64_t n : {1, 7, 1000}) {
      EXPECT_EQ(
          differs_from_cpu(OpId::kDynamicQuantizeLinear, nullptr, {with(DType::kF32, {n}, v)}, 3),
          "")
          << v[0] << " " << n;
    }
  }
  EXPECT_EQ(differs_from_cpu(OpId::kDynamicQuantizeLinear, nullptr,
                             {random(DType::kF32, {37, 41}, -3, 5, "x")}, 3),
            "");
}

TEST(VulkanQuantize, BytesByElement) {
  WICK_NEED_DEVICE();
  for (DType t : {DType::kI8, DType::kU8}) {
    const double lo = t == DType::kI8 ? -128 : 0;
    const Value a = random(t, {5, 1, 51}, lo, lo + 255, "a"),
                b = random(t, {7, 51}, lo, lo + 255, "b"), zero = with(t, {}, {lo + 100}),
                other = with(t, {}, {lo + 3});
    for (double scale : {0.125, 0.07}) {
      const auto s = [&](double v) { return with(DType::kF32, {}, {v}); };
      for (OpId op : {OpId::kQLinearAdd, OpId::kQLinearMul}) {
        EXPECT_EQ(
            differs_from_cpu(op, nullptr, {a, s(scale), zero, b, s(0.25), other, s(0.5), zero}), "")
            << find_op(op)->name;
      }
    }
    for (double y : {0.25, 0.07, 0.001}) {  // with 0.25 and slopes of halves, steps are ties
      const auto s = [&](double v) { return with(DType::kF32, {}, {v}); };
      const Value halves = with(DType::kF32, {51}, {0.5, -1.5, 2, 0, INFINITY, -INFINITY, NAN}),
                  any = random(DType::kF32, {5, 1, 1}, -2, 2, "slope");
      for (const Value& slope : {halves, any}) {
        EXPECT_EQ(
            differs_from_cpu(OpId::kQLinearPRelu, nullptr, {a, s(0.25), zero, slope, s(y), other}),
            "")
            << y;
      }
    }
    WICK_EXPECT_AS_CPU(OpId::kByteTable, nullptr, a, random(t, {256}, lo, lo + 255, "table"));
    WICK_EXPECT_AS_CPU(OpId::kByteTable, nullptr, a, random(DType::kF32, {256}, -1, 1, "table"));
  }
}

}  // namespace
}  // namespace wick::test
