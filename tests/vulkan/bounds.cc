#include "tests/vulkan/bounds.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "tests/ops/sets.h"

namespace wick::test {
namespace {

constexpr double kU = 0x1p-24;

// exp_f32: the reduced argument is off by at most 0.5 u (one rounding of n * ln2 low, one of the
// difference), the polynomial and its two additions by 2.5 u, the scaling is exact.
constexpr double kExp = 4;
constexpr double kDiv = 5;  // 2.5 ulp
// 1 / (1 + e): e's error, the addition's 1 u, the division's.
constexpr double kSigmoid = kExp + 1 + kDiv;
// Below 0.625 a polynomial, 3 u. Above, 1 - 2 / (e + 1): the quotient is below 0.446 there and the
// result above 0.555: 0.446 / 0.555 * (kExp + 1 + kDiv) + 1.
constexpr double kTanh = 9.1;
constexpr double kLog = 4;
// 1 / inversesqrt: 2 ulp and a division.
constexpr double kSqrt = 9;

// trig.glsl. An argument beyond pi/4 becomes a product of a rounded integer and pi / 2, 2.5 u; sine
// grows by no more (r cot r <= 1), its polynomial rounds a tenth of the result in 4 steps and the
// sum. The cosine (r tan r <= 0.79): half the square, the sum of the small terms, at least 0.7.
constexpr double kSin = 4.5;
// Both, the argument's error times r / (sin r cos r) <= pi / 2, a quotient.
constexpr double kTan = 2.5 * 1.58 + 1.6 + 2 + kDiv;
// Below 1 the polynomial is a fifth of the result; above, 1 / x rounds once and pi / 2's sum is at
// least pi / 4.
constexpr double kAtan = 5;
// log of the rounded 1 + x may be a third larger than the result; what was rounded away, the sum.
constexpr double kLog1p = 4.0 / 3 * kLog + 1.5;

struct Error {
  double relative;      // units of u of |y|
  double absolute = 0;  // units of u
};

// erfc of z: the fit, 2 u (1.2e-7), nine steps on t that the exponential makes relative (values
// below 1.5, 1 u each, and t's own 6 u times the polynomial's slope, below 1.6), z * z twice
// rounded, exp itself, the product.
double erfc_relative(double z) { return 2 + 9 * 1.5 + 6 * 1.6 + 2 * z * z + kExp + 1; }

// gelu, erf form: x times half of erfc on one side, times 1 - half of erfc on the other; |x| /
// sqrt(2) is off by 1.5 u, which changes erfc by its logarithmic slope, at most 2 z (z + 1).
Error gelu_error(double x) {
  double z = std::fabs(x) / std::sqrt(2.0);
  double tail = 0.5 * std::erfc(z) * std::fabs(x);
  return {2, tail * (erfc_relative(z) + 1.5 * 2 * z * (z + 1))};
}

// The largest over all x, for where x is not known.
Error gelu_error_anywhere() {
  Error worst{2};
  for (double x = -10; x <= 10; x += 0.01)
    worst.absolute = std::fmax(worst.absolute, gelu_error(x).absolute);
  return worst;
}

double half_angle(double a) { return std::asin(std::sqrt(std::fmax(0, (1 - a) / 2))); }

// The error of y = f(x) for an exact x.
Error unary_error(OpId op, const void* attrs, double x) {
  double a = std::fabs(x);
  switch (op) {
    case OpId::kSigmoid: return {kSigmoid};
    case OpId::kSilu: return {kExp + 1 + kDiv};
    case OpId::kTanh: return {kTanh};
    case OpId::kExp: return {kExp};
    case OpId::kLog: return {kLog};
    case OpId::kSqrt: return {kSqrt};
    case OpId::kReciprocal: return {kDiv};
    case OpId::kLeakyRelu: return {1};
    case OpId::kElu: {
      // exp and the difference below 1, the product
      const double alpha = std::fabs(static_cast<const EluAttrs*>(attrs)->alpha);
      return x > 0 ? Error{0} : Error{1, alpha * (kExp * std::exp(x) + 1)};
    }
    // e = exp(-|x|): its error and the addition's move the logarithm by as much, log itself, the
    // sum.
    case OpId::kSoftplus: return {kLog + 1, kExp * std::exp(-a) + 1};
    case OpId::kErf: return a < 0.5 ? Error{4} : Error{1, std::erfc(a) * erfc_relative(a)};
    // clip(x / 6 + 0.5): a constant off by 1 u, a product, a sum; then the product with x.
    case OpId::kHardSwish: return {1, a < 3.001 ? a * (3 * a / 6 + 1) : 0};
    case OpId::kHardSigmoid: {
      const auto& h = *static_cast<const HardSigmoidAttrs*>(attrs);
      return {1, 2 * std::fabs(h.alpha * x) + std::fabs(h.beta)};
    }
    // tanh form: its argument is off by 7 u relative, times |z| (1 - tanh(z)^2) <= 0.448; tanh
    // itself, 1 + t, and the products.
    case OpId::kGelu:
      if (static_cast<const GeluAttrs*>(attrs)->tanh == 0) return gelu_error(x);
      return {2, a / 2 * (kTanh + 7 * 0.448 + 2)};
    case OpId::kSin:
    case OpId::kCos: return {kSin};
    case OpId::kTan: return {kTan};
    case OpId::kAtan: return {kAtan};
    // Below 1/2 a tail of a twentieth. Above, pi / 2 less twice the arc of half the angle: a root
    // (1 u) and a tail, 2.3 u of at most pi / 6.
    case OpId::kAsin: return a < 0.5 ? Error{2} : Error{2, 4.6 * half_angle(a)};
    case OpId::kAcos:
      return a < 0.5 ? Error{2.5} : x > 0 ? Error{2.5} : Error{2, 4.6 * half_angle(a)};
    // e^x / 2 and what 1/4 over it adds.
    case OpId::kSinh:
      return a < 1 ? Error{2} : Error{1, kExp * std::exp(a) / 2 + (kExp + kDiv) * std::exp(-a) / 2};
    case OpId::kCosh: return {1, kExp * std::exp(a) / 2 + (kExp + kDiv) * std::exp(-a) / 2};
    // The logarithm's argument: a square, a sum, their root, a sum: 3 u; ln 2 is added beyond 2^14.
    case OpId::kAsinh: return a < 0.5 ? Error{2} : Error{kLog + 1, 3};
    // log1p of t + sqrt(t (t + 2)): the argument is off by 4 u, which log1p does not enlarge.
    case OpId::kAcosh: return {kLog1p + 4};
    // log1p of 2 a / (1 - a): 2 u.
    case OpId::kAtanh: return {kLog1p + 3};
    case OpId::kLog1p: return {kLog1p};
    case OpId::kExpm1: return a < 0.34 ? Error{2.5} : Error{1, kExp * std::exp(x)};
    // log of the digits times a constant; the exponent is added.
    case OpId::kLog2: return {kLog + 3};
    case OpId::kLog10: return {kLog + 2};
    case OpId::kErfc:
      return x < 0 ? Error{1, std::erfc(a) * erfc_relative(a)} : Error{erfc_relative(a)};
    default: return {0};  // exact: relu, clip, neg, abs, rounding, sign
  }
}

Error activation_error(const EpilogueAttrs& e, double y, double* slope) {
  *slope = 1;
  double a = std::fabs(y);
  switch (static_cast<Activation>(e.activation)) {
    case Activation::kLeakyRelu: return {1};
    case Activation::kSigmoid: *slope = 0.25; return {kSigmoid};
    case Activation::kTanh: return {kTanh};
    case Activation::kSilu: *slope = 1.1; return {kExp + 1 + kDiv};
    case Activation::kHardSwish: *slope = 1.5; return {1, a * (a / 2 + 1) + 3};
    case Activation::kGeluErf: *slope = 1.13; return gelu_error_anywhere();
    case Activation::kGeluTanh: *slope = 1.13; return {2, (a + 0.2) / 2 * (kTanh + 7 * 0.448 + 2)};
    default: return {0};
  }
}

Value absolute(const Value& v) {
  if (!v.view().present()) return v;
  Value out(v.view().dtype, v.view().shape);
  for (int64_t i = 0; i < v.view().numel(); ++i) out.set(i, std::fabs(v.at(i)));
  return out;
}

// A chain of `depth` fma and up to four more steps: each rounds a partial sum that is at most the
// same expression over absolute values. A thin product is cut into chains whose sums are added by
// halving: of L chains, ceil(depth / L) + log2(L) roundings a term, no more than depth where L is
// used at all (depth >= 64, L <= 32).
std::vector<double> contraction(OpId op, const void* attrs, const std::vector<Value>& in,
                                const Value& want) {
  EpilogueAttrs epilogue;
  AnyAttrs plain = {};
  Shape w = in[1].view().shape;
  double depth = static_cast<double>(in[0].view().shape[in[0].view().rank() - 1]);
  if (op == OpId::kConv || op == OpId::kFusedConv) depth = static_cast<double>(numel(w) / w[0]);
  if (op == OpId::kFusedConv) {
    FusedConvAttrs a = *static_cast<const FusedConvAttrs*>(attrs);
    epilogue = a.epilogue;
    a.epilogue = {};
    plain = AnyAttrs::of(a);
    attrs = plain.get();
  } else if (op == OpId::kFusedLinear || op == OpId::kFusedMatMul) {
    epilogue = *static_cast<const EpilogueAttrs*>(attrs);
    plain = AnyAttrs::of(EpilogueAttrs{});
    attrs = plain.get();
  }
  std::vector<Value> magnitude, sizes;
  for (const Value& v : in) sizes.push_back(absolute(v));
  if (!run_op(op, attrs, sizes, 1, reference_sets(), nullptr, &magnitude).ok()) std::abort();
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    double slope = 1, y = want.at(i);
    Error e = activation_error(epilogue, y, &slope);
    bounds.push_back(kU *
                     (slope * (depth + static_cast<double>(in.size()) - 2) * magnitude[0].at(i) +
                      e.relative * std::fabs(y) + e.absolute));
  }
  return bounds;
}

std::vector<double> softmax(OpId op, const void* attrs, const Value& x, const Value& want) {
  Shape s = x.view().shape;
  int64_t axis = static_cast<const AxisAttrs*>(attrs)->axis;
  if (axis < 0) axis += s.rank();
  int64_t inner = 1, len = s[static_cast<int>(axis)];
  for (int d = static_cast<int>(axis) + 1; d < s.rank(); ++d) inner *= s[d];
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    int64_t base = i / (inner * len) * inner * len + i % inner;
    double best = -INFINITY, total = 0, weighted = 0;
    for (int64_t k = 0; k < len; ++k) best = std::fmax(best, x.at(base + k * inner));
    for (int64_t k = 0; k < len; ++k) {
      double d = best - x.at(base + k * inner);
      total += std::exp(-d);
      weighted += std::exp(-d) * (d + kExp);  // x - max is off by u d, which exp makes relative
    }
    // 16 lanes, or a subgroup of at least 8 where rows are long
    double d = best - x.at(i), lanes = len < 64 ? 16 : 8,
           steps =
               std::ceil(static_cast<double>(len) / lanes) + 4 + static_cast<double>(len / 4096);
    double sum_error = weighted / total + steps;  // relative, units of u
    double y = std::fabs(want.at(i));
    bounds.push_back(kU * (op == OpId::kSoftmax ? y * (d + kExp + sum_error + kDiv)
                                                : d + sum_error + kLog * std::log(total) + y));
  }
  return bounds;
}

