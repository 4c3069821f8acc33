// Answers worked out by hand, for properties that a row's double oracle shares with its kernel:
// geometry, bounds, order.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "runtime/core/thread_pool.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

using Doubles = std::vector<double>;

Input given(Shape shape, Doubles values) { return {DType::kF32, shape, 0, 0, std::move(values)}; }

// Runs a sample on the reference and on the SIMD sets; both must have the values, to 1e-6 of each.
void expect(OpId op, const Sample& s, const Shape& shape, const Doubles& want) {
  for (Span<const KernelSet* const> sets : {reference_sets(), cpu_sets()}) {
    std::vector<Value> got;
    std::string kernel;
    Status status =
        run_op(op, s.attrs.get(), make_inputs(s), s.outputs, sets, nullptr, &got, &kernel);
    ASSERT_TRUE(status.ok()) << status.message();
    SCOPED_TRACE(kernel);
    ASSERT_TRUE(got[0].view().shape == shape) << to_text(got[0].view().shape).text;
    for (size_t i = 0; i < want.size(); ++i) {
      double value = got[0].at(static_cast<int64_t>(i));
      if (std::isnan(want[i])) {
        EXPECT_TRUE(std::isnan(value)) << "element " << i << ": " << value;
      } else {
        EXPECT_NEAR(value, want[i], 1e-6 * std::fabs(want[i])) << "element " << i;
      }
    }
  }
}

std::string error_of(OpId op, const Sample& s) {
  std::vector<Value> got;
  Status status =
      run_op(op, s.attrs.get(), make_inputs(s), s.outputs, reference_sets(), nullptr, &got);
  return status.ok() ? "" : status.message();
}

PoolAttrs window(int64_t size, int64_t stride, int64_t pad, bool ceil_mode) {
  PoolAttrs a;
  a.kernel_shape = {size, size};
  a.strides = {stride, stride};
  a.pads = {pad, pad, pad, pad};
  a.ceil_mode = ceil_mode;
  return a;
}

Input whole(Shape shape, Doubles values) { return {DType::kI64, shape, 0, 0, std::move(values)}; }

// Every two of these numbers, in every dtype: what PRelu was made of before it was an op.
TEST(KnownValues, PReluHasTheBitsOfItsPieces) {
  const double inf = INFINITY;
  const Doubles some = {0,   -0.0, 1,    -1,    0.3,  -0.7,  2.5, -3,  65504, -65504, 1e-40, -1e-40,
                        inf, -inf, 3e38, -3e38, 6e-8, -6e-8, NAN, 127, -128,  255,    -2.5};
  const auto n = static_cast<int64_t>(some.size());
  for (DType t : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64,
                  DType::kI8, DType::kU8}) {
    Value x(t, {n, n}), slope(t, {n, n}), zero(t, {});
    zero.set(0, 0);
    for (int64_t i = 0; i < n * n; ++i) {
      for (auto& [v, of] : {std::pair{&x, i / n}, {&slope, i % n}}) {
        const double number = some[static_cast<size_t>(of)];
        v->set(i, is_int(t) ? static_cast<double>(of * 11 % 256) - (t == DType::kU8 ? 0 : 128)
                            : number);
      }
    }
    const auto run = [&](OpId op, const std::vector<Value>& in, Span<const KernelSet* const> sets) {
      const NoAttrs none;
      std::vector<Value> got;
      const Status status = run_op(op, &none, in, 1, sets, nullptr, &got);
      EXPECT_TRUE(status.ok()) << status.message();
      return got[0];
    };
    const Span<const KernelSet* const> plain = reference_sets();
    const Value below = run(OpId::kLess, {x, zero}, plain),
                product = run(OpId::kMul, {x, slope}, plain);
    const Value want = run(OpId::kWhere, {below, product, x}, plain);
    for (Span<const KernelSet* const> sets : {plain, cpu_sets()})
      EXPECT_EQ(bits_differ(run(OpId::kPRelu, {x, slope}, sets).view(), want.view()), "")
          << dtype_name(t);
  }
}

TEST(KnownValues, PReluRefusesASlopeWiderThanX) {
  for (const Shape& slope : {Shape{2, 1}, Shape{1, 3}, Shape{2}}) {
    EXPECT_NE(error_of(OpId::kPRelu, sample("wide", {f32({3}), f32(slope)}))
                  .find("the slope does not broadcast to x"),
              std::string::npos)
        << to_text(slope).text;
  }
  EXPECT_NE(error_of(OpId::kPRelu, sample("types", {f32({3}), of(DType::kF64, {3})})), "");
}

