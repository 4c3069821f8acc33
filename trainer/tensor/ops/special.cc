#include "trainer/tensor/ops/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/autograd/function.h"
#include "trainer/kernels/special_loops.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/modes.h"

namespace wick {
namespace {

using special_loops::kBernoulli, special_loops::kErfinvNear, special_loops::kHalfLog2Pi,
    special_loops::kLanczos, special_loops::kLanczosG, special_loops::kLanczosTerms,
    special_loops::kSteps;

constexpr double kPi = std::numbers::pi, kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor number(double v) { return full({}, v, DType::kF64); }

// Returns f(x) in float64, rounded to x's dtype.
template <class F>
Tensor in_double(const char* op, const Arg& x, const F& f) {
  const DType t = x.tensor.dtype(x.where);
  if (!is_float(t)) {
    if (t != DType::kBool && !is_int(t))
      throw_error(op, std::string("needs numbers, got ") + dtype_name(t), x.where);
    return f(x.tensor.to(DType::kF64, x.where)).to(DType::kF32, x.where);
  }
  return f(x.tensor.to(DType::kF64, x.where)).to(t, x.where);
}

// Returns f64 numbers by a loop that has the bits of the formula, if nothing has to see its ops;
// else by the formula.
template <class Loop, class F>
Tensor looped(const Loop& loop, const Tensor& x, const F& formula) {
  const Modes& m = modes();
  if (m.forward != 0 || m.recorder != nullptr || m.watcher != nullptr || x.is_vulkan() ||
      active_tracer() != nullptr)
    return formula(x);
  const Tensor from = x.contiguous();
  Tensor to = new_tensor(x.raw_shape(), DType::kF64);
  const auto* a = from.layout().as<double>();
  auto* b = to.layout().as<double>();
  FloatModeScope mode;  // as in the pool's workers
  parallel_items(thread_pool(), x.numel(), 32,
                 [&](int64_t begin, int64_t end) { loop(a + begin, b + begin, end - begin); });
  return to;
}

// Lanczos' sum for x >= 0.5.
Tensor lanczos(const Tensor& x) {
  Tensor sum = full_like(x, kLanczos[0]);
  for (int i = 1; i < kLanczosTerms; ++i) sum = sum + kLanczos[i] / (x + (i - 1));
  return sum;
}

// log Gamma of x >= 0.5.
Tensor lgamma_right(const Tensor& x) {
  const Tensor t = x + (kLanczosG - 0.5);
  return (x - 0.5) * log(t) - t + kHalfLog2Pi + log(lanczos(x));
}

Tensor lgamma_of(const Tensor& x) {
  const Tensor left = lt(x, 0.5);
  const Tensor right = lgamma_right(where(left, 1 - x, x));
  const Tensor turn = x - floor(x);  // sin(pi x) up to its sign
  const Tensor sine = sin(minimum(turn, 1 - turn) * kPi);
  const Tensor mirrored = number(std::log(kPi)) - log(sine) - right;
  const Tensor endless = isinf(x);
  return where(endless, number(kInf), where(left, mirrored, right));
}

// digamma of y >= 0.5.
Tensor digamma_right(const Tensor& y) {
  Tensor sum = reciprocal(y);
  for (int k = 1; k < kSteps; ++k) sum = sum + reciprocal(y + k);
  const Tensor z = y + kSteps, square_ = reciprocal(z * z);
  Tensor series = full_like(z, 0);
  for (int k = 8; k >= 1; --k) series = (series + kBernoulli[k - 1] / (2 * k)) * square_;
  return log(z) - 0.5 / z - series - sum;
}

// The Hurwitz zeta function of s = n + 1 and y >= 0.5: Euler-Maclaurin's formula.
Tensor zeta_right(int64_t n, const Tensor& y) {
  const auto s = static_cast<double>(n + 1);
  Tensor sum = pow(y, -s);
  for (int k = 1; k < kSteps; ++k) sum = sum + pow(y + k, -s);
  const Tensor z = y + kSteps, power = pow(z, -s), square_ = reciprocal(z * z);
  sum = sum + z * power / (s - 1) + 0.5 * power;
  Tensor term = power / z;
  double factor = s;  // s (s + 1) .. (s + 2 k - 2) / (2 k)!
  double below = 2;
  for (int k = 1; k <= 8; ++k) {
    sum = sum + term * (kBernoulli[k - 1] * factor / below);
    factor *= (s + 2 * k - 1) * (s + 2 * k);
    below *= (2 * k + 1) * (2 * k + 2);
    term = term * square_;
  }
  return sum;
}

// The n-th derivative of pi cot(pi x), as a polynomial of the cotangent: that of c is -pi (1 +
// c^2).
std::vector<double> cotangents(int64_t n) {
  std::vector<double> p = {0, kPi};
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> next(p.size() + 1, 0);
    for (size_t k = 1; k < p.size(); ++k) {
      next[k - 1] -= kPi * static_cast<double>(k) * p[k];
      next[k + 1] -= kPi * static_cast<double>(k) * p[k];
    }
    p = next;
  }
  return p;
}

// n!, negative where n is even.
double zeta_scale(int64_t n) {
  double factorial = 1;
  for (int64_t i = 2; i <= n; ++i) factorial *= static_cast<double>(i);
  return n % 2 == 0 ? -factorial : factorial;
}

Tensor polygamma_of(int64_t n, const Tensor& x) {
  const Tensor left = lt(x, 0.5), y = where(left, 1 - x, x);
  const Tensor right = n == 0 ? digamma_right(y) : zeta_right(n, y) * zeta_scale(n);
  // Reflected: f(x) = (-1)^n f(1 - x) - d^n/dx^n pi cot(pi x).
  Tensor turn = x - floor(x);  // the cotangent's period is 1
  turn = where(gt(turn, 0.5), turn - 1, turn);
  const Tensor c = cos(turn * kPi) / sin(turn * kPi);
  const std::vector<double> p = cotangents(n);
  Tensor mirrored = full_like(c, p.back());
  for (size_t k = p.size() - 1; k-- > 0;) mirrored = mirrored * c + p[k];
  mirrored = (n % 2 == 0 ? right : -right) - mirrored;
  if (n == 0) {
    // PyTorch's: the pole at 0 has a sign, the others have none.
    const Tensor pole = logical_and(eq(turn, 0), lt(x, 0));
    mirrored = where(pole, number(kNan), mirrored);
  } else {
    // From both sides the same infinity, where n is odd; zeta's poles are infinite.
    const Tensor pole = logical_and(eq(turn, 0), le(x, 0));
    mirrored = where(pole, number(n % 2 == 0 ? -kInf : kInf), mirrored);
  }
  return where(left, mirrored, right);
}

struct Lgamma : Function<Lgamma> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return looped(special_loops::lgamma, x, lgamma_of);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g);
};

