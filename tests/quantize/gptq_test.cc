// GPTQ beside the paper's algorithm in plain float64, and in each recipe.
#include "quantize/passes/gptq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantize/passes/block_weights.h"
#include "runtime/core/half.h"
#include "runtime/core/narrow.h"
#include "tests/quantize/graphs.h"
#include "tests/support/error_of.h"

namespace wick::quantize {
namespace {

using namespace test;  // NOLINT: a test
using ir::ValueId;
using testing::HasSubstr;

using Matrix = std::vector<std::vector<double>>;

// Inputs whose columns depend on each other, as those of real layers do.
HostTensor correlated(int64_t rows, int64_t n, uint64_t seed) {
  HostTensor x = noise({rows, n}, seed);
  const HostTensor common = noise({rows, 2}, seed + 1), share = noise({2, n}, seed + 2);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < n; ++c) {
      x.as<float>()[r * n + c] = 0.25F * x.as<float>()[r * n + c] +
                                 common.as<float>()[2 * r] * share.as<float>()[c] +
                                 common.as<float>()[2 * r + 1] * share.as<float>()[n + c];
    }
  }
  return x;
}

Moments moments_of(const HostTensor& x) {
  const int64_t n = x.shape()[1];
  Moments m{n, std::vector<double>(static_cast<size_t>(n * n))};
  for (int64_t r = 0; r < x.shape()[0]; ++r) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i; j < n; ++j) {
        m.sums[static_cast<size_t>(i * n + j)] +=
            static_cast<double>(x.as<float>()[r * n + i]) * x.as<float>()[r * n + j];
      }
    }
  }
  return m;
}

Matrix inverse(Matrix a) {
  const size_t n = a.size();
  Matrix b(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) b[i][i] = 1;
  for (size_t i = 0; i < n; ++i) {  // positive definite: no pivoting
    const double pivot = a[i][i];
    for (size_t k = 0; k < n; ++k) a[i][k] /= pivot, b[i][k] /= pivot;
    for (size_t r = 0; r < n; ++r) {
      const double f = a[r][i];
      if (r == i || f == 0) continue;
      for (size_t k = 0; k < n; ++k) a[r][k] -= f * a[i][k], b[r][k] -= f * b[i][k];
    }
  }
  return b;
}

// The paper's algorithm 1 without its batches of columns, by Cholesky's factor of the inverse.
// Returns the integers for fixed scales, one a row.
std::vector<int> oracle(const HostTensor& w, const Moments& m, const QParams& q) {
  const auto n = static_cast<size_t>(m.n), rows = static_cast<size_t>(w.shape()[0]);
  Matrix h(n, std::vector<double>(n)), x(rows, std::vector<double>(n));
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < n; ++c) x[r][c] = w.as<float>()[r * n + c];
  }
  double mean = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) h[i][j] = m.sums[std::min(i, j) * n + std::max(i, j)];
    if (h[i][i] == 0) {
      h[i][i] = 1;
      for (size_t r = 0; r < rows; ++r) x[r][i] = 0;
    }
    mean += h[i][i] / static_cast<double>(n);
  }
  for (size_t i = 0; i < n; ++i) h[i][i] += 0.01 * mean;
  const Matrix v = inverse(h);
  Matrix u(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) {
      double sum = v[i][j];
      for (size_t k = 0; k < i; ++k) sum -= u[k][i] * u[k][j];
      u[i][j] = i == j ? std::sqrt(sum) : sum / u[i][i];
    }
  }
  const IntegerRange range = integer_range(q.dtype);
  std::vector<int> integers(rows * n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t r = 0; r < rows; ++r) {
      const float scale = q.scale[r];
      const int i =
          std::clamp(static_cast<int>(std::nearbyint(static_cast<float>(x[r][j]) / scale)),
                     range.lo, range.hi);
      integers[r * n + j] = i;
      const double error = (x[r][j] - static_cast<double>(i) * scale) / u[j][j];
      for (size_t k = j; k < n; ++k) x[r][k] -= error * u[j][k];
    }
  }
  return integers;
}

