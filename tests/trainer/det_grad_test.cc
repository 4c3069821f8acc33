// The gradient of a determinant and its own derivative, of matrices from well conditioned to zero
// ones: the gradient is the same whether or not it will be differentiated.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>

#include "wick/trainer.h"

namespace wick {
namespace {

constexpr DType kD = DType::kF64;

struct Matrices {
  std::string name;
  Tensor a;  // [..., n, n]
  // True if the derivative of at least one matrix is 0: the result is then rounding error only.
  bool first_is_zero = false, second_is_zero = false;
  double condition = 1;
};

// Q diag(values) Q^T.
Tensor symmetric(const std::vector<double>& values, Generator& g) {
  const auto n = static_cast<int64_t>(values.size());
  Tensor q = linalg::qr(randn({n, n}, kD, g)).q;
  return matmul(q * tensor(values), q.transpose(-2, -1));
}
// Returns n values from 1 down to 1 / condition.
std::vector<double> graded(int64_t n, double condition) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i)
    v.push_back(std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1)));
  return v;
}

std::vector<Matrices> all_matrices() {
  Generator g{11, 0};
  std::vector<Matrices> all;
  for (double condition : {1e1, 1e3, 1e5, 1e8, 1e12}) {
    all.push_back({"positive of condition " + std::to_string(condition),
                   symmetric(graded(8, condition), g), false, false, condition});
  }
  all.push_back({"steps of 1e-3", diag(tensor({1., 1e-3, 1e-6, 1e-9}, DType::kF64))});
  all.push_back({"1 and 1e-3", diag(tensor({1., 1e-3, 1e-3, 1e-3, 1e-3}, DType::kF64))});
  all.push_back({"rows of other sizes",
                 randn({4, 4}, kD, g) * tensor({1e6, 1., 1e-4, 1e-7}, DType::kF64).unsqueeze(1)});
  all.push_back({"normal", randn({40, 16, 16}, kD, g)});
  all.push_back({"one short of whole", symmetric({3, 2, 1, 1, -0.5, 0}, g)});
  all.push_back({"one short of whole, large", symmetric({3e5, 2e5, 1e5, 1e5, 0}, g)});
  all.push_back({"one short of whole, tiny", symmetric({3e-5, 2e-5, 1e-5, 0}, g)});
  all.push_back({"two short of whole", symmetric({3, 2, 1, -1, 0, 0}, g), true});
  all.push_back({"rank 1", symmetric({3, 0, 0, 0}, g), true, true});
  all.push_back({"nine", tensor({{1., 2., 3.}, {4., 5., 6.}, {7., 8., 9.}}, DType::kF64)});
  all.push_back({"zero", zeros({3, 3}, kD), true, true});
  std::vector<double> with_zeros(17, 1.5);
  with_zeros[3] = with_zeros[7] = 0;
  all.push_back({"two short of 17", symmetric(with_zeros, g), true});
  std::vector<double> small(20, 0.1);  // more small values than a block has, and none that is 0
  small[0] = 1e4;
  all.push_back({"one of 20", symmetric(small, g)});
  all.push_back({"rank 1 of 20", matmul(randn({20, 1}, kD, g), randn({1, 20}, kD, g)), true, true});
  all.push_back({"zero, of 17", zeros({17, 17}, kD), true, true});
  all.push_back(
      {"mixed",
       stack({symmetric({3, 2, 1, 1, -0.5, 0}, g), randn({6, 6}, kD, g),
              symmetric({2, 1, 1, 0, 0, 0}, g), zeros({6, 6}, kD), symmetric(graded(6, 1e5), g),
              symmetric({2, 0, 0, 0, 0, 0}, g), symmetric({1, 1, 1, 2, 0, 0}, g), eye(6, 6, kD)})
           .reshape({2, 4, 6, 6}),
       true, true});
  return all;
}