std::vector<double> average(const void* attrs, const std::vector<Value>& in, const Value& want) {
  const auto& pool = *static_cast<const PoolAttrs*>(attrs);
  double taps = 1;
  for (int64_t k : pool.kernel_shape.span()) taps *= static_cast<double>(k);
  std::vector<Value> magnitude;
  if (!run_op(OpId::kAveragePool, attrs, {absolute(in[0])}, 1, reference_sets(), nullptr,
              &magnitude)
           .ok()) {
    std::abort();
  }
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    bounds.push_back(kU * ((taps - 1) * magnitude[0].at(i) + kDiv * std::fabs(want.at(i))));
  }
  return bounds;
}

// scale = gamma / sqrt(var + eps): half the sum's 1 u, the root, the division; shift = beta - mean
// * scale.
std::vector<double> batch_norm(const void* attrs, const std::vector<Value>& in, const Value& want) {
  constexpr double kScale = 0.5 + kSqrt + kDiv;
  double epsilon = static_cast<const BatchNormAttrs*>(attrs)->epsilon;
  Shape s = in[0].view().shape;
  int64_t inner = numel(s) / (s[0] * s[1]);
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    int64_t c = i / inner % s[1];
    double scale = std::fabs(in[1].at(c)) / std::sqrt(in[4].at(c) + epsilon);
    double shift = std::fabs(in[3].at(c)) * scale;
    bounds.push_back(kU * (kScale * scale * std::fabs(in[0].at(i)) + kScale * shift + shift +
                           std::fabs(in[2].at(c)) + std::fabs(want.at(i))));
  }
  return bounds;
}

