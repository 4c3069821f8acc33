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