TEST(KnownValues, Range) {
  auto range = [](double start, double limit, double step) {
    return sample("range", {whole({}, {start}), whole({1}, {limit}), whole({}, {step})});
  };
  expect(OpId::kRange, range(-2, 3, 1), {5}, {-2, -1, 0, 1, 2});
  expect(OpId::kRange, range(0, 7, 3), {3}, {0, 3, 6});
  expect(OpId::kRange, range(4, -5, -4), {3}, {4, 0, -4});
  expect(OpId::kRange, range(4, 4, -1), {0}, {});
  EXPECT_NE(error_of(OpId::kRange, range(0, 1, 0)), "");
  EXPECT_NE(error_of(OpId::kRange, range(-9e18, 9e18, 1)), "") << "more than any tensor holds";
}

// Boxes 0 and 1 share 2/3 of what they cover; 2 lies apart; 3 is 0 seen from its other corner.
TEST(KnownValues, NonMaxSuppression) {
  Input boxes = given({1, 4, 4}, {0, 0, 1, 1, 0, 0.2, 1, 1.2, 0, 5, 1, 6, 1, 1, 0, 0});
  Input scores = given({1, 1, 4}, {0.5, 0.9, 0.7, 0.5});
  auto nms = [&](double most, double iou, double least) {
    return sample("nms", {boxes, scores, whole({}, {most}), given({1}, {iou}), given({}, {least})});
  };
  expect(OpId::kNonMaxSuppression, nms(4, 0.5, 0), {2, 3}, {0, 0, 1, 0, 0, 2});
  expect(OpId::kNonMaxSuppression, nms(4, 0.7, 0), {3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0});
  expect(OpId::kNonMaxSuppression, nms(1, 0.7, 0), {1, 3}, {0, 0, 1});
  expect(OpId::kNonMaxSuppression, nms(4, 1, 0.5), {2, 3}, {0, 0, 1, 0, 0, 2});
  expect(OpId::kNonMaxSuppression, nms(4, 1, 0), {4, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 3});
  expect(OpId::kNonMaxSuppression, nms(-1, 1, 0), {0, 3}, {});
}

// x = 1 .. 16 as 4x4. Windows of 3, stride 2, hang over the edge by one: what hangs over never
// counts.
TEST(KnownValues, AveragePoolCeilMode) {
  Doubles x;
  for (int i = 1; i <= 16; ++i) x.push_back(i);
  PoolAttrs a = window(3, 2, 0, true);
  Doubles want = {6, 7.5, 12, 13.5};
  expect(OpId::kAveragePool, sample("ceil", {given({1, 1, 4, 4}, x)}, a), {1, 1, 2, 2}, want);
  a.count_include_pad = 1;
  expect(OpId::kAveragePool, sample("ceil, pads count", {given({1, 1, 4, 4}, x)}, a), {1, 1, 2, 2},
         want);
  a.ceil_mode = 0;
  expect(OpId::kAveragePool, sample("floor", {given({1, 1, 4, 4}, x)}, a), {1, 1, 1, 1}, {6});
}

TEST(KnownValues, AveragePoolCountsPads) {
  Doubles x = {4, 8, 12, 16};
  PoolAttrs a = window(2, 1, 1, false);
  expect(OpId::kAveragePool, sample("pads do not count", {given({1, 1, 2, 2}, x)}, a), {1, 1, 3, 3},
         {4, 6, 8, 8, 10, 12, 12, 14, 16});
  a.count_include_pad = 1;
  expect(OpId::kAveragePool, sample("pads count", {given({1, 1, 2, 2}, x)}, a), {1, 1, 3, 3},
         {1, 3, 2, 4, 10, 6, 3, 7, 4});
}

