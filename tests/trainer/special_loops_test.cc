// lgamma, digamma, polygamma and erfinv are loops that have the bits of the ops of their formulas,
// which a watcher sees, at every kind of number, and so have their gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "tests/trainer/bits.h"

namespace wick {
namespace {

using test::same_bits;
using test::Seen;
using List = std::vector<Tensor>;

// Numbers of all sizes, poles, ends of ranges, and what is not finite.
Tensor numbers(DType dtype, double reach) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> v = {0.0,       -0.0,   0.5,        -0.5, 1,     -1,          2,
                           -2,        -3.5,   0.49999999, 1e-9, -1e-9, 1e-300,      1 - 1e-9,
                           1 - 1e-16, -1e300, 1e30,       kInf, -kInf, std::nan("")};
  std::mt19937 bits(5);
  std::uniform_real_distribution<double> draw(-reach, reach);
  for (int i = 0; i < 1500; ++i) v.push_back(draw(bits));
  return tensor(v).to(dtype);
}

TEST(SpecialLoops, HaveTheBitsOfTheOps) {
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {[](const Tensor& x) { return lgamma(x); },
                                                                       [](const Tensor& x) { return digamma(x); },
                                                                       [](const Tensor& x) { return polygamma(1, x); },
                                                                       [](const Tensor& x) { return polygamma(2, x); },
                                                                       [](const Tensor& x) { return polygamma(7, x); },
                                                                       [](const Tensor& x) { return erfinv(x); }};
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    for (double reach : {0.6, 1.001, 30.0}) {
      for (size_t k = 0; k < functions.size(); ++k) {
        const auto all = [&] {
          const Tensor x = numbers(dtype, reach).requires_grad_(), y = functions[k](x);
          return List{y, grad({y}, {x}, {ones_like(y.detach())})[0]};
        };
        const List got = all();
        Seen ops;
        const List want = all();
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(same_bits(got[i], want[i])) << "function " << k << ", result " << i;
        EXPECT_GT(ops.calls, 40);  // the ops were visible
      }
    }
  }
}

}  // namespace
}  // namespace wick
