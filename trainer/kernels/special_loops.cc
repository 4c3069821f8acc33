// Sums of quotients are compiled once per SIMD target, without contraction or reordering: the
// compiler vectorizes them. Logarithms, sines and the like are the C library's, one after the
// other, as in the reference kernels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/special_loops.cc"
#include "trainer/kernels/special_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick::special_loops {
namespace HWY_NAMESPACE {

static void lanczos_sums(const double* __restrict x, double* __restrict sum, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    double s = kLanczos[0];
    for (int i = 1; i < kLanczosTerms; ++i) s = s + kLanczos[i] / (x[j] + (i - 1));
    sum[j] = s;
  }
}

// 1 / y + 1 / (y + 1) + ..., and the asymptotic series behind these.
static void digamma_sums(const double* __restrict y, double* __restrict sum,
                         double* __restrict series, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    double s = 1 / y[j];
    for (int k = 1; k < kSteps; ++k) s = s + 1 / (y[j] + k);
    const double z = y[j] + kSteps, square = 1 / (z * z);
    double t = 0;
    for (int k = 8; k >= 1; --k) t = (t + kBernoulli[k - 1] / (2 * k)) * square;
    sum[j] = s;
    series[j] = t;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::special_loops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::special_loops {
namespace {

HWY_EXPORT(lanczos_sums);
HWY_EXPORT(digamma_sums);

constexpr double kPi = std::numbers::pi, kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kBlock = 256;

// Calls f(x, y, n) for blocks.
template <class F>
void blocks(const double* x, double* y, int64_t n, const F& f) {
  for (int64_t i = 0; i < n; i += kBlock) f(x + i, y + i, std::min(kBlock, n - i));
}

// The positive erfinv of 0 <= a < 1; all of them are below 0.5 (near), or none. The steps of
// several elements do not wait for one another.
template <bool near>
void erfinv_of(const double* a, double* y, int64_t n) {
  double error[kBlock], slope[kBlock];
  for (int64_t j = 0; j < n; ++j) {
    const double w = -std::log((1 - a[j]) * (1 + a[j]));
    if (w < 5) {
      const double u = w - 2.5;
      double first = kErfinvNear[0];
      for (int i = 1; i < 9; ++i) first = first * u + kErfinvNear[i];
      y[j] = first * a[j];
    } else {
      y[j] = std::sqrt(w - 0.5 * std::log(w * kPi));
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < n; ++j)
      error[j] = near ? std::erf(y[j]) - a[j] : (1 - a[j]) - std::erfc(y[j]);
    for (int64_t j = 0; j < n; ++j) slope[j] = std::exp(-(y[j] * y[j]));
    for (int64_t j = 0; j < n; ++j) {
      const double step = error[j] / (slope[j] * (2 / std::sqrt(kPi)));
      y[j] = y[j] - step / (1 + y[j] * step);
    }
  }
}

// The Hurwitz zeta function of s and y >= 0.5.
double zeta(double s, double y) {
  double sum = std::pow(y, -s);
  for (int k = 1; k < kSteps; ++k) sum = sum + std::pow(y + k, -s);
  const double z = y + kSteps, power = std::pow(z, -s), square = 1 / (z * z);
  sum = sum + z * power / (s - 1) + 0.5 * power;
  double term = power / z, factor = s, below = 2;
  for (int k = 1; k <= 8; ++k) {
    sum = sum + term * (kBernoulli[k - 1] * factor / below);
    factor *= (s + 2 * k - 1) * (s + 2 * k);
    below *= (2 * k + 1) * (2 * k + 2);
    term = term * square;
  }
  return sum;
}

}  // namespace

void lgamma(const double* x, double* y, int64_t n) {
  static const double kLogPi = std::log(kPi);
  blocks(x, y, n, [](const double* from, double* to, int64_t count) {
    double arg[kBlock] = {}, sum[kBlock];
    for (int64_t i = 0; i < count; ++i) arg[i] = from[i] < 0.5 ? 1 - from[i] : from[i];
    HWY_DYNAMIC_DISPATCH(lanczos_sums)(arg, sum, count);
    for (int64_t i = 0; i < count; ++i) {
      const double t = arg[i] + (kLanczosG - 0.5);
      const double right = (arg[i] - 0.5) * std::log(t) - t + kHalfLog2Pi + std::log(sum[i]);
      to[i] = right;
      if (from[i] < 0.5) {
        const double turn = from[i] - std::floor(from[i]), back = 1 - turn;
        to[i] = kLogPi - std::log(std::sin((turn < back ? turn : back) * kPi)) - right;
      }
      if (std::isinf(from[i])) to[i] = kInf;
    }
  });
}

void digamma(const double* x, double* y, int64_t n) {
  blocks(x, y, n, [](const double* from, double* to, int64_t count) {
    double arg[kBlock] = {}, sum[kBlock], series[kBlock];
    for (int64_t i = 0; i < count; ++i) arg[i] = from[i] < 0.5 ? 1 - from[i] : from[i];
    HWY_DYNAMIC_DISPATCH(digamma_sums)(arg, sum, series, count);
    for (int64_t i = 0; i < count; ++i) {
      const double z = arg[i] + kSteps;
      const double right = std::log(z) - 0.5 / z - series[i] - sum[i];
      to[i] = right;
      if (!(from[i] < 0.5)) continue;
      double turn = from[i] - std::floor(from[i]);
      turn = turn > 0.5 ? turn - 1 : turn;
      const double c = std::cos(turn * kPi) / std::sin(turn * kPi);
      to[i] = turn == 0 && from[i] < 0 ? kNan : right - (kPi * c + 0);
    }
  });
}

void polygamma(int64_t n, double scale, const double* cotangents, const double* x, double* y,
               int64_t count) {
  const auto s = static_cast<double>(n + 1);
  for (int64_t i = 0; i < count; ++i) {
    const bool left = x[i] < 0.5;
    const double right = zeta(s, left ? 1 - x[i] : x[i]) * scale;
    y[i] = right;
    if (!left) continue;
    double turn = x[i] - std::floor(x[i]);
    turn = turn > 0.5 ? turn - 1 : turn;
    const double c = std::cos(turn * kPi) / std::sin(turn * kPi);
    double mirrored = cotangents[n + 1];
    for (int64_t k = n; k >= 0; --k) mirrored = mirrored * c + cotangents[k];
    y[i] = turn == 0 && x[i] <= 0 ? (n % 2 == 0 ? -kInf : kInf)
                                  : (n % 2 == 0 ? right : -right) - mirrored;
  }
}

void erfinv(const double* x, double* y, int64_t n) {
  blocks(x, y, n, [](const double* from, double* to, int64_t count) {
    // Those below 0.5 come first, the others last.
    double a[kBlock], result[kBlock];
    int64_t place[kBlock], below = 0, end = kBlock;
    for (int64_t i = 0; i < count; ++i) {
      const double size = std::fabs(from[i]);
      to[i] = size == 1 ? from[i] * kInf : kNan;
      if (!(size < 1)) continue;
      const int64_t at = size < 0.5 ? below++ : --end;
      a[at] = size, place[at] = i;
    }
    erfinv_of<true>(a, result, below);
    erfinv_of<false>(a + end, result + end, kBlock - end);
    const auto put = [&](int64_t at) {
      to[place[at]] = from[place[at]] < 0 ? -result[at] : result[at];
    };
    for (int64_t at = 0; at < below; ++at) put(at);
    for (int64_t at = end; at < kBlock; ++at) put(at);
  });
}

}  // namespace wick::special_loops
#endif
