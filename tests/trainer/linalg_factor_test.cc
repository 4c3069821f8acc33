// LU factors and general eigenvalues: what they are made of, singular and special matrices, sizes 0
// and 1, threads, what they refuse. Values and gradients beside PyTorch's: tests/functions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

constexpr DType kD = DType::kF64;
constexpr double kInf = std::numeric_limits<double>::infinity();

void expect_error(const std::function<void()>& f, const std::string& text) {
  const std::string got = test::error_of(f);
  EXPECT_NE(got.find(text), std::string::npos) << "got: " << got << "\nwanted: " << text;
  EXPECT_NE(got.find("linalg_factor_test.cc:"), std::string::npos) << "no line: " << got;
}
double largest(const Tensor& t) { return t.layout().numel() == 0 ? 0 : amax(abs(t)).item(); }
Tensor random(const Shape& shape, uint64_t seed) {
  Generator g{seed, 0};
  return randn(shape, kD, g);
}

// |A V - V diag(w)|, in the parts of complex numbers.
double residual(const Tensor& a, const EigResult& f) {
  const Tensor re = f.eigenvectors.select(-1, 0), im = f.eigenvectors.select(-1, 1);
  const Tensor x = f.eigenvalues.select(-1, 0).unsqueeze(-2);
  const Tensor y = f.eigenvalues.select(-1, 1).unsqueeze(-2);
  return std::max(largest(matmul(a, re) - (re * x - im * y)),
                  largest(matmul(a, im) - (re * y + im * x)));
}

TEST(Eig, VectorsAreThoseOfTheirValues) {
  for (int64_t n : {1, 2, 3, 7, 20, 50}) {
    const Tensor a = random({3, n, n}, static_cast<uint64_t>(n));
    const EigResult f = linalg::eig(a);
    ASSERT_EQ(f.eigenvalues.raw_shape(), (Shape{3, n, 2}));
    ASSERT_EQ(f.eigenvectors.raw_shape(), (Shape{3, n, n, 2}));
    EXPECT_LT(residual(a, f), 1e-13 * static_cast<double>(n)) << n;
    EXPECT_TRUE(equal(linalg::eigvals(a), f.eigenvalues));
    EXPECT_LT(largest(sum(square(f.eigenvectors), {-3, -1}) - 1), 1e-14) << "their norm is 1";
  }
}

