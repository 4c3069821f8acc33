// LBFGS descends these in its tests.
#pragma once

#include <memory>

#include "tests/optim/goldens.h"

namespace wick::test {

// The functions of make_lbfgs.py: the loss, and its gradient.
using Problem = double (*)(const std::vector<double>& x, std::vector<double>& g);

inline double quadratic(const std::vector<double>& x, std::vector<double>& g) {
  double f = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double row = static_cast<double>(i + 1) * x[i];
    if (i > 0) row += 0.25 * x[i - 1];
    if (i + 1 < x.size()) row += 0.25 * x[i + 1];
    const double b = number(static_cast<int64_t>(i), 3);
    f += 0.5 * x[i] * row - b * x[i];
    g[i] = row - b;
  }
  return f;
}

inline double rosenbrock(const std::vector<double>& x, std::vector<double>& g) {
  double f = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    const double u = x[i + 1] - x[i] * x[i], v = 1 - x[i];
    f += 100 * u * u + v * v;
    g[i] += -400 * u * x[i] - 2 * v;
    g[i + 1] += 200 * u;
  }
  return f;
}

// Seven numbers in two tensors, and a closure that counts its calls.
struct Descent {
  explicit Descent(Problem problem, const optim::LbfgsOptions& options = {},
                   DType dtype = DType::kF64)
      : problem(problem) {
    const Tensor x = numbers({7}, 50, dtype);
    params = {x.slice(0, 0, 4).reshape({2, 2}).clone(), x.slice(0, 4, 7).clone()};
    for (const Tensor& p : params) p.requires_grad_();
    lbfgs = std::make_unique<optim::LBFGS>(params, options);
  }
  double step() {
    return lbfgs->step([this] {
      ++calls;
      lbfgs->zero_grad();
      const std::vector<double> x = values_of(params);
      std::vector<double> g(7);
      const double f = problem(x, g);
      const DType dtype = params[0].dtype();
      params[0].set_grad(from_blob(g.data(), {2, 2}, DType::kF64).to(dtype).clone());
      params[1].set_grad(from_blob(g.data() + 4, {3}, DType::kF64).to(dtype).clone());
      return f;
    });
  }

  Problem problem;
  std::vector<Tensor> params;
  std::unique_ptr<optim::LBFGS> lbfgs;
  int64_t calls = 0;
};

}  // namespace wick::test
