#include "trainer/distributions/gamma_draw.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/autograd/function.h"
#include "trainer/distributions/check.h"
#include "trainer/tensor/draws.h"

namespace wick::distributions {
namespace {

// Takes the place of log 0: sums of such numbers stay finite.
constexpr double kLogOfNothing = -1e300;

// Element i's draw (Marsaglia and Tsang, 2000): attempt a reads the words of blocks 2 i (a normal
// number) and 2 i + 1 (a uniform one; for alpha < 1 another one, of the first attempt), with a in
// the counter's upper 16 bits. One in twenty attempts fails at worst.
double draw_log_gamma(double alpha, int64_t i, const Draw& draw) {
  if (!(alpha > 0)) return kNan;
  if (std::isinf(alpha)) return alpha;
  const bool small = alpha < 1;
  const double d = (small ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  double boost = 0;  // log U / alpha: Gamma(alpha) is Gamma(alpha + 1) U^(1 / alpha)
  for (uint64_t attempt = 0;; ++attempt) {
    const uint64_t block = attempt << 48 | static_cast<uint64_t>(2 * i);
    const double x = normal_pair(philox(draw.seed, draw.stream, block))[0];
    const auto w = philox(draw.seed, draw.stream, block + 1);
    if (small && attempt == 0) boost = draw_log(1 - unit_double(w[2], w[3])) / alpha;
    const double root = 1 + c * x;
    if (!(root > 0)) continue;
    const double log_v = 3 * draw_log(root), v = root * root * root;
    const double log_u = draw_log(1 - unit_double(w[0], w[1]));
    if (!(log_u <= 0.5 * x * x + d - d * v + d * log_v)) continue;
    return std::max(draw_log(d) + log_v + boost, kLogOfNothing);
  }
}

// Nodes and weights of Gauss and Legendre on [-1, 1].
constexpr int kNodes = 32;
struct Rule {
  std::array<double, kNodes> x, w;
};
const Rule& gauss_legendre() {
  static const Rule rule = [] {
    Rule r{};
    for (int i = 0; i < kNodes; ++i) {
      double x = std::cos(M_PI * (i + 0.75) / (kNodes + 0.5)), slope = 1;
      for (int step = 0; step < 20; ++step) {  // Newton's method on the Legendre polynomial
        double before = 1, now = x;
        for (int k = 2; k <= kNodes; ++k) {
          const double next = ((2 * k - 1) * x * now - (k - 1) * before) / k;
          before = now;
          now = next;
        }
        slope = kNodes * (x * now - before) / (x * x - 1);
        x -= now / slope;
      }
      r.x[static_cast<size_t>(i)] = x;
      r.w[static_cast<size_t>(i)] = 2 / ((1 - x * x) * slope * slope);
    }
    return r;
  }();
  return rule;
}

// With P = z^alpha e^-z / Gamma(alpha + 1) S, S = sum z^n / ((alpha + 1) .. (alpha + n)), the
// derivative of P by alpha, divided by that of z and by z.
double slope_by_series(double alpha, double log_z, double psi1) {
  const double z = std::exp(log_z);
  double term = 1, sum = 1, harmonic = 0, derivative = 0;
  for (int n = 1; n < 10000; ++n) {
    term *= z / (alpha + n);
    harmonic += 1 / (alpha + n);
    sum += term;
    derivative -= term * harmonic;
    if (term <= 1e-17 * sum && term * harmonic <= -1e-17 * derivative) break;
  }
  return -((log_z - psi1) * sum + derivative) / alpha;
}

// d log z / d alpha = the integral over s >= 0 of sign e^(sign alpha s - z (e^(sign s) - 1)) (log z
// + sign s - psi(alpha)): over t = z e^(sign s), the tail of the distribution on the side where z
// lies, so that nothing cancels. Three panels up to where the exponential is e^-50.
double slope_by_tail(double alpha, double log_z, double psi1) {
  const double z = std::exp(log_z), sign = z < alpha ? -1 : 1, off = log_z - (psi1 - 1 / alpha);
  auto exponent = [&](double s) { return sign * alpha * s - z * std::expm1(sign * s); };
  double low = 0, high = 1 / std::sqrt(alpha + z);
  while (exponent(high) > -50) high *= 2;
  for (int i = 0; i < 12; ++i) {
    const double middle = 0.5 * (low + high);
    (exponent(middle) > -50 ? low : high) = middle;
  }
  constexpr int kPanels = 3;
  const Rule& rule = gauss_legendre();
  const double half = 0.5 * high / kPanels;
  double sum = 0;
  for (int panel = 0; panel < kPanels; ++panel) {
    for (size_t i = 0; i < kNodes; ++i) {
      const double s = half * (2 * panel + 1 + rule.x[i]);
      sum += rule.w[i] * std::exp(exponent(s)) * (off + sign * s);
    }
  }
  return sign * half * sum;
}

struct LogGamma : Function<LogGamma> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext& ctx, const Tensor& alpha, const Tensor& drawn) {
    ctx.save_for_backward({alpha, drawn});
    return drawn.detach();
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const variable_list saved = ctx.get_saved_variables();
    const Tensor alpha = saved[0].detach().contiguous(), log_z = saved[1].detach().contiguous();
    const Tensor psi1 = digamma(alpha + 1).contiguous();
    const Tensor slope = empty(alpha.raw_shape(), DType::kF64);
    const double *a = alpha.data<double>(), *l = log_z.data<double>(), *p = psi1.data<double>();
    auto* y = slope.mutable_data<double>();
    constexpr int64_t kCost = 1000;  // an element takes some hundred exponentials
    constexpr double kMost = std::numeric_limits<double>::max();
    parallel_items(thread_pool(), alpha.layout().numel(), kCost, [&](int64_t begin, int64_t end) {
      // A draw of 0 has the gradient 0, not 0 times infinity.
      for (int64_t i = begin; i < end; ++i)
        y[i] = std::min(log_gamma_slope(a[i], l[i], p[i]), kMost);
    });
    return {g[0] * slope, Tensor()};
  }
};

}  // namespace

double log_gamma_slope(double alpha, double log_z, double psi1) {
  if (!(alpha > 0) || !std::isfinite(alpha) || !std::isfinite(log_z)) return kNan;
  const double z = std::exp(log_z);
  if (z < alpha + 1 && (alpha < 100 || z < 0.5 * alpha)) {
    return slope_by_series(alpha, log_z, psi1);
  }
  return slope_by_tail(alpha, log_z, psi1);
}

Tensor log_standard_gamma(const Arg& alpha, Generator& g) {
  const Tensor drawn = unrecorded([&] {
    const Tensor of = alpha.tensor.detach(alpha.where).contiguous(alpha.where);
    const Tensor log_z = empty(of.raw_shape(), DType::kF64, alpha.where);
    const double* a = of.data<double>(alpha.where);
    auto* y = log_z.mutable_data<double>(alpha.where);
    const Draw draw = next_draw(g);
    constexpr int64_t kCost = 200;
    parallel_items(thread_pool(), of.layout().numel(), kCost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = draw_log_gamma(a[i], i, draw);
    });
    return log_z;
  });
  return LogGamma::apply(alpha, drawn);
}

}  // namespace wick::distributions