TEST(Eig, OfSpecialMatrices) {
  auto values = [](const Tensor& a) { return linalg::eigvals(a).to_vector<double>(); };
  const Tensor jordan = tensor({{2., 1., 0.}, {0., 2., 1.}, {0., 0., 2.}}, kD);
  EXPECT_EQ(values(jordan), (std::vector<double>{2, 0, 2, 0, 2, 0}));
  EXPECT_LT(residual(jordan, linalg::eig(jordan)), 1e-14);
  EXPECT_EQ(values(zeros({2, 2}, kD)), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(values(eye(2, kD)), (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(values(tensor({{0., -1.}, {1., 0.}}, kD)), (std::vector<double>{0, 1, 0, -1}));
  // Without shifts of another kind the iterations do not change this one.
  const Tensor cycle =
      tensor({{0., 0., 0., 1.}, {1., 0., 0., 0.}, {0., 1., 0., 0.}, {0., 0., 1., 0.}}, kD);
  EXPECT_LT(residual(cycle, linalg::eig(cycle)), 1e-14);
  // Rows and columns of very different sizes are balanced first.
  const Tensor uneven = tensor({{1., 1e8, 1e10}, {1e-8, 2., 1e2}, {1e-10, 1e-2, 3.}}, kD);
  const Tensor even = tensor({{1., 1., 1.}, {1., 2., 1.}, {1., 1., 3.}}, kD);
  const Tensor got = sort(linalg::eigvals(uneven).select(-1, 0)).values;
  EXPECT_LT(largest(got - linalg::eigvalsh(even)), 1e-13);
  for (double scale : {1e300, 1e-300}) {
    const Tensor w = linalg::eigvals(even * scale).select(-1, 0) / scale;
    EXPECT_LT(largest(sort(w).values - linalg::eigvalsh(even)), 1e-13) << scale;
  }
}

TEST(Eig, ConjugatePairsAreExactAndPhasesFixed) {
  const EigResult f = linalg::eig(random({20, 9, 9}, 5));
  const std::vector<double> w = f.eigenvalues.to_vector<double>();
  const std::vector<double> v = f.eigenvectors.to_vector<double>();
  size_t pairs = 0;
  for (size_t b = 0; b < 20; ++b) {
    for (size_t i = 0; i < 9; ++i) {
      auto element = [&](size_t row, size_t column, size_t part) {
        return v[((b * 9 + row) * 9 + column) * 2 + part];
      };
      double most = 0;
      size_t place = 0;
      for (size_t row = 0; row < 9; ++row) {
        const double size = std::hypot(element(row, i, 0), element(row, i, 1));
        if (size > most * (1 + 1e-12)) most = size, place = row;
      }
      EXPECT_GT(element(place, i, 0), 0);
      EXPECT_EQ(element(place, i, 1), 0);
      if (w[(b * 9 + i) * 2 + 1] <= 0) continue;
      ++pairs;
      EXPECT_EQ(w[(b * 9 + i) * 2], w[(b * 9 + i + 1) * 2]);
      EXPECT_EQ(w[(b * 9 + i) * 2 + 1], -w[(b * 9 + i + 1) * 2 + 1]);
      for (size_t row = 0; row < 9; ++row) {
        EXPECT_EQ(element(row, i, 0), element(row, i + 1, 0));
        EXPECT_EQ(element(row, i, 1), -element(row, i + 1, 1));
      }
    }
  }
  EXPECT_GT(pairs, 20U);
}

TEST(Eig, RefusesWhatHasNoEigenvalues) {
  Tensor bad = random({2, 2, 2}, 1);
  bad.index_put_({1, 0, 1}, NAN);
  expect_error([&] { linalg::eig(bad); }, "[eig] the matrix at batch [1] has values that are not");
  expect_error([&] { linalg::eigvals(full({2, 2}, kInf, kD)); }, "not finite");
  expect_error([&] { linalg::eig(ones({2, 3})); }, "[eig] needs square matrices, got [2,3]");
  expect_error([&] { linalg::eig(ones({2, 2}, DType::kI64)); }, "needs float32 or float64");
  expect_error([&] { linalg::eig(ones({1, 1, 1, 1, 1, 1, 1, 1})); }, "[eig]");
}

TEST(Eig, OfNothing) {
  const EigResult none = linalg::eig(zeros({0, 0}));
  EXPECT_EQ(none.eigenvalues.raw_shape(), (Shape{0, 2}));
  EXPECT_EQ(none.eigenvectors.raw_shape(), (Shape{0, 0, 2}));
  EXPECT_EQ(linalg::eigvals(zeros({0, 3, 3})).raw_shape(), (Shape{0, 3, 2}));
  const Tensor empty = zeros({2, 0, 0}, kD).requires_grad_();
  EXPECT_EQ(grad({sum(linalg::eigvals(empty))}, {empty})[0].raw_shape(), (Shape{2, 0, 0}));
}

TEST(Lu, FactorsMultiplyToTheMatrix) {
  for (const Shape& s : {Shape{1, 1}, Shape{5, 5}, Shape{4, 9}, Shape{9, 4}, Shape{2, 3, 6, 6},
                         Shape{0, 0}, Shape{3, 0}, Shape{0, 3}, Shape{2, 0, 4}}) {
    const Tensor a = random(s, 3);
    const LuResult f = linalg::lu(a);
    EXPECT_LT(largest(matmul(f.p, matmul(f.l, f.u)) - a), 1e-14) << to_text(s).text;
    if (a.layout().numel() > 0) {
      EXPECT_LE(largest(f.l), 1) << "the pivot is the largest";
    }
    const LuFactorResult packed = wick::lu(a);
    const LuResult again = lu_unpack(packed.lu, packed.pivots);
    EXPECT_TRUE(equal(again.p, f.p) && equal(again.l, f.l) && equal(again.u, f.u));
  }
}

TEST(Lu, OfASingularMatrix) {
  const Tensor singular = tensor({{1., 2.}, {2., 4.}}, kD);
  const LuResult f = linalg::lu(singular);
  EXPECT_EQ(matmul(f.p, matmul(f.l, f.u)).to_vector<double>(), singular.to_vector<double>());
  expect_error([&] { linalg::lu_factor(singular); },
               "[lu_factor] the matrix of [2,2] is singular: pivot 2 of its LU factors is 0");
  expect_error(
      [&] {
        linalg::lu_factor(stack({eye(2, kD), singular}));
      },
      "[lu_factor] the matrix at batch [1] of [2,2,2] is singular: pivot 2");
  // As PyTorch's, a matrix that is not square needs its pivots as well.
  expect_error(
      [&] {
        linalg::lu_factor(tensor({{1., 2., 3.}, {2., 4., 6.}}, kD));
      },
      "[lu_factor] the matrix of [2,3] is singular: pivot 2");
  expect_error(
      [&] {
        linalg::lu_factor(stack({ones({3, 2}, kD) * 0, random({3, 2}, 4)}));
      },
      "[lu_factor] the matrix at batch [0] of [2,3,2] is singular: pivot 1");
  EXPECT_EQ(linalg::lu_factor(random({2, 4, 3}, 5)).pivots.raw_shape(), (Shape{2, 3}));
  EXPECT_EQ(lu(zeros({3, 3})).pivots.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3}));
}

TEST(Lu, SolvesAsSolveDoes) {
  const Tensor a = random({3, 5, 5}, 7), b = random({4, 1, 5, 2}, 8), c = random({4, 1, 2, 5}, 9);
  const LuFactorResult f = linalg::lu_factor(a);
  EXPECT_EQ(f.pivots.dtype(), DType::kI32);
  EXPECT_EQ(f.pivots.raw_shape(), (Shape{3, 5}));
  const Tensor at = a.transpose(-2, -1);
  EXPECT_LT(largest(linalg::lu_solve(f.lu, f.pivots, b) - linalg::solve(a, b)), 1e-12);
  EXPECT_LT(largest(linalg::lu_solve(f.lu, f.pivots, b, true, true) - linalg::solve(at, b)), 1e-12);
  EXPECT_LT(largest(matmul(linalg::lu_solve(f.lu, f.pivots, c, false), a) - c), 1e-12);
  EXPECT_LT(largest(matmul(linalg::lu_solve(f.lu, f.pivots, c, false, true), at) - c), 1e-12);
  EXPECT_EQ(linalg::lu_solve(f.lu, f.pivots, zeros({3, 5, 0}, kD)).raw_shape(), (Shape{3, 5, 0}));
}

TEST(Lu, RefusesWhatDoesNotFit) {
  const LuFactorResult f = linalg::lu_factor(random({3, 3}, 1));
  const Tensor b = ones({3, 1}, kD);
  expect_error([&] { linalg::lu_solve(f.lu, f.pivots.to(DType::kI64), b); },
               "[lu_solve] pivots must be what lu_factor() gave with the factors [3,3]: int32 [3]");
  expect_error([&] { linalg::lu_solve(f.lu, Tensor(), b); }, "got none");
  expect_error(
      [&] {
        linalg::lu_solve(f.lu, tensor({1, 1, 3}, DType::kI32), b);
      },
      "[lu_solve] pivot 1 at place 1 is not in [2, 3]");
  expect_error(
      [&] {
        linalg::lu_solve(f.lu, f.pivots, ones({2, 1}, kD));
      },
      "[lu_solve] the two sides do not fit: [3,3] and [2,1]");
  expect_error([&] { linalg::lu_solve(f.lu, f.pivots, ones({3}, kD)); }, "needs matrices");
  expect_error([&] { linalg::lu_factor(ones({3})); }, "[lu_factor] needs matrices, got [3]");
}

TEST(LinalgFactors, ThreadsDoNotChangeBits) {
  const int threads = num_threads();
  const Tensor a = random({17, 12, 12}, 11);
  std::vector<Tensor> first;
  for (int n : {1, 2, 3}) {
    set_num_threads(n);
    const EigResult e = linalg::eig(a);
    const LuFactorResult f = linalg::lu_factor(a);
    const std::vector<Tensor> now = {e.eigenvalues, e.eigenvectors, f.lu, f.pivots};
    if (first.empty()) first = now;
    for (size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(equal(now[i], first[i])) << n << ", " << i;
  }
  set_num_threads(threads);
}

TEST(LinalgFactors, OfFloat32AreRoundedOnce) {
  const Tensor a = random({6, 6}, 13).to(DType::kF32), wide = a.to(kD);
  EXPECT_TRUE(equal(linalg::eigvals(a), linalg::eigvals(wide).to(DType::kF32)));
  EXPECT_TRUE(equal(linalg::lu_factor(a).lu, linalg::lu_factor(wide).lu.to(DType::kF32)));
}

}  // namespace
}  // namespace wick