int integer_at(const HostTensor& t, int64_t i) {
  return t.dtype() == DType::kI8 ? t.as<int8_t>()[i]
                                 : static_cast<int>(narrow_at(t.dtype(), t.data(), i));
}

QParams by_rows(const HostTensor& w, DType dtype) {
  std::vector<Range> ranges;
  for (int64_t r = 0; r < w.shape()[0]; ++r) {
    const float* row = w.as<float>() + r * w.shape()[1];
    const auto [lo, hi] = std::minmax_element(row, row + w.shape()[1]);
    ranges.push_back({*lo, *hi});
  }
  return params_of(ranges, dtype, true, 0);
}

// The squared error of the layer's outputs over the inputs x.
double output_error(const HostTensor& w, const HostTensor& rounded, const HostTensor& x) {
  const int64_t n = w.shape()[1];
  double all = 0;
  for (int64_t r = 0; r < x.shape()[0]; ++r) {
    for (int64_t o = 0; o < w.shape()[0]; ++o) {
      double e = 0;
      for (int64_t k = 0; k < n; ++k) {
        e += (static_cast<double>(rounded.as<float>()[o * n + k]) - w.as<float>()[o * n + k]) *
             x.as<float>()[r * n + k];
      }
      all += e * e;
    }
  }
  return all;
}

TEST(Gptq, HasTheIntegersOfThePlainAlgorithm) {
  for (const int64_t n : {5, 64, 128, 300}) {  // one, whole and broken groups of 128 columns
    const HostTensor w = noise({7, n}, 21), x = correlated(2 * n + 9, n, 22);
    const Moments m = moments_of(x);
    for (const DType dtype : {DType::kI8, DType::kI4}) {
      const QParams q = by_rows(w, dtype);
      const HostTensor got = gptq_integers(w, q, &m);
      const std::vector<int> want = oracle(w, m, q);
      int64_t differ = 0;
      for (int64_t i = 0; i < w.numel(); ++i)
        differ += integer_at(got, i) != want[static_cast<size_t>(i)];
      EXPECT_EQ(differ, 0) << n << " " << dtype_name(dtype);
    }
  }
}

TEST(Gptq, LosesLessOfTheOutputsThanRounding) {
  const HostTensor w = noise({16, 96}, 31), x = correlated(400, 96, 32);
  const Moments m = moments_of(x);
  const QParams q = by_rows(w, DType::kI4);
  const double near = output_error(w, to_reals(to_integers(w, q), q), x),
               made = output_error(w, to_reals(gptq_integers(w, q, &m), q), x);
  EXPECT_LT(made, 0.5 * near);
}

TEST(Gptq, DeadColumnsAreZeroAndMomentsThatAreNoNumbersAreIgnored) {
  const HostTensor w = noise({3, 8}, 41);
  HostTensor x = correlated(40, 8, 42);
  for (int64_t r = 0; r < 40; ++r) x.as<float>()[r * 8 + 5] = 0;
  const QParams q = by_rows(w, DType::kI8);
  Moments m = moments_of(x);
  const HostTensor got = gptq_integers(w, q, &m);
  for (int64_t r = 0; r < 3; ++r) EXPECT_EQ(got.as<int8_t>()[r * 8 + 5], 0);
  m.sums[9] = NAN;
  EXPECT_TRUE(same_bits(gptq_integers(w, q, &m), to_integers(w, q)));
  EXPECT_TRUE(same_bits(gptq_integers(w, q, nullptr), to_integers(w, q)));
}

