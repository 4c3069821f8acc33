#include "trainer/nn/init.h"

#include <algorithm>
#include <cmath>

#include "trainer/tensor/ops.h"

namespace wick::nn::init {
namespace {

std::string shape_text(const Arg& t) { return to_text(t.tensor.raw_shape()).text; }

struct Fans {
  double in, out;
};
Fans fans(const char* op, const Arg& t) {
  const Shape& s = t.tensor.raw_shape();
  if (s.rank() < 2) {
    throw_error(op, "needs at least 2 dimensions, got " + shape_text(t), t.where,
                Code::kShapeMismatch);
  }
  double field = 1;
  for (int i = 2; i < s.rank(); ++i) field *= static_cast<double>(s[i]);
  return {static_cast<double>(s[1]) * field, static_cast<double>(s[0]) * field};
}

double kaiming_std(const char* op, const Arg& t, double a, const std::string& mode,
                   const std::string& nonlinearity) {
  const Fans f = fans(op, t);
  if (mode != "fan_in" && mode != "fan_out") {
    throw_error(op, "mode is \"fan_in\" or \"fan_out\", got \"" + mode + "\"", t.where);
  }
  const double fan = mode == "fan_in" ? f.in : f.out;
  return calculate_gain(nonlinearity, a) / std::sqrt(std::max(fan, 1.0));
}

void need_finite(const char* op, const char* what, double v, const Where& where) {
  if (std::isfinite(v)) return;
  throw_error(op, std::string(what) + " must be finite, got " + std::to_string(v), where);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

// Returns x with normal_cdf(x) = p: a rational approximation (Acklam), then Newton's and Halley's
// steps.
double normal_quantile(double p) {
  if (p <= 0) return -HUGE_VAL;
  if (p >= 1) return HUGE_VAL;
  if (p > 0.5) return -normal_quantile(1 - p);
  double x = 0;
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    x = (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
           2.549732539343734e+00) *
              q +
          4.374664141464968e+00) *
             q +
         2.938163982698783e+00) /
        ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
          3.754408661907416e+00) *
             q +
         1);
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
           1.383577518672690e+02) *
              r -
          3.066479806614716e+01) *
             r +
         2.506628277459239e+00) *
        q /
        (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
           6.680131188771972e+01) *
              r -
          1.328068155288572e+01) *
             r +
         1);
  }
  for (int i = 0; i < 2; ++i) {
    const double u = (normal_cdf(x) - p) * std::sqrt(2 * M_PI) * std::exp(x * x / 2);
    x -= u / (1 + x * u / 2);
  }
  return x;
}

}  // namespace

double calculate_gain(const std::string& nonlinearity, std::optional<double> param) {
  const std::string& n = nonlinearity;
  if (n == "linear" || n == "conv1d" || n == "conv2d" || n == "conv3d" || n == "conv_transpose1d" ||
      n == "conv_transpose2d" || n == "conv_transpose3d" || n == "sigmoid") {
    return 1;
  }
  if (n == "tanh") return 5.0 / 3;
  if (n == "relu") return std::sqrt(2.0);
  if (n == "selu") return 0.75;
  if (n == "leaky_relu") {
    const double slope = param.value_or(0.01);
    return std::sqrt(2 / (1 + slope * slope));
  }
  throw Error(
      "[calculate_gain] knows linear, conv, sigmoid, tanh, relu, leaky_relu and selu, not '" + n +
      "'");
}

const Tensor& uniform_(const Arg& t, double a, double b, Generator& g) {
  NoGrad guard;
  need_finite("uniform_", "a", a, t.where);
  need_finite("uniform_", "b", b, t.where);
  return wick::uniform_(t, a, b, g);
}
const Tensor& normal_(const Arg& t, double mean, double std, Generator& g) {
  NoGrad guard;
  need_finite("normal_", "mean", mean, t.where);
  need_finite("normal_", "std", std, t.where);
  return wick::normal_(t, mean, std, g);
}

const Tensor& trunc_normal_(const Arg& t, double mean, double std, double a, double b,
                            Generator& g) {
  if (!(std > 0) || !(a < b) || !std::isfinite(mean) || !std::isfinite(std)) {
    throw_error("trunc_normal_",
                "needs a finite mean, std > 0 and a < b, got mean " + std::to_string(mean) +
                    ", std " + std::to_string(std) + ", a " + std::to_string(a) + ", b " +
                    std::to_string(b),
                t.where);
  }
  NoGrad guard;
  const double low = normal_cdf((a - mean) / std), high = normal_cdf((b - mean) / std);
  std::vector<double> v =
      uniform(t.tensor.raw_shape(), low, high, DType::kF64, g, t.where).to_vector<double>();
  for (double& x : v) x = std::clamp(mean + std * normal_quantile(x), a, b);
  t.tensor.copy_(from_blob(v.data(), t.tensor.raw_shape(), DType::kF64), t.where);
  return t.tensor;
}

