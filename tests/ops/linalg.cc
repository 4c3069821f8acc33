// Solvers and decompositions. The float32 rows compute in double, so they are as near to the
// float64 ones as one rounding of the input allows.
#include "tests/ops/rows.h"

namespace wick::test {
namespace {

// `batches` matrices n x n with a heavy diagonal: far from singular; symmetric when asked.
Input heavy(int64_t n, bool symmetric, std::vector<int64_t> batch = {}) {
  Input in;
  int64_t batches = 1;
  for (int64_t b : batch) {
    in.shape.push_back(b);
    batches *= b;
  }
  in.shape.push_back(n);
  in.shape.push_back(n);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t lo = symmetric ? std::min(i, j) : i, hi = symmetric ? std::max(i, j) : j;
        const double off = static_cast<double>((lo * 7 + hi * 3 + b * 5) % 11 - 5) / 8;
        in.values.push_back(i == j ? static_cast<double>(n) + off : off);
      }
    }
  }
  return in;
}

std::vector<Sample> square_samples(const std::string& op, bool symmetric, int outputs) {
  return {sample(op + "/3x3", {heavy(3, symmetric)}, {}, outputs),
          sample(op + "/1x1", {heavy(1, symmetric)}, {}, outputs),
          sample(op + "/37x37", {heavy(37, symmetric)}, {}, outputs),
          sample(op + "/batch", {heavy(5, symmetric, {2, 3})}, {}, outputs),
          sample(op + "/batch0", {heavy(4, symmetric, {0})}, {}, outputs),
          sample(op + "/0x0", {heavy(0, symmetric)}, {}, outputs)};
}

template <class A>
std::vector<Sample> two_sided(const std::string& op, A attrs) {
  return {sample(op + "/3x3", {heavy(3, false), f32({3, 2})}, attrs),
          sample(op + "/19x19", {heavy(19, false), f32({19, 7})}, attrs),
          sample(op + "/batch", {heavy(4, false, {2, 2}), f32({2, 2, 4, 3})}, attrs),
          sample(op + "/no_columns", {heavy(4, false), f32({4, 0})}, attrs),
          sample(op + "/0x0", {heavy(0, false), f32({0, 2})}, attrs)};
}

std::vector<Sample> factors(const std::string& op, int outputs) {
  std::vector<Sample> all;
  for (int64_t full : {0, 1}) {
    const std::string n = op + (full != 0 ? "/full" : "/reduced");
    const FactorAttrs a{full};
    all.push_back(sample(n + "_5x3", {f32({5, 3})}, a, outputs));
    all.push_back(sample(n + "_3x5", {f32({3, 5})}, a, outputs));
    all.push_back(sample(n + "_20x20", {heavy(20, false)}, a, outputs));
    all.push_back(sample(n + "_batch", {f32({2, 2, 4, 3})}, a, outputs));
    all.push_back(sample(n + "_0x3", {f32({0, 3})}, a, outputs));
    all.push_back(sample(n + "_3x0", {f32({3, 0})}, a, outputs));
  }
  return all;
}

}  // namespace

WICK_TEST_ROW(
    Cholesky, [] { return square_samples("Cholesky", true, 1); }, nullptr, 4);
WICK_TEST_ROW(
    TriangularSolve,
    [] {
      auto all = two_sided("TriangularSolve/lower", TriangularAttrs{});
      for (auto& s : two_sided("TriangularSolve/upper", TriangularAttrs{1, 0, 0})) all.push_back(s);
      for (auto& s : two_sided("TriangularSolve/transpose", TriangularAttrs{0, 1, 0}))
        all.push_back(s);
      all.push_back(sample("TriangularSolve/unit", {f32({6, 6}, -0.5, 0.5), f32({6, 2})},
                           TriangularAttrs{1, 1, 1}));
      return all;
    },
    nullptr, 4);
WICK_TEST_ROW(
    Solve, [] { return two_sided("Solve", NoAttrs{}); }, nullptr, 4);
WICK_TEST_ROW(
    Inverse, [] { return square_samples("Inverse", false, 1); }, nullptr, 4);
WICK_TEST_ROW(
    Det,
    [] {
      auto all = square_samples("Det", false, 1);
      all.push_back(sample("Det/singular", {Input{DType::kF32, {2, 2}, 0, 0, {1, 2, 2, 4}}}));
      return all;
    },
    nullptr, 4);
WICK_TEST_ROW(
    SlogDet,
    [] {
      auto all = square_samples("SlogDet", false, 2);
      all.push_back(sample("SlogDet/negative", {Input{DType::kF32, {2, 2}, 0, 0, {1, 2, 3, 4}}},
                           NoAttrs{}, 2));
      return all;
    },
    nullptr, 4);
WICK_TEST_ROW(
    Qr, [] { return factors("Qr", 2); }, nullptr, 4);
WICK_TEST_ROW(
    Svd, [] { return factors("Svd", 3); }, nullptr, 4);
WICK_TEST_ROW(
    Eigh, [] { return square_samples("Eigh", true, 2); }, nullptr, 4);
WICK_TEST_ROW(
    LuFactor,
    [] {
      auto all = square_samples("LuFactor", false, 3);
      all.push_back(sample("LuFactor/5x3", {f32({5, 3})}, NoAttrs{}, 3));
      all.push_back(sample("LuFactor/3x20", {f32({2, 3, 20})}, NoAttrs{}, 3));
      all.push_back(sample("LuFactor/3x0", {f32({3, 0})}, NoAttrs{}, 3));
      all.push_back(sample("LuFactor/singular", {Input{DType::kF32, {2, 2}, 0, 0, {1, 2, 2, 4}}},
                           NoAttrs{}, 3));
      return all;
    },
    nullptr, 4);
WICK_TEST_ROW(
    Eig,
    [] {
      auto all = square_samples("Eig", false, 2);
      // a rotation, whose eigenvalues are complex; one of three, on which plain shifts would cycle
      all.push_back(
          sample("Eig/turn", {Input{DType::kF32, {2, 2}, 0, 0, {0, -1, 1, 0}}}, NoAttrs{}, 2));
      all.push_back(sample("Eig/cycle",
                           {Input{DType::kF32, {3, 3}, 0, 0, {0, 0, 1, 1, 0, 0, 0, 1, 0}}},
                           NoAttrs{}, 2));
      return all;
    },
    nullptr, 4);

}  // namespace wick::test