struct Polygamma : Function<Polygamma> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x, int64_t n) {
    ctx.save_for_backward({x});
    ctx.saved_data["n"] = n;
    const auto formula = [n](const Tensor& t) { return polygamma_of(n, t); };
    if (n == 0) return looped(special_loops::digamma, x, formula);
    const std::vector<double> p = cotangents(n);
    const double scale = zeta_scale(n);
    return looped(
        [&](const double* from, double* to, int64_t count) {
          special_loops::polygamma(n, scale, p.data(), from, to, count);
        },
        x, formula);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const auto n = std::any_cast<int64_t>(ctx.saved_data["n"]);
    return {g[0] * Polygamma::apply(ctx.get_saved_variables()[0], n + 1), Tensor()};
  }
};

variable_list Lgamma::backward(AutogradContext& ctx, const variable_list& g) {
  return {g[0] * Polygamma::apply(ctx.get_saved_variables()[0], int64_t{0})};
}

// A first guess (Giles 2010 within |x| < 1 - 1e-7, else the tail's asymptote), and four steps of
// Halley's method on erfc, which does not cancel near the ends.
Tensor erfinv_of(const Tensor& x) {
  const Tensor a = abs(x), rest = 1 - a;
  const Tensor w = -log(rest * (1 + a));
  Tensor near = full_like(x, kErfinvNear[0]);
  const Tensor u = minimum(w, number(5)) - 2.5;
  for (int i = 1; i < 9; ++i) near = near * u + kErfinvNear[i];
  near = near * a;
  const Tensor tail = maximum(w, number(4));
  const Tensor far = sqrt(tail - 0.5 * log(tail * kPi));
  const Tensor inside = lt(a, 1);
  Tensor y = where(lt(w, 5), near, far);
  y = where(inside, y, number(1));
  for (int i = 0; i < 4; ++i) {
    // erf(y) - a, by the function that is small
    const Tensor error = where(lt(a, 0.5), erf(y) - a, rest - erfc(y));
    const Tensor step = error / (exp(-(y * y)) * (2 / std::sqrt(kPi)));
    const Tensor next = y - step / (1 + y * step);
    y = where(inside, next, number(1));
  }
  y = where(lt(x, 0), -y, y);
  y = where(eq(a, 1), x * kInf, y);
  return where(logical_or(gt(a, 1), ne(x, x)), number(kNan), y);
}

