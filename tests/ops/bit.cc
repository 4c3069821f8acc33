#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

constexpr DType kInts[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                           DType::kU8, DType::kU16, DType::kU32, DType::kU64};

// Every integer dtype, broadcasting, and the edges of int64.
template <class A = NoAttrs>
std::vector<Sample> integers(const char* op, double lo, double hi, A attrs = {}) {
  std::vector<Sample> s;
  for (DType t : kInts) {
    double from = is_unsigned_int(t) ? std::fmax(lo, 0) : lo;
    std::string n = std::string(op) + "/" + dtype_name(t);
    s.push_back(sample(n, {of(t, {67}, from, hi), of(t, {67}, from, hi)}, attrs));
    s.push_back(sample(n + "/row", {of(t, {4, 5}, from, hi), of(t, {5}, from, hi)}, attrs));
  }
  s.push_back(sample(std::string(op) + "/empty",
                     {of(DType::kI64, {0, 3}, lo, hi), of(DType::kI64, {3}, lo, hi)}, attrs));
  return s;
}

std::vector<Sample> mods() {
  std::vector<Sample> s;
  for (int64_t fmod : {0, 1}) {
    ModAttrs a{fmod};
    std::string n = fmod != 0 ? "Mod/fmod" : "Mod/floor";
    for (auto& i : integers(n.c_str(), -9, 9, a)) s.push_back(i);
    double inf = INFINITY;
    s.push_back(sample(n + "/f32", {f32({67}, -9, 9), f32({67}, -3, 3)}, a));
    s.push_back(sample(n + "/column", {f32({4, 5}, -9, 9), f32({4, 1}, 1, 3)}, a));
    s.push_back(sample(n + "/specials",
                       {{DType::kF32, {8}, 0, 0, {1e10, 5, -5, inf, NAN, 5, -0.0, 7}},
                        {DType::kF32, {8}, 0, 0, {3, inf, inf, 3, 3, NAN, 3, 0}}},
                       a));
  }
  return s;
}
std::vector<Sample> shifts() {
  auto s = integers("BitShift/left", -2, 9, BitShiftAttrs{0});
  for (auto& r : integers("BitShift/right", -9, 9, BitShiftAttrs{1})) s.push_back(r);
  for (int64_t right : {0, 1}) {
    s.push_back(sample(right != 0 ? "BitShift/right/out" : "BitShift/left/out",
                       {ints({-5, 5, -5, 5, 1}), ints({64, 64, -1, 1000, 63})},
                       BitShiftAttrs{right}));
  }
  return s;
}
std::vector<Sample> points() {
  double inf = INFINITY;
  return {sample("Atan2/same", {f32({67}, -3, 3), f32({67}, -3, 3)}),
          sample("Atan2/row", {f32({4, 5}, -3, 3), f32({5}, -3, 3)}),
          sample("Atan2/empty", {f32({0, 3}), f32({3})}),
          sample("Atan2/axes", {{DType::kF32, {8}, 0, 0, {0, -0.0, 0, -0.0, 1, -1, 1e-40, 3e38}},
                                {DType::kF32, {8}, 0, 0, {1, 1, -1, -1, 0, -0.0, -3e38, 1e-40}}}),
          sample("Atan2/infinite",
                 {{DType::kF32, {8}, 0, 0, {inf, -inf, inf, -inf, inf, 1, 1, NAN}},
                  {DType::kF32, {8}, 0, 0, {inf, inf, -inf, -inf, 1, inf, -inf, 1}}})};
}
std::vector<Sample> floats(const char* op) {
  double inf = INFINITY;
  std::string n = op;
  return {sample(n + "/[67]", {f32({67})}), sample(n + "/empty", {f32({0, 2})}),
          sample(n + "/specials",
                 {{DType::kF32, {7}, 0, 0, {0.0, inf, -inf, NAN, 3e38, 1e-40, -NAN}}})};
}

}  // namespace

WICK_TEST_ROW(Mod, mods, nullptr, 4);
WICK_TEST_ROW(
    BitwiseAnd, [] { return integers("BitwiseAnd", -99, 99); }, nullptr, 1);
WICK_TEST_ROW(
    BitwiseOr, [] { return integers("BitwiseOr", -99, 99); }, nullptr, 1);
WICK_TEST_ROW(
    BitwiseXor, [] { return integers("BitwiseXor", -99, 99); }, nullptr, 1);
WICK_TEST_ROW(
    BitwiseNot,
    [] {
      std::vector<Sample> s;
      for (DType t : kInts) {
        s.push_back(sample(std::string("BitwiseNot/") + dtype_name(t), {of(t, {67}, 0, 99)}));
      }
      return s;
    },
    nullptr, 1);
WICK_TEST_ROW(BitShift, shifts, nullptr, 1);
WICK_TEST_ROW(
    IsNaN, [] { return floats("IsNaN"); },
    [](const double* in) -> double { return std::isnan(in[0]); }, 1);
WICK_TEST_ROW(
    IsInf,
    [] {
      auto s = floats("IsInf");
      for (auto& f : floats("IsInf/up")) s.push_back(sample(f.name, f.in, IsInfAttrs{0, 1}));
      return s;
    },
    nullptr, 1);
WICK_TEST_ROW(
    Atan2, points, [](const double* in) -> double { return std::atan2(in[0], in[1]); }, 4);

}  // namespace wick::test