// A last window that would start in the right padding is dropped.
// Bytes are turned in blocks; what stands beside whole blocks, too.
TEST(KnownValues, TransposedBytesStandWhereTheyBelong) {
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>{8, 8}, {17, 33}, {9, 64}, {23, 7}}) {
    const Sample s =
        sample("bytes", {of(DType::kU8, {3, h, w}, 0, 256)}, TransposeAttrs{{0, 2, 1}});
    const std::vector<Value> in = make_inputs(s);
    std::vector<Value> got;
    ASSERT_TRUE(run_op(OpId::kTranspose, s.attrs.get(), in, 1, cpu_sets(), nullptr, &got).ok());
    ASSERT_EQ(got[0].view().shape, (Shape{3, w, h}));
    for (int64_t i = 0; i < 3 * h * w; ++i) {
      const int64_t image = i / (h * w), row = i / w % h, column = i % w;
      ASSERT_EQ(got[0].at((image * w + column) * h + row), in[0].at(i))
          << h << "x" << w << " " << i;
    }
  }
}

TEST(KnownValues, MaxPoolCeilModeDropsWindowsInThePadding) {
  Doubles x = {1, 2, 3, 4};
  expect(OpId::kMaxPool, sample("1", {given({1, 1, 2, 2}, x)}, window(1, 2, 0, true)), {1, 1, 1, 1},
         {1});
  expect(OpId::kMaxPool, sample("2", {given({1, 1, 2, 2}, x)}, window(2, 3, 1, true)), {1, 1, 1, 1},
         {1});
}

TEST(KnownValues, ConvSwapsNothing) {
  ConvAttrs a;
  a.strides = {2, 1};
  a.pads = {0, 1, 0, 0};
  Doubles x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  expect(OpId::kConv, sample("strides", {given({1, 1, 3, 3}, x), given({1, 1, 1, 2}, {10, 1})}, a),
         {1, 1, 2, 3}, {1, 12, 23, 7, 78, 89});
}

// A padded tap is a multiply-add with 0 on every kernel: an infinite weight there makes a NaN.
TEST(KnownValues, ConvMultipliesPaddedTaps) {
  ConvAttrs a;
  a.pads = {0, 1, 0, 0};
  expect(OpId::kConv,
         sample("inf", {given({1, 1, 1, 1}, {1}), given({1, 1, 1, 2}, {INFINITY, 1})}, a),
         {1, 1, 1, 1}, {NAN});
}

TEST(KnownValues, SoftmaxOfLargeValues) {
  expect(OpId::kSoftmax, sample("large", {given({1, 2}, {1000, 1000})}, AxisAttrs{1}), {1, 2},
         {0.5, 0.5});
  expect(OpId::kSoftmax,
         sample("columns", {given({2, 2}, {-2000, 3000, -2000, -3000})}, AxisAttrs{0}), {2, 2},
         {0.5, 1, 0.5, 0});
  expect(OpId::kLogSoftmax, sample("log", {given({1, 2}, {500, -500})}, AxisAttrs{1}), {1, 2},
         {0, -1000});
}

TEST(KnownValues, SliceBackwards) {
  Doubles x = {0, 1, 2, 3, 4, 5};
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  expect(OpId::kSlice, sample("all", {given({6}, x)}, SliceAttrs{{-1}, {kLow}, {0}, {-1}}), {6},
         {5, 4, 3, 2, 1, 0});
  expect(OpId::kSlice, sample("steps", {given({6}, x)}, SliceAttrs{{4}, {-6}, {0}, {-2}}), {2},
         {4, 2});
  expect(OpId::kSlice,
         sample("rows", {given({2, 3}, x)}, SliceAttrs{{1, 2}, {-3, 0}, {0, 1}, {-1, -1}}), {2, 2},
         {5, 4, 2, 1});
  // a start before the axis is clamped to its first element, which is taken
  expect(OpId::kSlice, sample("before", {given({6}, x)}, SliceAttrs{{-9}, {kLow}, {0}, {-1}}), {1},
         {0});
  expect(OpId::kSlice, sample("none", {given({0}, {})}, SliceAttrs{{-9}, {kLow}, {0}, {-1}}), {0},
         {});
}

TEST(KnownValues, TransposeAndConcat) {
  Doubles x = {1, 2, 3, 4, 5, 6};
  expect(OpId::kTranspose, sample("2d", {given({2, 3}, x)}, TransposeAttrs{{1, 0}}), {3, 2},
         {1, 4, 2, 5, 3, 6});
  expect(OpId::kTranspose, sample("cycle", {given({1, 2, 3}, x)}, TransposeAttrs{{2, 0, 1}}),
         {3, 1, 2}, {1, 4, 2, 5, 3, 6});
  expect(OpId::kConcat,
         sample("columns", {given({2, 1}, {1, 2}), given({2, 2}, {3, 4, 5, 6})}, AxisAttrs{1}),
         {2, 3}, {1, 3, 4, 2, 5, 6});
}