struct Erfinv : Function<Erfinv> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    const Tensor y = looped(special_loops::erfinv, x, erfinv_of);
    ctx.save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const Tensor y = ctx.get_saved_variables()[0];
    return {g[0] * exp(y * y) * (std::sqrt(kPi) / 2)};
  }
};

}  // namespace

Tensor lgamma(const Arg& x) {
  return in_double("lgamma", x, [&](const Tensor& t) { return Lgamma::apply({t, x.where}); });
}
Tensor digamma(const Arg& x) { return polygamma(0, x); }
Tensor polygamma(int64_t n, const Arg& x) {
  if (n < 0 || n > 100) {
    throw_error("polygamma", "n must be 0 to 100, got " + std::to_string(n), x.where,
                Code::kInvalidArgument);
  }
  return in_double("polygamma", x, [&](const Tensor& t) {
    return Polygamma::apply({t, x.where}, n);
  });
}
Tensor mvlgamma(const Arg& x, int64_t p) {
  if (p < 1) throw_error("mvlgamma", "p must be at least 1, got " + std::to_string(p), x.where);
  const At at(x);
  Tensor sum = lgamma(x);
  for (int64_t i = 1; i < p; ++i) sum = at(sum) + at(lgamma(at(x - 0.5 * static_cast<double>(i))));
  return at(sum) + static_cast<double>(p * (p - 1)) / 4 * std::log(kPi);
}
Tensor erfinv(const Arg& x) {
  return in_double("erfinv", x, [&](const Tensor& t) { return Erfinv::apply({t, x.where}); });
}

namespace special {

Tensor gammaln(const Arg& x) { return lgamma(x); }
Tensor psi(const Arg& x) { return digamma(x); }
Tensor entr(const Arg& x) {
  const At at(x);
  const Tensor inside = gt(x, 0), one = full({}, 1, x.tensor.dtype());
  const Tensor safe = where(at(inside), x, at(one));
  const Tensor y = at(neg(at(safe))) * at(log(at(safe)));
  const Tensor low = full({}, -kInf, x.tensor.dtype());
  // NaN stays NaN: it is neither above 0 nor below.
  return where(at(inside), at(y), at(where(at(lt(x, 0)), at(low), at(x * 0))));
}
Tensor expit(const Arg& x) { return sigmoid(x); }
Tensor ndtr(const Arg& x) {
  const At at(x);
  return at(erfc(at(x * -std::sqrt(0.5)))) * 0.5;
}
Tensor ndtri(const Arg& p) {
  const At at(p);
  return at(erfinv(at(at(p * 2) - 1))) * std::sqrt(2.0);
}
Tensor xlog1py(const Arg& x, const Arg& y) {
  const At at(x);
  const Tensor none = logical_and(at(eq(x, 0)), at(eq(y, y)));
  const Tensor zero = full({}, 0, y.tensor.dtype());
  const Tensor safe = where(at(none), at(zero), y);
  return x * at(log1p(at(safe)));
}

}  // namespace special
}  // namespace wick