const Tensor& constant_(const Arg& t, double value) {
  NoGrad guard;
  return t.tensor.fill_(value, t.where);
}
const Tensor& ones_(const Arg& t) { return constant_(t, 1); }
const Tensor& zeros_(const Arg& t) { return constant_(t, 0); }

const Tensor& eye_(const Arg& t) {
  if (t.tensor.rank() != 2) {
    throw_error("eye_", "needs a matrix, got " + shape_text(t), t.where, Code::kShapeMismatch);
  }
  NoGrad guard;
  const Shape& s = t.tensor.raw_shape();
  t.tensor.copy_(wick::eye(s[0], s[1], t.tensor.dtype(), t.where), t.where);
  return t.tensor;
}

const Tensor& dirac_(const Arg& t, int64_t groups) {
  const Shape& s = t.tensor.raw_shape();
  if (s.rank() < 3 || s.rank() > 5 || groups < 1 || s[0] % groups != 0) {
    throw_error("dirac_",
                "needs 3 to 5 dimensions, the first divisible by " + std::to_string(groups) +
                    " groups, got " + shape_text(t),
                t.where, Code::kShapeMismatch);
  }
  NoGrad guard;
  std::vector<double> v(static_cast<size_t>(numel(s)), 0.0);
  int64_t field = 1, middle = 0;
  for (int i = 2; i < s.rank(); ++i) {
    field *= s[i];
    middle = middle * s[i] + s[i] / 2;
  }
  const int64_t each = s[0] / groups;
  for (int64_t out = 0; out < s[0]; ++out) {
    const int64_t in = out % each;
    if (in < s[1]) v[static_cast<size_t>((out * s[1] + in) * field + middle)] = 1;
  }
  t.tensor.copy_(from_blob(v.data(), s, DType::kF64), t.where);
  return t.tensor;
}

const Tensor& xavier_uniform_(const Arg& t, double gain, Generator& g) {
  const Fans f = fans("xavier_uniform_", t);
  const double bound = gain * std::sqrt(6 / std::max(f.in + f.out, 1.0));
  return init::uniform_(t, -bound, bound, g);
}
const Tensor& xavier_normal_(const Arg& t, double gain, Generator& g) {
  const Fans f = fans("xavier_normal_", t);
  return init::normal_(t, 0, gain * std::sqrt(2 / std::max(f.in + f.out, 1.0)), g);
}
const Tensor& kaiming_uniform_(const Arg& t, double a, const std::string& mode,
                               const std::string& nonlinearity, Generator& g) {
  const double bound = std::sqrt(3.0) * kaiming_std("kaiming_uniform_", t, a, mode, nonlinearity);
  return init::uniform_(t, -bound, bound, g);
}
const Tensor& kaiming_normal_(const Arg& t, double a, const std::string& mode,
                              const std::string& nonlinearity, Generator& g) {
  return init::normal_(t, 0, kaiming_std("kaiming_normal_", t, a, mode, nonlinearity), g);
}

const Tensor& orthogonal_(const Arg& t, double gain, Generator& g) {
  const Shape& s = t.tensor.raw_shape();
  if (s.rank() < 2) {
    throw_error("orthogonal_", "needs at least 2 dimensions, got " + shape_text(t), t.where,
                Code::kShapeMismatch);
  }
  NoGrad guard;
  if (numel(s) == 0) return t.tensor;
  const int64_t rows = s[0], columns = numel(s) / s[0];
  // Of a normal matrix Q is uniform among the orthogonal ones once R's diagonal is positive.
  Tensor drawn = randn({std::max(rows, columns), std::min(rows, columns)}, DType::kF64, g, t.where);
  auto [q, r] = linalg::qr({drawn, t.where});
  q = q * sign(diagonal(r)) * gain;
  if (rows < columns) q = q.t();
  t.tensor.copy_(q.reshape(s, t.where), t.where);
  return t.tensor;
}

const Tensor& sparse_(const Arg& t, double sparsity, double std, Generator& g) {
  const Shape& s = t.tensor.raw_shape();
  if (s.rank() != 2) {
    throw_error("sparse_", "needs a matrix, got " + shape_text(t), t.where, Code::kShapeMismatch);
  }
  if (!(sparsity >= 0 && sparsity <= 1)) {
    throw_error("sparse_", "sparsity must be in [0, 1], got " + std::to_string(sparsity), t.where);
  }
  NoGrad guard;
  std::vector<double> v = normal(0, std, s, DType::kF64, g, t.where).to_vector<double>();
  const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(s[0])));
  for (int64_t column = 0; column < s[1]; ++column) {
    const std::vector<int64_t> rows = randperm(s[0], g, t.where).to_vector<int64_t>();
    for (int64_t k = 0; k < zeros; ++k) {
      v[static_cast<size_t>(rows[static_cast<size_t>(k)] * s[1] + column)] = 0;
    }
  }
  t.tensor.copy_(from_blob(v.data(), s, DType::kF64), t.where);
  return t.tensor;
}

}  // namespace wick::nn::init