Tensor gradient(const Tensor& a, bool create_graph) {
  return grad({sum(linalg::det(a))}, {a}, {}, create_graph, create_graph)[0];
}
// The derivative of sum(gradient * weight).
Tensor second(const Tensor& a, const Tensor& weight) {
  Tensor x = a.detach().requires_grad_();
  return grad({sum(gradient(x, true) * weight)}, {x})[0].detach();
}
Tensor flat(const Tensor& a) { return a.detach().to(kD).reshape({-1, a.size(-2) * a.size(-1)}); }
// The largest difference beside the largest number, or beside `least`, of the worst matrix.
double off(const Tensor& got, const Tensor& want, double least = 1e-30) {
  Tensor size = amax(abs(flat(want)), {1}), far = amax(abs(flat(got) - flat(want)), {1});
  double worst = 0;
  for (int64_t i = 0; i < size.size(0); ++i) {
    const double d = far.select(0, i).item(), s = size.select(0, i).item();
    worst = std::isfinite(d) ? std::max(worst, d / std::max(s, least)) : INFINITY;
  }
  return worst;
}

TEST(DetGrad, IsTheSameInAGraph) {
  for (const Matrices& m : all_matrices()) {
    for (DType dtype : {DType::kF32, kD}) {
      Tensor a = m.a.to(dtype).detach().requires_grad_();
      Tensor plain = gradient(a, false), in_graph = gradient(a, true);
      const double rounding = dtype == kD ? 1e-14 : 1e-6;
      EXPECT_LE(off(in_graph, plain), rounding) << m.name << " of " << dtype_name(dtype);
      // The same numbers in float64 have the gradient that float32's is rounded from.
      Tensor wide = a.detach().to(kD).requires_grad_();
      EXPECT_LE(off(plain, gradient(wide, false)), 1e-6) << m.name << " of " << dtype_name(dtype);
    }
  }
}

// The determinants of what is left of a[b, n, n] without some rows and columns.
std::vector<double> minor_of(const Tensor& a, std::set<int64_t> rows, std::set<int64_t> columns) {
  auto others = [&](const std::set<int64_t>& gone) {
    std::vector<int64_t> rest;
    for (int64_t i = 0; i < a.size(-1); ++i) {
      if (gone.count(i) == 0) rest.push_back(i);
    }
    return tensor(rest);
  };
  Tensor rest = index_select(index_select(a, 1, others(rows)), 2, others(columns));
  return linalg::det(rest).to_vector<double>();
}

TEST(DetGrad, InvertsOnce) {
  Tensor a = (eye(4, kD) * 3 + 0.5).unsqueeze(0).expand({3, 4, 4}).contiguous().requires_grad_();
  for (const bool again : {false, true}) {
    Tensor d = sum(linalg::det(a));
    std::ostringstream lines;
    {
      const TraceOps trace(lines, {.times = false});
      grad({d}, {a}, {}, again, again);
    }
    const std::string text = lines.str();
    size_t count = 0;
    for (size_t at = 0; (at = text.find(" inverse ", at)) != std::string::npos; ++at) ++count;
    EXPECT_EQ(count, 1U) << text;
  }
}

TEST(DetGrad, IsMadeOfMinors) {
  for (const Matrices& m : all_matrices()) {
    const int64_t n = m.a.size(-1);
    Tensor a = m.a.detach().reshape({-1, n, n}), x = a.detach().requires_grad_();
    std::vector<double> want(static_cast<size_t>(a.numel()));
    for (int64_t e = 0; e < n * n; ++e) {
      std::vector<double> minors = minor_of(a, {e / n}, {e % n});
      for (size_t b = 0; b < minors.size(); ++b)
        want[b * n * n + e] = (e / n + e % n) % 2 == 0 ? minors[b] : -minors[b];
    }
    EXPECT_LE(off(gradient(x, false), tensor(want).reshape(a.raw_shape()),
                  m.first_is_zero ? 1e-4 : 1e-200),
              1e-9 + 1e-17 * m.condition)
        << m.name;
  }
}