TEST(KnownValues, ArgMaxFirstAndLast) {
  Doubles x = {1, 3, 3, NAN, 2, NAN};
  expect(OpId::kArgMax, sample("first", {given({2, 3}, x)}, ArgAttrs{1, 0, 0}), {2}, {1, 0});
  expect(OpId::kArgMax, sample("last", {given({2, 3}, x)}, ArgAttrs{1, 0, 1}), {2}, {2, 2});
}

TEST(KnownValues, IndicesFromTheEndAndOutOfRange) {
  Doubles x = {10, 20, 30};
  expect(OpId::kGather, sample("end", {given({3}, x), ints({-1, 0, -3})}, AxisAttrs{0}), {3},
         {30, 10, 10});
  for (double bad : {3.0, -4.0}) {
    EXPECT_NE(error_of(OpId::kGather, sample("bad", {given({3}, x), ints({bad})}, AxisAttrs{0}))
                  .find("out of bounds"),
              std::string::npos)
        << bad;
  }
}

TEST(KnownValues, ScatterAddsInInputOrder) {
  // (1e8 - 1e8) + 1 is 1 in float32, (1 - 1e8) + 1e8 is 0
  Sample s = sample("order", {given({1}, {0}), ints({0, 0, 0}), given({3}, {1e8, -1e8, 1})},
                    ScatterAttrs{0, 1});
  expect(OpId::kScatterElements, s, {1}, {1});
}

TEST(KnownValues, RoundIsHalfToEven) {
  expect(OpId::kRound, sample("ties", {given({6}, {0.5, 1.5, 2.5, -0.5, -1.5, -2.5})}), {6},
         {0, 2, 2, 0, -2, -2});
}

// Attributes a file may hold: what does not fit is an error, never a small shape or divisor.
TEST(KnownValues, WhatDoesNotFitInt64IsAnError) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Input x = given({3}, {1, 2, 3}), image = given({1, 1, 1, 1, 1}, {4});
  PadAttrs pads;
  pads.pads = {kMax, kMax};  // 3 + 2 (2^63 - 1) is 1 in 64 bits
  EXPECT_NE(error_of(OpId::kPad, sample("pad", {x}, pads)), "");
  PoolAttrs pool;
  pool.kernel_shape = {1 << 21, 1 << 21, 1 << 21};
  pool.pads = {(1 << 21) - 1, (1 << 21) - 1, (1 << 21) - 1, 0, 0, 0};
  pool.count_include_pad = 1;
  EXPECT_NE(error_of(OpId::kAveragePool, sample("2^63 positions", {image}, pool)), "");
  pool.kernel_shape = {kMax, 1, 1};
  EXPECT_NE(error_of(OpId::kAveragePool, sample("kernel", {image}, pool)), "");
  const int64_t large = int64_t{1} << 40;
  EXPECT_NE(error_of(OpId::kExpand,
                     sample("empty, and 2^80", {given({1}, {1})}, ShapeAttrs{{large, large, 0}})),
            "");
  ConvAttrs conv;
  conv.group = 0x5555555555555556;  // 3 of them are 2 in 64 bits
  const Input channels = given({1, 2, 1}, {1, 2}), none = given({0, 3, 1}, {});
  EXPECT_NE(error_of(OpId::kConv, sample("group", {channels, none}, conv)), "");
}

TEST(KnownValues, SliceByTheLargestSteps) {
  const Input x = given({2, 3}, {1, 2, 3, 4, 5, 6});
  for (int64_t step : {std::numeric_limits<int64_t>::max(), int64_t{4}, int64_t{1} << 62}) {
    SliceAttrs a;
    a.starts = {0, 1};
    a.ends = {2, 3};
    a.steps = {step, step};
    expect(OpId::kSlice, sample("up", {x}, a), {1, 1}, {2});
    a.starts = {1, 2};
    a.ends = {-3, -4};
    a.steps = {-step, std::numeric_limits<int64_t>::min()};
    expect(OpId::kSlice, sample("down", {x}, a), {1, 1}, {6});
  }
}

}  // namespace
}  // namespace wick::test
