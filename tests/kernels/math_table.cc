#include "tests/kernels/math_table.h"

#include <cmath>
#include <limits>

#include "runtime/kernels/math/math_scalar.h"

namespace wick::test {
namespace {

double oracle_exp(double x) { return std::exp(x); }
double oracle_exp2(double x) { return std::exp2(x); }
double oracle_expm1(double x) { return std::expm1(x); }
double oracle_log(double x) { return std::log(x); }
double oracle_log1p(double x) { return std::log1p(x); }
double oracle_log2(double x) { return std::log2(x); }
double oracle_log10(double x) { return std::log10(x); }
double oracle_erfc(double x) { return std::erfc(x); }
double oracle_tanh(double x) { return std::tanh(x); }
double oracle_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double oracle_erf(double x) { return std::erf(x); }
double oracle_sin(double x) { return std::sin(x); }
double oracle_cos(double x) { return std::cos(x); }
double oracle_tan(double x) { return std::tan(x); }
double oracle_asin(double x) { return std::asin(x); }
double oracle_acos(double x) { return std::acos(x); }
double oracle_atan(double x) { return std::atan(x); }
double oracle_sinh(double x) { return std::sinh(x); }
double oracle_cosh(double x) { return std::cosh(x); }
double oracle_asinh(double x) { return std::asinh(x); }
double oracle_acosh(double x) { return std::acosh(x); }
double oracle_atanh(double x) { return std::atanh(x); }
double oracle_softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
// The limits at -inf are taken as values (-0), not as -inf * 0.
double oracle_silu(double x) {
  if (x == -std::numeric_limits<double>::infinity()) return -0.0;
  return x / (1 + std::exp(-x));
}
double oracle_gelu(double x) {
  if (x == -std::numeric_limits<double>::infinity()) return -0.0;
  return 0.5 * x * std::erfc(-x * M_SQRT1_2);
}
double oracle_gelu_tanh(double x) {
  if (x == -std::numeric_limits<double>::infinity()) return -0.0;
  if (std::fabs(x) > 1e30) return x > 0 ? x : -0.0;
  double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}
double oracle_mish(double x) {
  if (x == -std::numeric_limits<double>::infinity()) return -0.0;
  return std::isnan(x) ? x : x * std::tanh(oracle_softplus(x));
}

double oracle_brief_exp(double x) { return oracle_exp(x); }
double oracle_brief_sigmoid(double x) { return oracle_sigmoid(x); }
double oracle_brief_tanh(double x) { return oracle_tanh(x); }
double oracle_brief_silu(double x) { return oracle_silu(x); }
double oracle_brief_gelu_tanh(double x) { return oracle_gelu_tanh(x); }

#define X(name, bound, unfused)                                                      \
  void scalar_##name(const float* x, float* y, size_t n) {                           \
    for (size_t i = 0; i < n; ++i) y[i] = scalar_math::name(scalar_math::F(x[i])).v; \
  }
WICK_MATH_UNARY(X)
#undef X

constexpr MathRow kRows[] = {
#define X(name, bound, unfused) {#name, bound, unfused, oracle_##name, scalar_##name},
    WICK_MATH_UNARY(X)
#undef X
};

}  // namespace

const MathRow& math_row(MathId id) { return kRows[static_cast<size_t>(id)]; }

double pow_oracle(double x, double y) { return std::pow(x, y); }

void scalar_pow(const float* x, const float* y, float* z, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    z[i] = scalar_math::pow(scalar_math::F(x[i]), scalar_math::F(y[i])).v;
  }
}

double ulp_error(float got, double exact) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : kWrong;
  if (std::isinf(exact)) return got == exact ? 0 : kWrong;
  if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : kWrong;
  if (std::signbit(got) != std::signbit(exact)) return kWrong;
  // An infinite answer counts as 2^128, the value rounding would have given with a larger exponent.
  double value = std::isinf(got) ? std::copysign(0x1p128, got) : static_cast<double>(got);
  int exponent = std::ilogb(exact);
  if (exponent > 127)
    return std::isinf(got) ? 0 : (exact > 0 ? 0x1p128 - value : 0x1p128 + value) * 0x1p-104;
  if (exponent < -126) exponent = -126;
  return std::fabs(value - exact) * std::ldexp(1.0, 23 - exponent);
}

}  // namespace wick::test
