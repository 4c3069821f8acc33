#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

// numpy broadcasting in every form: same, scalar, row, column, both, empty, ranks apart.
std::vector<Sample> pairs(const char* op, double lo, double hi, DType t = DType::kF32) {
  std::string n = op;
  auto in = [&](Shape s) { return of(t, s, lo, hi); };
  return {sample(n + "/same", {in({67}), in({67})}),
          sample(n + "/scalar", {in({3, 5}), in({})}),
          sample(n + "/scalar_left", {in({}), in({3, 5})}),
          sample(n + "/row", {in({4, 19}), in({19})}),
          sample(n + "/column", {in({4, 19}), in({4, 1})}),
          sample(n + "/both", {in({4, 1, 5}), in({3, 1})}),
          sample(n + "/channel", {in({2, 3, 5, 7}), in({1, 3, 1, 1})}),
          sample(n + "/empty", {in({0, 3}), in({3})})};
}
std::vector<Sample> numbers(const char* op, double lo, double hi) {
  auto s = pairs(op, lo, hi);
  for (DType t : {DType::kI64, DType::kI32}) {
    for (auto& p : pairs(op, 1, 9, t)) {
      p.name += std::string("/") + dtype_name(t);
      s.push_back(p);
    }
  }
  return s;
}

}  // namespace

#define WICK_BINARY(Name, lo, hi, expr)            \
  WICK_TEST_ROW(                                   \
      Name, [] { return numbers(#Name, lo, hi); }, \
      [](const double* in) -> double {             \
        double a = in[0], b = in[1];               \
        return expr;                               \
      },                                           \
      4)

WICK_BINARY(Add, -2, 2, a + b);
WICK_BINARY(Sub, -2, 2, a - b);
WICK_BINARY(Mul, -2, 2, a* b);
WICK_BINARY(Max, -2, 2, a > b ? a : b);
WICK_BINARY(Min, -2, 2, a < b ? a : b);
// A slope is repeated along x, never x along the slope.
std::vector<Sample> prelus() {
  std::vector<Sample> s = {sample("PRelu/same", {f32({67}), f32({67})}),
                           sample("PRelu/scalar", {f32({3, 5}), f32({})}),
                           sample("PRelu/row", {f32({4, 19}), f32({19})}),
                           sample("PRelu/column", {f32({4, 19}), f32({4, 1})}),
                           sample("PRelu/batch", {f32({2, 3, 5, 7}), f32({1, 3, 1, 1})}),
                           sample("PRelu/channel", {f32({2, 3, 5, 7}), f32({3, 1, 1})}),
                           sample("PRelu/image", {f32({2, 3, 5, 7}), f32({3, 5, 7})}),
                           sample("PRelu/one", {f32({2, 3, 4}), f32({1})}),
                           sample("PRelu/empty", {f32({0, 3}), f32({3})})};
  for (DType t : {DType::kI64, DType::kI32}) {
    s.push_back(sample(std::string("PRelu/") + dtype_name(t),
                       {of(t, {4, 19}, -9, 9), of(t, {4, 1}, -9, 9)}));
  }
  s.push_back(sample("PRelu/uint32", {of(DType::kU32, {19}, 0, 9), of(DType::kU32, {}, 2, 9)}));
  const double inf = INFINITY;
  s.push_back(sample(
      "PRelu/specials",
      {{DType::kF32, {12}, 0, 0, {0, -0.0, NAN, inf, -inf, -inf, -inf, -1, -1, 0, -0.0, 3}},
       {DType::kF32, {12}, 0, 0, {-0.5, -0.5, 2, -1, 0.5, 0, -2, NAN, inf, inf, NAN, NAN}}}));
  return s;
}
WICK_TEST_ROW(
    PRelu, prelus, [](const double* in) -> double { return in[0] < 0 ? in[0] * in[1] : in[0]; }, 1);
// integer division truncates, as ONNX's
WICK_TEST_ROW(
    Div, [] { return numbers("Div", 0.5, 4); }, nullptr, 4);
WICK_TEST_ROW(
    Pow, [] { return pairs("Pow", 0.2, 3); },
    [](const double* in) -> double { return std::pow(in[0], in[1]); }, 8);
#define WICK_COMPARE(Name, op)                   \
  WICK_TEST_ROW(                                 \
      Name, [] { return numbers(#Name, 0, 3); }, \
      [](const double* in) -> double { return in[0] op in[1]; }, 1)
WICK_COMPARE(Equal, ==);
WICK_COMPARE(Less, <);
WICK_COMPARE(LessOrEqual, <=);
WICK_COMPARE(Greater, >);
WICK_COMPARE(GreaterOrEqual, >=);
WICK_TEST_ROW(
    And, [] { return pairs("And", -1, 2, DType::kBool); },
    [](const double* in) -> double { return in[0] != 0 && in[1] != 0; }, 1);
WICK_TEST_ROW(
    Or, [] { return pairs("Or", -1, 2, DType::kBool); },
    [](const double* in) -> double { return in[0] != 0 || in[1] != 0; }, 1);
WICK_TEST_ROW(
    Xor, [] { return pairs("Xor", -1, 2, DType::kBool); },
    [](const double* in) -> double { return (in[0] != 0) != (in[1] != 0); }, 1);
WICK_TEST_ROW(
    Where,
    [] {
      return std::vector<Sample>{
          sample("Where/same", {of(DType::kBool, {67}, -1, 2), f32({67}), f32({67})}),
          sample("Where/broadcast", {of(DType::kBool, {4, 1}, -1, 2), f32({3}), f32({4, 3})}),
          sample("Where/i64",
                 {of(DType::kBool, {5}, -1, 2), of(DType::kI64, {5}), of(DType::kI64, {})})};
    },
    [](const double* in) -> double { return in[0] != 0 ? in[1] : in[2]; }, 1);

}  // namespace wick::test
