// Cases that the row-driven op tests do not cover: strides, special values, integer edges, the
// order of sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/core/half.h"
#include "runtime/kernels/prepared.h"
#include "runtime/kernels/simd.h"
#include "tests/kernels/kernel_test_util.h"

namespace wick::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr const KernelSet* kReference[] = {&kReferenceKernels};
constexpr const KernelSet* kCpu[] = {&kCpuKernels, &kReferenceKernels};

// Runs the first matching row; false when it demands contiguous inputs and some are not.
template <class T, class A = NoAttrs>
bool run_kernel(Span<const KernelSet* const> sets, OpId op, const std::vector<TensorView>& in,
                const Shape& out_shape, std::vector<T>* out, const A& attrs = {}) {
  out->assign(static_cast<size_t>(numel(out_shape)), T());
  std::vector<TensorView> views = {TensorView(out->data(), dtype_of<T>, out_shape)};
  KernelQuery query{op, &attrs, in, views, 1};
  const KernelRow* row = find_kernel(sets, query);
  if (row == nullptr) {
    ADD_FAILURE() << "no kernel";
    return false;
  }
  for (const TensorView& v : in) {
    if ((row->flags & kStridedInputs) == 0 && !v.contiguous()) return false;
  }
  PreparedKernel kernel;
  EXPECT_TRUE(kernel.prepare(*row, query).ok());
  std::unique_ptr<void, void (*)(void*)> scratch(
      std::aligned_alloc(64, (kernel.scratch_bytes() + 64) / 64 * 64), std::free);
  EXPECT_TRUE(kernel.run({nullptr, scratch.get()}, op, in, views, &attrs).ok());
  return true;
}

template <class T>
TensorView view(std::vector<T>& v, Shape shape) {
  return TensorView(v.data(), dtype_of<T>, shape);
}

// The elements of a view in row-major order.
std::vector<float> dense(const TensorView& v) {
  std::vector<float> out;
  for (int64_t i = 0; i < v.numel(); ++i) {
    int64_t rest = i, at = 0;
    for (int d = v.rank() - 1; d >= 0; --d) {
      at += rest % v.shape[d] * v.strides[d];
      rest /= v.shape[d];
    }
    out.push_back(v.as<float>()[at]);
  }
  return out;
}

// Views of one shape over a buffer: as it lies, transposed, every second, backwards, broadcast,
// shifted.
std::vector<TensorView> strided_views(std::vector<float>& buffer, int64_t rows, int64_t cols) {
  float* p = buffer.data();
  Shape s{rows, cols};
  return {TensorView(p, DType::kF32, s),
          TensorView(p, DType::kF32, s, Strides{1, rows}),
          TensorView(p + 1, DType::kF32, s, Strides{2 * cols, 2}),
          TensorView(p + rows * cols - 1, DType::kF32, s, Strides{-cols, -1}),
          TensorView(p + 3, DType::kF32, s, Strides{0, 1}),
          TensorView(p + 5, DType::kF32, s, Strides{1, 0}),
          TensorView(p + 7, DType::kF32, s, Strides{0, 0}),
          TensorView(p + 1, DType::kF32, s, Strides{cols + 3, 1})};
}

TEST(Elementwise, StridesDoNotChangeBits) {
  Random random(1);
  for (int64_t rows : {1, 3, 17}) {
    for (int64_t cols : {1, 2, 19, 300}) {
      std::vector<float> buffer = random_floats(random, 2 * rows * cols + 4 * rows + 16);
      Shape s{rows, cols};
      for_each_simd_target([&](int64_t target) {
        SCOPED_TRACE(simd_target_name(target));
        for (OpId op : {OpId::kAdd, OpId::kDiv, OpId::kMax, OpId::kMin, OpId::kPow}) {
          for (const TensorView& a : strided_views(buffer, rows, cols)) {
            for (const TensorView& b : strided_views(buffer, rows, cols)) {
              std::vector<float> da = dense(a), db = dense(b), want, got;
              ASSERT_TRUE(run_kernel(kCpu, op, {view(da, s), view(db, s)}, s, &want));
              ASSERT_TRUE(run_kernel(kCpu, op, {a, b}, s, &got));
              ASSERT_TRUE(same_bits(want, got));
            }
          }
        }
        for (OpId op : {OpId::kSigmoid, OpId::kNeg, OpId::kFloor}) {
          for (const TensorView& a : strided_views(buffer, rows, cols)) {
            std::vector<float> da = dense(a), want, got;
            ASSERT_TRUE(run_kernel(kCpu, op, {view(da, s)}, s, &want));
            ASSERT_TRUE(run_kernel(kCpu, op, {a}, s, &got));
            ASSERT_TRUE(same_bits(want, got));
          }
        }
      });
    }
  }
}