// Lanes, then their tree, then blocks: each addition rounds a partial sum of at most the
// magnitudes' sum. Products round as often, relative to the result.
std::vector<double> reduction(OpId op, const void* attrs, const std::vector<Value>& in,
                              const Value& want) {
  std::vector<double> bounds(static_cast<size_t>(want.view().numel()), 0.0);
  if (op == OpId::kReduceMax || op == OpId::kReduceMin) return bounds;
  std::vector<Value> sizes = in, magnitude;
  sizes[0] = absolute(in[0]);
  if (!run_op(op, attrs, sizes, 1, reference_sets(), nullptr, &magnitude).ok()) std::abort();
  const double count =
      static_cast<double>(in[0].view().numel()) / static_cast<double>(want.view().numel());
  const double steps = op == OpId::kReduceProd ? count : count / 16 + 4 + count / 4096;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    bounds[i] = kU * (steps * magnitude[0].at(at) +
                      (op == OpId::kReduceMean ? kDiv * std::fabs(want.at(at)) : 0)) +
                FLT_MIN;
  }
  return bounds;
}

// Running sums and products, and scatters that combine: one rounding a step. A sum rounds partial
// sums of at most the same op over absolute values, a product relative to itself.
std::vector<double> steps_in_turn(OpId op, const void* attrs, const std::vector<Value>& in,
                                  const Value& want) {
  double steps = 0;
  if (op == OpId::kCumSum || op == OpId::kCumProd) {
    int64_t axis = static_cast<const CumulateAttrs*>(attrs)->axis;
    if (in.size() > 1) axis = static_cast<int64_t>(in[1].at(0));
    const Shape s = in[0].view().shape;
    steps = static_cast<double>(s[static_cast<int>(axis < 0 ? axis + s.rank() : axis)]);
  } else {
    const int64_t how = op == OpId::kScatterND
                            ? static_cast<const ScatterNDAttrs*>(attrs)->reduction
                            : static_cast<const ScatterAttrs*>(attrs)->reduction;
    const auto reduction = static_cast<ScatterReduction>(how);
    if (reduction == ScatterReduction::kAdd || reduction == ScatterReduction::kMul)
      steps = static_cast<double>(in[1].view().numel());
  }
  std::vector<Value> sizes = in, magnitude;
  sizes[0] = absolute(in[0]);
  if (in.size() > 2) sizes[2] = absolute(in[2]);
  if (!run_op(op, attrs, sizes, 1, reference_sets(), nullptr, &magnitude).ok()) std::abort();
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i)
    bounds.push_back(steps == 0 ? 0 : kU * steps * magnitude[0].at(i) + FLT_MIN);
  return bounds;
}