TEST(Gptq, BlocksAreRoundedByTheirOwnScales) {
  const HostTensor w = noise({8, 80}, 51), x = correlated(300, 80, 52);
  const Moments m = moments_of(x);
  for (const DType dtype : {DType::kI4, DType::kU4, DType::kI8}) {
    const bool symmetric = dtype != DType::kU4;
    const auto reals = [&](const BlockedWeight& b) {
      HostTensor r(DType::kF32, w.shape());
      for (int64_t i = 0; i < w.numel(); ++i) {
        const int64_t at = i / 80 * 3 + i % 80 / 32;
        const int zero = symmetric ? 0 : integer_at(b.zero, at);
        r.as<float>()[i] = static_cast<float>(integer_at(b.bytes, i) - zero) *
                           static_cast<float>(b.scale.as<Half>()[at]);
      }
      return r;
    };
    const double near = output_error(w, reals(in_blocks(w, dtype, symmetric, 32)), x),
                 made = output_error(w, reals(in_blocks(w, dtype, symmetric, 32, &m)), x);
    EXPECT_LT(made, 0.7 * near) << dtype_name(dtype);
  }
}

// The sums of pairs of 12,000 inputs are 1.15 GB, and their factors take hours.
TEST(Gptq, LayersOfTooManyInputsAreRoundedToTheNearest) {
  constexpr int64_t kMany = LayerInputs::kMostInputs + 1;
  Builder b;
  b.g.add_output("y", b.linear(b.input("x", {1, kMany}), 2, kMany, "fc"));
  const std::vector<Batch> all = noise_batches(b.g, 1);
  for (const Mode mode : {Mode::kStatic, Mode::kDynamic, Mode::kWeightOnly}) {
    Recipe r;
    r.mode = mode;
    const QuantizeResult near = quantize(b.g, r, batches_of(all));
    r.gptq = true;
    const QuantizeResult made = quantize(b.g, r, batches_of(all));
    ASSERT_EQ(made.notes.size(), near.notes.size() + 1) << mode_name(mode);
    EXPECT_THAT(made.notes.back(), HasSubstr("fc.weight: its layer has 11586 inputs, GPTQ takes "
                                             "11585 at most: rounded to the nearest"));
    EXPECT_TRUE(same_bits(run_batch(near.graph, all[0])[0], run_batch(made.graph, all[0])[0]));
  }
}

// Inputs of the graph that depend on each other, and two layers behind them.
TEST(Gptq, EveryRecipeTakesIt) {
  Builder b;
  const ValueId x = b.input("x", {64, 48});
  const ValueId h = b.op(OpId::kRelu, {b.linear(x, 32, 48, "fc1")}, "relu");
  b.g.add_output("y", b.linear(h, 10, 32, "fc2"));
  std::vector<Batch> all;
  for (uint64_t i = 0; i < 4; ++i) all.push_back({{"x", correlated(64, 48, 60 + 3 * i)}});
  const Batches batches = batches_of(all);
  for (const Mode mode : {Mode::kStatic, Mode::kDynamic, Mode::kWeightOnly}) {
    Recipe r;
    r.mode = mode;
    r.weight = mode == Mode::kDynamic ? DType::kI8 : DType::kI4;
    r.float_output = true;
    const HostTensor want = run_batch(b.g, all[0])[0];
    const double near = sqnr(want, run_batch(quantize(b.g, r, batches).graph, all[0])[0]);
    r.gptq = true;
    const double made = sqnr(want, run_batch(quantize(b.g, r, batches).graph, all[0])[0]);
    EXPECT_GT(made, near + (mode == Mode::kDynamic ? -0.5 : 1)) << mode_name(mode);
  }
  Recipe r;
  r.gptq = true;
  r.mode = Mode::kWeightOnly;
  EXPECT_THAT(error_of([&] { quantize(b.g, r); }), HasSubstr("[gptq] it needs batches"));
  r.mode = Mode::kQat;
  EXPECT_THAT(error_of([&] { check(r); }), HasSubstr("not for qat"));
}

}  // namespace
}  // namespace wick::quantize
