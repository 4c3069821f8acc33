// Ops by indices, along an axis and of bytes, in cases that the rows' samples do not cover: every
// dtype, long lines, many updates, each way that a lowering may take. The CPU gives the right bits:
// sums take its order.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/run_call.h"

namespace wick::test {
namespace {

void same_as_cpu(OpId op, const Sample& s) {
  SCOPED_TRACE(std::string(find_op(op)->name) + " " + s.name);
  const auto in = make_inputs(s);
  std::vector<Value> want;
  Status status = run_op(op, s.attrs.get(), in, s.outputs, reference_sets(), nullptr, &want);
  ASSERT_TRUE(status.ok()) << status.message();
  // Staged: what lies in the outputs before is NaN.
  std::vector<Value> got;
  for (const Value& w : want) got.emplace_back(w.view().dtype, w.view().shape);
  status = run_call(*shared_context(true), op, s, in, got);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(bits_differ(got[i].view(), want[i].view()), "") << "output " << i;
}

// The device says so where the CPU does.
void fails_as_cpu(OpId op, const Sample& s, const Value& like) {
  SCOPED_TRACE(std::string(find_op(op)->name) + " " + s.name);
  const auto in = make_inputs(s);
  std::vector<Value> out;
  Status status = run_op(op, s.attrs.get(), in, s.outputs, reference_sets(), nullptr, &out);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  out.clear();
  out.emplace_back(like.view().dtype, like.view().shape);
  status = run_call(*shared_context(false), op, s, in, out);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.message();
  EXPECT_STREQ(status.message(), "an index is out of range");
}

// Indices of [-extent, extent), each many times.
Input indices(DType dtype, const Shape& shape, int64_t extent, int64_t wrong_at = -1,
              double wrong = 0) {
  Input input = of(dtype, shape, 0, 0);
  for (int64_t i = 0, n = numel(shape); i < n; ++i) {
    const int64_t at = (i * 7919 + i / 5) % (2 * extent) - extent;
    input.values.push_back(i == wrong_at ? wrong : static_cast<double>(at));
  }
  return input;
}

constexpr DType kNumbers[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8,
                              DType::kU8,  DType::kI16, DType::kU16,  DType::kI32,
                              DType::kU32, DType::kI64, DType::kU64,  DType::kF64};

// Few different numbers, so that there are ties, and what has an order of its own.
Input with_ties(DType dtype, const Shape& shape) {
  Input input = of(dtype, shape, 0, 0);
  const bool real = is_float(dtype), is_signed = real || is_signed_int(dtype);
  const double odd[] = {-0.0, 0.0, NAN, INFINITY, -INFINITY};
  for (int64_t i = 0, n = numel(shape); i < n; ++i) {
    const int64_t h = (i * 2654435761 >> 7) % 23;
    if (real && h < 5) {
      input.values.push_back(odd[h]);
    } else {
      input.values.push_back(static_cast<double>(is_signed ? h - 11 : h));
    }
  }
  return input;
}

TEST(VulkanIndex, FirstsOfEveryDtype) {
  WICK_NEED_DEVICE();
  for (DType t : kNumbers) {
    // short and long lines, along the last axis and across it
    for (const Shape& shape : {Shape{7, 40, 3}, Shape{2, 300, 3}, Shape{70000, 2, 1}}) {
      if (shape[0] == 70000 && t != DType::kF32) continue;
      for (int64_t last : {0, 1}) {
        if (last == 1 && shape[1] == 300 && t != DType::kF32) continue;
        const Sample s = sample(dtype_name(t), {with_ties(t, shape)}, ArgAttrs{1, 0, last});
        same_as_cpu(OpId::kArgMax, s);
        same_as_cpu(OpId::kArgMin, s);
      }
      for (int64_t largest : {0, 1}) {
        const int64_t k = shape[1] == 2 ? 2 : 33;
        same_as_cpu(OpId::kTopK,
                    sample(dtype_name(t), {with_ties(t, shape)}, TopKAttrs{k, 1, largest, 1}, 2));
      }
    }
  }
}

TEST(VulkanIndex, ScattersOfEveryDtype) {
  WICK_NEED_DEVICE();
  for (DType t : kNumbers) {
    for (int64_t reduction = 0; reduction <= 4; ++reduction) {
      const DType index = reduction % 2 == 0 ? DType::kI64 : DType::kI32;
      const std::string name = std::string(dtype_name(t)) + " " + std::to_string(reduction);
      // an element looks for its updates
      same_as_cpu(
          OpId::kScatterElements,
          sample(name + " elements",
                 {of(t, {5, 9, 3}, 0, 7), indices(index, {4, 30, 2}, 9), of(t, {4, 30, 2}, 0, 3)},
                 ScatterAttrs{1, reduction}));
      if (t != DType::kF32 && t != DType::kI64 && reduction != 1) continue;
      // a line takes its updates; tuples; a place takes those of all tuples
      same_as_cpu(OpId::kScatterElements,
                  sample(name + " lines",
                         {of(t, {9, 80}, 0, 7), indices(index, {70, 78}, 9), of(t, {70, 78}, 0, 3)},
                         ScatterAttrs{0, reduction}));
      same_as_cpu(OpId::kScatterND, sample(name + " tuples",
                                           {of(t, {4, 5, 3}, 0, 7), indices(index, {2, 8, 2}, 4),
                                            of(t, {2, 8, 3}, 0, 3)},
                                           ScatterNDAttrs{reduction}));
      same_as_cpu(OpId::kScatterND,
                  sample(name + " places",
                         {of(t, {6, 65}, 0, 7), indices(index, {70, 1}, 6), of(t, {70, 65}, 0, 3)},
                         ScatterNDAttrs{reduction}));
    }
  }
  const Input nan = {DType::kF32, {2, 6}, 0, 0, {NAN, 1, -0.0, 0, 2, -2, 3, NAN, 0, -0.0, 2, 1}};
  const Input places = {DType::kI64, {2, 6}, 0, 0, {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, -1, -2}};
  for (int64_t reduction : {3, 4})
    same_as_cpu(OpId::kScatterElements,
                sample("NaN", {nan, places, nan}, ScatterAttrs{0, reduction}));
  for (DType t : {DType::kBool, DType::kF8E4M3FN}) {
    const double hi = t == DType::kF8E4M3FN ? 8 : 1;
    same_as_cpu(
        OpId::kScatterElements,
        sample(dtype_name(t),
               {of(t, {9, 5}, -hi, hi), indices(DType::kI64, {7, 5}, 9), of(t, {7, 5}, -hi, hi)},
               ScatterAttrs{0, 0}));
  }
}

TEST(VulkanIndex, TuplesGatherEveryWidth) {
  WICK_NEED_DEVICE();
  for (DType t : {DType::kF32, DType::kF16, DType::kBool, DType::kI64, DType::kU8}) {
    same_as_cpu(
        OpId::kGatherND,
        sample(dtype_name(t), {of(t, {3, 4, 5, 7}, 0, 1), indices(DType::kI32, {3, 9, 2}, 4)},
               GatherNDAttrs{1}));
    same_as_cpu(OpId::kTrilu, sample(dtype_name(t), {of(t, {3, 37, 41}, 0, 1)}, TriluAttrs{0, -3}));
    same_as_cpu(OpId::kTrilu, sample(dtype_name(t), {of(t, {3, 37, 41}, 0, 1)}, TriluAttrs{1, 5}));
  }
}

TEST(VulkanIndex, AWrongIndexIsAnError) {
  WICK_NEED_DEVICE();
  for (double wrong : {9.0, -10.0, 4294967296.0}) {
    for (DType t : {DType::kI64, DType::kI32}) {
      if (t == DType::kI32 && wrong > 9) continue;
      const Value small(DType::kF32, {9, 4}), wide(DType::kF32, {9, 80});
      fails_as_cpu(OpId::kScatterElements,
                   sample("elements", {f32({9, 4}), indices(t, {3, 4}, 9, 11, wrong), f32({3, 4})},
                          ScatterAttrs{0, 0}),
                   small);
      fails_as_cpu(
          OpId::kScatterElements,
          sample("lines", {f32({9, 80}), indices(t, {70, 80}, 9, 5000, wrong), f32({70, 80})},
                 ScatterAttrs{0, 1}),
          wide);
      fails_as_cpu(OpId::kScatterND,
                   sample("tuples", {f32({9, 4}), indices(t, {3, 1}, 9, 1, wrong), f32({3, 4})},
                          ScatterNDAttrs{}),
                   small);
      fails_as_cpu(
          OpId::kScatterND,
          sample("places", {f32({9, 80}), indices(t, {70, 1}, 9, 69, wrong), f32({70, 80})},
                 ScatterNDAttrs{1}),
          wide);
      fails_as_cpu(
          OpId::kGatherND,
          sample("tuples", {f32({9, 4}), indices(t, {9, 1}, 9, 8, wrong)}, GatherNDAttrs{}), small);
    }
  }
}

TEST(VulkanIndex, RunningSumsOfEveryDtype) {
  WICK_NEED_DEVICE();
  for (DType t : kNumbers) {
    for (int64_t way = 0; way < 4; ++way) {
      if (way != 1 && t != DType::kF32 && t != DType::kI64) continue;
      const Sample s = sample(dtype_name(t), {of(t, {3, 130, 5}, is_signed_int(t) ? -3 : 0, 3)},
                              CumulateAttrs{1, way / 2, way % 2});
      same_as_cpu(OpId::kCumSum, s);
      same_as_cpu(OpId::kCumProd, s);
    }
  }
}

TEST(VulkanIndex, AScaleThatIsNoneIsAnError) {
  WICK_NEED_DEVICE();
  const auto one = [](DType t, double v) { return Input{t, {}, 0, 0, {v}}; };
  for (double bad : {0.0, -1.0, static_cast<double>(INFINITY), static_cast<double>(NAN), 1e38}) {
    const Sample s =
        sample("scale", {of(DType::kU8, {3, 5}, 0, 9), one(DType::kF32, bad), one(DType::kU8, 3),
                         of(DType::kI8, {5, 2}, 0, 9), one(DType::kF32, 0.5), one(DType::kI8, 0),
                         one(DType::kF32, 1e-3), one(DType::kU8, 0)});
    const auto in = make_inputs(s);
    std::vector<Value> out;
    EXPECT_EQ(
        run_op(OpId::kQLinearMatMul, s.attrs.get(), in, 1, reference_sets(), nullptr, &out).code(),
        Code::kInvalidArgument);
    out.clear();
    out.emplace_back(DType::kU8, Shape{3, 2});
    EXPECT_EQ(run_call(*shared_context(false), OpId::kQLinearMatMul, s, in, out).code(),
              Code::kInvalidArgument)
        << bad;
  }
}

TEST(VulkanIndex, ReductionsOfEveryDtype) {
  WICK_NEED_DEVICE();
  for (DType t : kNumbers) {
    if (is_float(t) && t != DType::kF64) continue;
    const double lo = is_unsigned_int(t) ? 0 : -9;
    const Sample s = sample(dtype_name(t), {of(t, {3, 70, 5}, lo, 9)}, ReduceAttrs{{1}, 0, 0});
    const Sample ties = sample("ties", {with_ties(t, {2, 9000})}, ReduceAttrs{{-1}, 1, 0});
    same_as_cpu(OpId::kReduceSum, s);
    same_as_cpu(OpId::kReduceMax, ties);
    if (t != DType::kI8 && t != DType::kU32 && t != DType::kI64 && t != DType::kF64) continue;
    same_as_cpu(OpId::kReduceProd, s);
    same_as_cpu(OpId::kReduceMin, ties);
  }
  // blocks, lanes and their order
  for (OpId op : {OpId::kReduceSum, OpId::kReduceProd})
    same_as_cpu(op,
                sample("f64", {of(DType::kF64, {2, 9001}, -1.001, 1.001)}, ReduceAttrs{{1}, 0, 0}));
  for (OpId op : {OpId::kReduceMax, OpId::kReduceMin})
    same_as_cpu(op, sample("bool", {of(DType::kBool, {40, 3}, -1, 1)}, ReduceAttrs{{1}, 0, 0}));
}

// Every product of two bytes by multipliers of all sizes: ties, numbers a float cannot hold,
// results beyond a byte.
TEST(VulkanIndex, BytesOfEverySumAndScale) {
  WICK_NEED_DEVICE();
  std::vector<double> all, scales;
  for (int i = 0; i < 256; ++i) all.push_back(i);
  for (int e = -26; e <= 2; ++e) {
    for (double m : {1.0, 1.5, 1.9999998807907104, 1.0 / 3 + 1})
      scales.push_back(static_cast<double>(static_cast<float>(std::ldexp(m, e))));
  }
  for (double tiny : {1e-40, 1.4e-45, 1e38}) scales.push_back(tiny);
  const auto n = static_cast<int64_t>(scales.size());
  const auto one = [](DType t, double v) { return Input{t, {}, 0, 0, {v}}; };
  for (double factor : {1.0, 37.0, -128.0}) {
    const Input b = {DType::kI8, {1, n}, 0, 0, std::vector<double>(static_cast<size_t>(n), factor)};
    const Input of_b = {DType::kF32, {n}, 0, 0, scales};
    const Input no_zeros = {DType::kI8, {n}, 0, 0, std::vector<double>(static_cast<size_t>(n), 0)};
    for (DType to : {DType::kU8, DType::kI8}) {
      same_as_cpu(OpId::kQLinearMatMul,
                  sample(dtype_name(to), {Input{DType::kU8, {256, 1}, 0, 0, all},
                                          one(DType::kF32, 0.5), one(DType::kU8, 100), b, of_b,
                                          no_zeros, one(DType::kF32, factor < 0 ? 0.3 : 0.25),
                                          one(to, to == DType::kU8 ? 128 : -5)}));
    }
  }
  // sums of more than 24 bits
  for (int64_t columns : {5, 8}) {
    const Shape left{3, 2000}, right{2000, columns};
    const std::vector<double> full(6000, 255), low(static_cast<size_t>(2000 * columns), -128);
    same_as_cpu(OpId::kQLinearMatMul,
                sample("long", {Input{DType::kU8, left, 0, 0, full}, one(DType::kF32, 3e-3),
                                one(DType::kU8, 3), Input{DType::kI8, right, 0, 0, low},
                                one(DType::kF32, 7e-5), one(DType::kI8, 1), one(DType::kF32, 0.123),
                                one(DType::kU8, 250)}));
    same_as_cpu(OpId::kMatMulInteger,
                sample("long", {Input{DType::kU8, left, 0, 0, full},
                                Input{DType::kI8, right, 0, 0, low}, one(DType::kU8, 3)}));
  }
}

}  // namespace
}  // namespace wick::test