// The second derivative by two elements: minors without their two rows and two columns.
Tensor second_by_minors(const Tensor& a, const Tensor& weight) {
  const int64_t n = a.size(-1), batch = a.size(0);
  std::vector<double> want(static_cast<size_t>(a.numel())), w = weight.to_vector<double>();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = i + 1; k < n; ++k) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t l = j + 1; l < n; ++l) {
          std::vector<double> minors = minor_of(a, {i, k}, {j, l});
          for (int64_t b = 0; b < batch; ++b) {
            const double d = (i + j + k + l) % 2 == 0 ? minors[b] : -minors[b];
            auto at = [&](int64_t row, int64_t column) {
              return static_cast<size_t>((b * n + row) * n + column);
            };
            want[at(i, j)] += d * w[at(k, l)], want[at(k, l)] += d * w[at(i, j)];
            want[at(i, l)] -= d * w[at(k, j)], want[at(k, j)] -= d * w[at(i, l)];
          }
        }
      }
    }
  }
  return tensor(want).reshape(a.raw_shape());
}

TEST(DetGrad, HasItsOwnDerivativeAtEveryRank) {
  Generator g{12, 0};
  for (const Matrices& m : all_matrices()) {
    const int64_t n = m.a.size(-1);
    Tensor a = m.a.detach().reshape({-1, n, n}), weight = randn(a.raw_shape(), kD, g);
    const double least = m.second_is_zero ? 1e-4 : 1e-200;
    Tensor want = second_by_minors(a, weight), got = second(a, weight);
    EXPECT_LE(off(got, want, least), 1e-6) << m.name;
    Tensor narrow = a.to(DType::kF32), same = narrow.to(kD), w32 = weight.to(DType::kF32);
    EXPECT_LE(off(second(narrow, w32), second(same, w32.to(kD)), least), 1e-5)
        << m.name << ", float32";
  }
}

// The third derivative: a history that is cut after the second derivative has none.
TEST(DetGrad, HasAThirdDerivative) {
  Generator g{13, 0};
  for (const Tensor& a : {symmetric({3, 2, 1, 0}, g), symmetric({3, 2, 0, 0}, g),
                          symmetric({3, 0, 0, 0}, g), randn({4, 4}, kD, g)}) {
    auto f = [](const std::vector<Tensor>& in) {
      EnableGrad on;
      Tensor x = in[0].requires_grad() ? in[0] : in[0].detach().requires_grad_();
      return std::vector<Tensor>{gradient(x, true)};
    };
    GradcheckOptions o;
    o.eps = 1e-3;  // f is quadratic here: differences of any step are right
    GradcheckResult r = gradgradcheck(f, {a}, o);
    EXPECT_TRUE(r.ok) << a << r.message;
  }
}

// A matrix of no numbers leaves the others of its batch alone, singular or not.
TEST(DetGrad, NaNStaysInItsMatrix) {
  const double nan = constants::nan, inf = constants::inf;
  Tensor two = tensor({{1., 2.}, {2., 4.}}, DType::kF64),
         of_two = tensor({{4., -2.}, {-2., 1.}}, DType::kF64);
  for (double odd : {nan, inf}) {
    Tensor a = stack({two, full({2, 2}, odd, kD), eye(2, 2, kD)}).requires_grad_();
    for (bool create_graph : {false, true}) {
      Tensor g = gradient(a, create_graph).detach();
      EXPECT_TRUE(allclose(g.select(0, 0), of_two, 1e-14, 1e-14)) << g;
      EXPECT_FALSE(isfinite(g.select(0, 1)).to(DType::kI32).sum().item() > 0) << g;
      EXPECT_TRUE(equal(g.select(0, 2), eye(2, 2, kD))) << g;
    }
  }
}

}  // namespace
}  // namespace wick