// The bound is by norms: a score is a sum of `size` products of at most M / size each and a few
// more steps, so it is off by E = (size + 8) M units; a weight, relative, by 2 E, by what exp makes
// of a difference of at most 2 M, and by its sum of `keys`; the output by that and its own sum. If
// it is done block by block, of at least 16 keys, each block rescales the sum so far by another
// exponential; the arguments of these add up to at most 2 M.
std::vector<double> attention(const std::vector<Value>& in, const Value& want) {
  auto largest = [](const Value& v) {
    double most = 0;
    for (int64_t i = 0; i < v.view().numel(); ++i) {
      if (std::isfinite(v.at(i))) most = std::fmax(most, std::fabs(v.at(i)));
    }
    return most;
  };
  auto most_of = [](const Shape& s) {
    int64_t most = 1;
    for (int64_t d : s) most = std::max(most, d);
    return static_cast<double>(most);
  };
  // Permutations may put any dim last.
  const double size = most_of(in[0].view().shape), keys = most_of(in[1].view().shape);
  double m = size * largest(in[0]) * largest(in[1]);
  for (size_t i = 3; i < in.size(); ++i) {
    const double x = largest(in[i]);
    if (in[i].view().dtype == DType::kF32 || in[i].view().dtype == DType::kF64)
      m = std::fmax(m * std::fmax(1, std::fmax(x, x > 0 ? 1 / x : 1)), m + (x < 1e3 ? x : 0));
  }
  const double rescaled = (kExp + 1) * std::ceil(keys / 16) + 2 * m;
  const double weight = 2 * (size + 8) * m + 2 * m + kExp + kDiv + keys + 8 + 2 * rescaled;
  return std::vector<double>(static_cast<size_t>(want.view().numel()),
                             kU * (weight + keys) * largest(in[2]) + FLT_MIN);
}