TEST(Elementwise, BroadcastsFromTheRight) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {10, 20}, c = {100, 200, 300}, got;
  ASSERT_TRUE(run_kernel(kCpu, OpId::kAdd, {view(a, {2, 3}), view(c, {3})}, Shape{2, 3}, &got));
  EXPECT_EQ(got, (std::vector<float>{101, 202, 303, 104, 205, 306}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kSub, {view(a, {2, 3}), view(b, {2, 1})}, Shape{2, 3}, &got));
  EXPECT_EQ(got, (std::vector<float>{-9, -8, -7, -16, -15, -14}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kMul, {view(b, {2, 1}), view(c, {1, 3})}, Shape{2, 3}, &got));
  EXPECT_EQ(got, (std::vector<float>{1000, 2000, 3000, 2000, 4000, 6000}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kAdd, {view(a, {0, 3}), view(c, {3})}, Shape{0, 3}, &got));
  EXPECT_TRUE(got.empty());
}

TEST(Elementwise, SpecialValuesAreTheReferences) {
  const float specials[] = {0.0f, -0.0f, 1.5f, -2.5f, kInf, -kInf, kNan, 1e-42f, -1e-42f, 3e38f};
  std::vector<float> a, b;
  for (float x : specials) {
    for (float y : specials) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  Shape s{static_cast<int64_t>(a.size())};
  for (OpId op :
       {OpId::kAdd, OpId::kSub, OpId::kMul, OpId::kDiv, OpId::kMax, OpId::kMin, OpId::kPow}) {
    std::vector<float> want, got;
    ASSERT_TRUE(run_kernel(kReference, op, {view(a, s), view(b, s)}, s, &want));
    for_each_simd_target([&](int64_t target) {
      if (op == OpId::kPow && !simd_target_has_fma(target)) return;
      ASSERT_TRUE(run_kernel(kCpu, op, {view(a, s), view(b, s)}, s, &got));
      EXPECT_TRUE(same_bits(want, got)) << find_op(op)->name << " " << simd_target_name(target);
    });
  }
}

TEST(Elementwise, MaxAndMinOrderZerosAndKeepNan) {
  std::vector<float> a = {0.0f, -0.0f, kNan, 1.0f, -0.0f}, b = {-0.0f, 0.0f, 1.0f, kNan, -0.0f},
                     got;
  ASSERT_TRUE(run_kernel(kReference, OpId::kMax, {view(a, {5}), view(b, {5})}, Shape{5}, &got));
  EXPECT_TRUE(same_bits(got, {0.0f, 0.0f, kNan, kNan, -0.0f}));
  ASSERT_TRUE(run_kernel(kReference, OpId::kMin, {view(a, {5}), view(b, {5})}, Shape{5}, &got));
  EXPECT_TRUE(same_bits(got, {-0.0f, -0.0f, kNan, kNan, -0.0f}));
}

TEST(Elementwise, IntegersWrapAndNeverTrap) {
  constexpr int32_t kLow = std::numeric_limits<int32_t>::lowest(),
                    kTop = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> a = {kTop, kLow, kLow, 7, -7, 5}, b = {1, 1, -1, -2, 2, 0}, got;
  Shape s{6};
  ASSERT_TRUE(run_kernel(kCpu, OpId::kAdd, {view(a, s), view(b, s)}, s, &got));
  EXPECT_EQ(got, (std::vector<int32_t>{kLow, kLow + 1, kTop, 5, -5, 5}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kDiv, {view(a, s), view(b, s)}, s, &got));
  EXPECT_EQ(got, (std::vector<int32_t>{kTop, kLow, kLow, -3, -3, 0}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kPow, {view(a, s), view(b, s)}, s, &got));
  EXPECT_EQ(got, (std::vector<int32_t>{kTop, kLow, 0, 0, 49, 1}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kAbs, {view(a, s)}, s, &got));
  EXPECT_EQ(got, (std::vector<int32_t>{kTop, kLow, kLow, 7, 7, 5}));
}

TEST(Cast, SaturatesTruncatesAndRoundsOnce) {
  std::vector<float> x = {kNan, kInf, -kInf, 300, -300, 2.9f, -2.9f, 127.5f, -0.5f};
  Shape s{9};
  std::vector<int8_t> i8;
  ASSERT_TRUE(run_kernel(kCpu, OpId::kCast, {view(x, s)}, s, &i8,
                         CastAttrs{static_cast<int64_t>(DType::kI8)}));
  EXPECT_EQ(i8, (std::vector<int8_t>{0, 127, -128, 127, -128, 2, -2, 127, 0}));
  std::vector<uint8_t> u8;
  ASSERT_TRUE(run_kernel(kCpu, OpId::kCast, {view(x, s)}, s, &u8,
                         CastAttrs{static_cast<int64_t>(DType::kU8)}));
  EXPECT_EQ(u8, (std::vector<uint8_t>{0, 255, 0, 255, 0, 2, 0, 127, 0}));
  std::vector<int64_t> i64;
  std::vector<float> big = {9.3e18f, -9.3e18f, 0x1p62f};
  ASSERT_TRUE(run_kernel(kCpu, OpId::kCast, {view(big, {3})}, Shape{3}, &i64,
                         CastAttrs{static_cast<int64_t>(DType::kI64)}));
  EXPECT_EQ(i64, (std::vector<int64_t>{INT64_MAX, INT64_MIN, int64_t{1} << 62}));
  // 1 + 2^-11 + 2^-40 is above the tie between two halves; rounding to f32 first would make it a
  // tie.
  std::vector<double> d = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11};
  std::vector<Half> half;
  ASSERT_TRUE(run_kernel(kCpu, OpId::kCast, {view(d, {2})}, Shape{2}, &half,
                         CastAttrs{static_cast<int64_t>(DType::kF16)}));
  EXPECT_EQ(static_cast<float>(half[0]), 1 + 0x1p-10f);
  EXPECT_EQ(static_cast<float>(half[1]), 1.0f);
}

