#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

// Sizes: tails of every vector width, more than one task, empty, rank 0; specials where the op
// takes any float.
template <class A = NoAttrs>
std::vector<Sample> shapes(const char* op, double lo, double hi, A attrs = {}) {
  std::string n = op;
  return {sample(n + "/[2,3]", {f32({2, 3}, lo, hi)}, attrs),
          sample(n + "/[]", {f32({}, lo, hi)}, attrs),
          sample(n + "/[0,4]", {f32({0, 4}, lo, hi)}, attrs),
          sample(n + "/[67]", {f32({67}, lo, hi)}, attrs),
          sample(n + "/[3,5,7]", {f32({3, 5, 7}, lo, hi)}, attrs)};
}
Sample specials(const char* op) {
  double inf = INFINITY;
  return sample(
      std::string(op) + "/specials",
      {{DType::kF32, {9}, 0, 0, {0.0, -0.0, inf, -inf, NAN, 1e-40, -1e-40, 3e38, -3e38}}});
}

#define WICK_UNARY(Name, lo, hi, expr)  \
  WICK_TEST_ROW(                        \
      Name,                             \
      [] {                              \
        auto s = shapes(#Name, lo, hi); \
        s.push_back(specials(#Name));   \
        return s;                       \
      },                                \
      [](const double* in) -> double {  \
        double x = in[0];               \
        return expr;                    \
      },                                \
      4)

}  // namespace

WICK_UNARY(Identity, -2, 2, x);
WICK_UNARY(Relu, -2, 2, x <= 0 ? 0.0 : x);
WICK_UNARY(Sigmoid, -9, 9, 1 / (1 + std::exp(-x)));
WICK_UNARY(Tanh, -4, 4, std::tanh(x));
WICK_UNARY(Silu, -9, 9, x == -INFINITY ? 0.0 : x / (1 + std::exp(-x)));
WICK_UNARY(HardSwish, -5, 5, x* std::fmin(std::fmax(x / 6 + 0.5, 0), 1));
WICK_UNARY(Softplus, -9, 9, x > 30 ? x : std::log1p(std::exp(x)));
WICK_UNARY(Exp, -9, 9, std::exp(x));
WICK_UNARY(Log, 0.01, 9, std::log(x));
WICK_UNARY(Log1p, -0.9, 9, std::log1p(x));
WICK_UNARY(Expm1, -5, 5, std::expm1(x));
WICK_UNARY(Log2, 0.01, 9, std::log2(x));
WICK_UNARY(Log10, 0.01, 9, std::log10(x));
WICK_UNARY(Sqrt, 0.01, 9, std::sqrt(x));
WICK_UNARY(Reciprocal, 0.1, 9, 1 / x);
WICK_UNARY(Erf, -3, 3, std::erf(x));
WICK_UNARY(Sin, -9, 9, std::sin(x));
WICK_UNARY(Cos, -9, 9, std::cos(x));
WICK_UNARY(Tan, -1.4, 1.4, std::tan(x));
WICK_UNARY(Asin, -0.99, 0.99, std::asin(x));
WICK_UNARY(Acos, -0.99, 0.99, std::acos(x));
WICK_UNARY(Atan, -9, 9, std::atan(x));
WICK_UNARY(Sinh, -5, 5, std::sinh(x));
WICK_UNARY(Cosh, -5, 5, std::cosh(x));
WICK_UNARY(Asinh, -9, 9, std::asinh(x));
WICK_UNARY(Acosh, 1.1, 9, std::acosh(x));
WICK_UNARY(Atanh, -0.95, 0.95, std::atanh(x));
WICK_UNARY(Neg, -2, 2, -x);
WICK_UNARY(Abs, -2, 2, std::fabs(x));
WICK_UNARY(Floor, -5, 5, std::floor(x));
WICK_UNARY(Ceil, -5, 5, std::ceil(x));
WICK_UNARY(Round, -5, 5, std::nearbyint(x));
WICK_UNARY(Sign, -2, 2, std::isnan(x) ? x : (x > 0) - (x < 0));

WICK_TEST_ROW(
    LeakyRelu, [] { return shapes("LeakyRelu", -2, 2, LeakyReluAttrs{0.1}); },
    [](const double* in) { return in[0] < 0 ? in[0] * static_cast<float>(0.1) : in[0]; }, 4);
WICK_TEST_ROW(
    Elu, [] { return shapes("Elu", -4, 4, EluAttrs{1.5}); },
    [](const double* in) { return in[0] < 0 ? 1.5 * std::expm1(in[0]) : in[0]; }, 4);
WICK_TEST_ROW(
    HardSigmoid,
    [] {
      return shapes("HardSigmoid", -5, 5, HardSigmoidAttrs{0.25, 0.5});
    },
    [](const double* in) { return std::fmin(std::fmax(in[0] * 0.25 + 0.5, 0), 1); }, 4);
WICK_TEST_ROW(
    Gelu,
    [] {
      auto s = shapes("Gelu", -5, 5, GeluAttrs{0});
      for (auto& t : shapes("Gelu/tanh", -5, 5, GeluAttrs{1})) s.push_back(t);
      return s;
    },
    nullptr, 8);
WICK_TEST_ROW(
    Erfc,
    [] {
      auto s = shapes("Erfc", -3, 3);
      s.push_back(specials("Erfc"));
      return s;
    },
    [](const double* in) { return std::erfc(in[0]); }, 8);
WICK_TEST_ROW(
    Clip,
    [] {
      return std::vector<Sample>{
          sample("Clip/relu6", {f32({67}, -3, 9)}, ClipAttrs{0, 6}),
          sample("Clip/open", {f32({5}, -3, 9)}, ClipAttrs{}),
          sample("Clip/inputs", {f32({7}, -3, 9), f32({}, -1, -1), f32({}, 1, 1)}, ClipAttrs{}),
          sample("Clip/i64", {of(DType::kI64, {7}, -3, 9)}, ClipAttrs{0, 6})};
    },
    nullptr, 1);
WICK_TEST_ROW(
    Not, [] { return std::vector<Sample>{sample("Not", {of(DType::kBool, {9}, -1, 2)})}; }, nullptr,
    1);
WICK_TEST_ROW(
    Cast,
    [] {
      std::vector<Sample> s;
      for (DType to : {DType::kF64, DType::kI64, DType::kI32, DType::kU8, DType::kI8, DType::kBool,
                       DType::kF16, DType::kBF16, DType::kF32}) {
        CastAttrs a{static_cast<int64_t>(to)};
        s.push_back(sample(std::string("Cast/f32->") + dtype_name(to), {f32({67}, -300, 300)}, a));
        s.push_back(
            sample(std::string("Cast/u8->") + dtype_name(to), {of(DType::kU8, {67}, 0, 255)}, a));
      }
      return s;
    },
    nullptr, 1);

}  // namespace wick::test