// The bound is a product's, over the weight that integers, zero points and scales make: its own
// rounding adds one.
std::vector<double> block_linear(const void* attrs, const std::vector<Value>& in,
                                 const Value& want) {
  const auto& a = *static_cast<const BlockLinearAttrs*>(attrs);
  const int64_t n = in[1].view().shape[0], k = in[1].view().shape[1],
                blocks = in[2].view().shape[1];
  const bool zeros = in.size() > 3 && in[3].view().present(),
             bias = in.size() > 4 && in[4].view().present();
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const int64_t row = i / n, column = i % n;
    double sizes = bias ? std::fabs(in[4].at(column)) : 0;
    for (int64_t l = 0; l < k; ++l) {
      const int64_t block = column * blocks + l / a.block_size;
      const double zero = zeros ? in[3].at(block) : static_cast<double>(a.zero_point);
      sizes +=
          std::fabs(in[0].at(row * k + l) * (in[1].at(column * k + l) - zero) * in[2].at(block));
    }
    bounds.push_back(kU * (static_cast<double>(k) + 2) * sizes);
  }
  return bounds;
}

double broadcast_at(const Value& v, const Shape& out, int64_t i) {
  const TensorView in = v.view();
  int64_t offset = 0;
  for (int d = out.rank() - 1; d >= 0; --d) {
    const int64_t index = i % out[d];
    i /= out[d];
    const int at = d - (out.rank() - in.rank());
    if (at >= 0 && in.shape[at] != 1) offset += index * in.strides[at];
  }
  return v.at(offset);
}

// exp(y log x): the logarithm's error and the product's are |y log x| times as large in the result.
std::vector<double> power(const std::vector<Value>& in, const Value& want) {
  std::vector<double> bounds;
  const Shape shape = want.view().shape;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const double x = std::fabs(broadcast_at(in[0], shape, i)), y = broadcast_at(in[1], shape, i);
    const double argument = x > 0 && std::isfinite(x) ? std::fabs(y * std::log(x)) : 0;
    bounds.push_back(kU * ((kLog + 1) * argument + kExp + 1) * std::fabs(want.at(i)) + FLT_MIN);
  }
  return bounds;
}

}  // namespace

std::vector<double> vulkan_bounds(OpId op, const void* attrs, const std::vector<Value>& in,
                                  const Value& want) {
  if (want.view().numel() == 0) return {};
  std::vector<double> apart;
  if (recurrence_bounds(op, attrs, in, want, &apart)) return apart;
  std::vector<double> spatial;
  if (spatial_bounds(op, attrs, in, want, &spatial)) return spatial;
  switch (op) {
    case OpId::kMatMul:
    case OpId::kLinear:
    case OpId::kFusedLinear:
    case OpId::kFusedMatMul:
    case OpId::kConv:
    case OpId::kFusedConv: return contraction(op, attrs, in, want);
    case OpId::kSoftmax:
    case OpId::kLogSoftmax: return softmax(op, attrs, in[0], want);
    case OpId::kAveragePool: return average(attrs, in, want);
    case OpId::kBatchNorm: return batch_norm(attrs, in, want);
    case OpId::kFusedAttention: return attention(in, want);
    case OpId::kBlockLinear: return block_linear(attrs, in, want);
    case OpId::kPow: return power(in, want);
    case OpId::kCumSum:
    case OpId::kCumProd:
    case OpId::kScatterElements:
    case OpId::kScatterND: return steps_in_turn(op, attrs, in, want);
    case OpId::kReduceSum:
    case OpId::kReduceMean:
    case OpId::kReduceMax:
    case OpId::kReduceMin:
    case OpId::kReduceProd: return reduction(op, attrs, in, want);
    default: break;
  }
  bool rounded = op == OpId::kAdd || op == OpId::kSub || op == OpId::kMul || op == OpId::kPRelu;
  // A quotient and its arc; pi is subtracted on the left.
  if (op == OpId::kAtan2) {
    std::vector<double> bounds;
    for (int64_t i = 0; i < want.view().numel(); ++i) {
      const double y = std::fabs(want.at(i)), arc = std::fmin(y, M_PI - y);
      bounds.push_back(kU * (2 * y + (kDiv + kAtan) * arc) + FLT_MIN);
    }
    return bounds;
  }
  bool unary = in.size() == 1 && in[0].view().numel() == want.view().numel();
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    Error e{rounded ? 1.0 : op == OpId::kDiv ? kDiv : 0.0};
    if (unary) e = unary_error(op, attrs, in[0].at(i));
    double y = std::fabs(want.at(i));
    bounds.push_back(
        e.relative == 0 && e.absolute == 0 ? 0 : kU * (e.relative * y + e.absolute) + FLT_MIN);
  }
  return bounds;
}

}  // namespace wick::test