// The contract's sum, written down once more.
float contract_sum(const std::vector<float>& x) {
  float total = 0;
  for (size_t block = 0; block < x.size(); block += 4096) {
    float lanes[16] = {};
    for (size_t i = block; i < std::min(x.size(), block + 4096); ++i) lanes[i % 16] += x[i];
    for (int i = 0; i < 8; ++i) lanes[i] += lanes[i + 8];
    for (int i = 0; i < 4; ++i) lanes[i] += lanes[i + 4];
    total += (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  }
  return total;
}

TEST(Reduce, SumsInTheContractsOrderWhateverTheLayout) {
  Random random(3);
  for (int64_t n : {1, 15, 16, 17, 31, 100, 4095, 4096, 4097, 8192, 9001}) {
    for (int64_t outputs : {1, 3, 16, 21}) {
      std::vector<float> x = random_floats(random, n * outputs);
      std::vector<float> want;
      for (int64_t o = 0; o < outputs; ++o) {
        want.push_back(contract_sum({x.begin() + o * n, x.begin() + (o + 1) * n}));
      }
      std::vector<float> columns(x.size());  // the same sequences down the columns
      for (int64_t o = 0; o < outputs; ++o) {
        for (int64_t i = 0; i < n; ++i) columns[i * outputs + o] = x[o * n + i];
      }
      for_each_simd_target([&](int64_t target) {
        SCOPED_TRACE(simd_target_name(target));
        for (auto sets :
             {Span<const KernelSet* const>(kCpu), Span<const KernelSet* const>(kReference)}) {
          std::vector<float> got;
          Shape s{outputs};
          ASSERT_TRUE(run_kernel(sets, OpId::kReduceSum, {view(x, {outputs, n})}, s, &got,
                                 ReduceAttrs{{1}, 0, 0}));
          EXPECT_TRUE(same_bits(want, got)) << "rows of " << n;
          ASSERT_TRUE(run_kernel(sets, OpId::kReduceSum, {view(columns, {n, outputs})}, s, &got,
                                 ReduceAttrs{{0}, 0, 0}));
          EXPECT_TRUE(same_bits(want, got)) << "columns of " << n;
        }
      });
    }
  }
}

// Runs of 7 elements: every run begins at another lane.
TEST(Reduce, RunsContinueWhereTheLastEnded) {
  Random random(4);
  const int64_t n = 600, channels = 3, inner = 7;
  std::vector<float> x = random_floats(random, n * channels * inner);
  std::vector<float> want, got;
  for (int64_t c = 0; c < channels; ++c) {
    std::vector<float> sequence;
    for (int64_t b = 0; b < n; ++b) {
      for (int64_t i = 0; i < inner; ++i) sequence.push_back(x[(b * channels + c) * inner + i]);
    }
    want.push_back(contract_sum(sequence));
  }
  for_each_simd_target([&](int64_t) {
    ASSERT_TRUE(run_kernel(kCpu, OpId::kReduceSum, {view(x, {n, channels, inner})}, Shape{channels},
                           &got, ReduceAttrs{{0, 2}, 0, 0}));
    EXPECT_TRUE(same_bits(want, got));
  });
}

TEST(Reduce, ExtremesKeepNanAndOrderZeros) {
  for (int64_t n : {2, 16, 33}) {
    for (int64_t at = 0; at < n; ++at) {
      std::vector<float> nan(n, 1.0f), zeros(n, -0.0f), got;
      nan[at] = kNan;
      zeros[at] = 0.0f;
      for_each_simd_target([&](int64_t) {
        for (OpId op : {OpId::kReduceMax, OpId::kReduceMin}) {
          ASSERT_TRUE(
              run_kernel(kCpu, op, {view(nan, {n})}, Shape{}, &got, ReduceAttrs{{0}, 0, 0}));
          EXPECT_TRUE(std::isnan(got[0]));
          ASSERT_TRUE(
              run_kernel(kCpu, op, {view(zeros, {n})}, Shape{}, &got, ReduceAttrs{{0}, 0, 0}));
          EXPECT_EQ(std::signbit(got[0]), op == OpId::kReduceMin);
        }
      });
      std::vector<int64_t> where;
      ASSERT_TRUE(
          run_kernel(kCpu, OpId::kArgMax, {view(nan, {n})}, Shape{}, &where, ArgAttrs{0, 0, 0}));
      EXPECT_EQ(where[0], at);
      ASSERT_TRUE(
          run_kernel(kCpu, OpId::kArgMax, {view(zeros, {n})}, Shape{}, &where, ArgAttrs{0, 0, 0}));
      EXPECT_EQ(where[0], at);
    }
  }
  std::vector<float> ties = {1, 3, 3, 2};
  std::vector<int64_t> where;
  ASSERT_TRUE(
      run_kernel(kCpu, OpId::kArgMax, {view(ties, {4})}, Shape{}, &where, ArgAttrs{0, 0, 0}));
  EXPECT_EQ(where[0], 1);
  ASSERT_TRUE(
      run_kernel(kCpu, OpId::kArgMax, {view(ties, {4})}, Shape{}, &where, ArgAttrs{0, 0, 1}));
  EXPECT_EQ(where[0], 2);
}

TEST(Reduce, OfNothing) {
  std::vector<float> none, got;
  ASSERT_TRUE(run_kernel(kCpu, OpId::kReduceSum, {view(none, {2, 0})}, Shape{2}, &got,
                         ReduceAttrs{{1}, 0, 0}));
  EXPECT_EQ(got, (std::vector<float>{0, 0}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kReduceMax, {view(none, {2, 0})}, Shape{2}, &got,
                         ReduceAttrs{{1}, 0, 0}));
  EXPECT_EQ(got, (std::vector<float>{-kInf, -kInf}));
  ASSERT_TRUE(run_kernel(kCpu, OpId::kReduceProd, {view(none, {2, 0})}, Shape{2}, &got,
                         ReduceAttrs{{1}, 0, 0}));
  EXPECT_EQ(got, (std::vector<float>{1, 1}));
}

TEST(MaxPool, KeepsNanAndOrdersZeros) {
  std::vector<float> x(40, -0.0f), want, got;
  x[5] = kNan;
  x[20] = 0.0f;
  PoolAttrs attrs{{3}, {1}, {}, {1, 1}, 0, 0};
  ASSERT_TRUE(
      run_kernel(kReference, OpId::kMaxPool, {view(x, {1, 1, 40})}, Shape{1, 1, 40}, &want, attrs));
  EXPECT_TRUE(std::isnan(want[4]) && std::isnan(want[6]) && want[7] == 0);
  EXPECT_FALSE(std::signbit(want[19]));
  EXPECT_TRUE(std::signbit(want[23]));
  for_each_simd_target([&](int64_t) {
    ASSERT_TRUE(
        run_kernel(kCpu, OpId::kMaxPool, {view(x, {1, 1, 40})}, Shape{1, 1, 40}, &got, attrs));
    EXPECT_TRUE(same_bits(want, got));
  });
}

}  // namespace
}  // namespace wick::test
