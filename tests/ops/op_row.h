// Test rows: one for each op of ops.def (kTest_<Name>; a missing one does not link). All of these
// tests run from a row alone: the rule, the reference against a double oracle, every SIMD target
// against the reference by bits, threads, misalignment, gradients, and the round trips through each
// format.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/ops/op_info.h"

namespace wick::test {

// One input of a sample. Values are pseudo-random from the sample's name, or given.
struct Input {
  DType dtype = DType::kF32;
  Shape shape;
  double lo = -2, hi = 2;                 // range of the random values; integers are whole
  std::vector<double> values;             // when given: exactly these
  std::vector<std::string> strings = {};  // if dtype is kString
  static Input absent() { return {DType::kNone, {}, 0, 0, {}}; }
};
inline Input f32(Shape s, double lo = -2, double hi = 2) { return {DType::kF32, s, lo, hi, {}}; }
inline Input of(DType t, Shape s, double lo = -2, double hi = 2) { return {t, s, lo, hi, {}}; }
inline Input ints(std::vector<double> v) {
  return {DType::kI64, {static_cast<int64_t>(v.size())}, 0, 0, v};
}

inline Input words(Shape s, std::vector<std::string> v) {
  return {DType::kString, s, 0, 0, {}, std::move(v)};
}

struct Sample {
  std::string name;
  AnyAttrs attrs;
  std::vector<Input> in;
  int outputs = 1;
};

template <class A = NoAttrs>
Sample sample(std::string name, std::vector<Input> in, A attrs = {}, int outputs = 1) {
  return {std::move(name), AnyAttrs::of(attrs), std::move(in), outputs};
}

struct TestRow {
  OpId op;
  std::vector<Sample> (*samples)();
  // f64 oracle of an elementwise op, from libm; null: the op's f64 reference row serves.
  double (*oracle)(const double* in) = nullptr;
  // Allowed error of the f32 reference in units of 2^-24, relative to the largest magnitude of the
  // output.
  double bound = 4;
  // The op has no f64 form, and one element's oracle cannot say it: <family>_test.cc has its own.
  bool oracle_apart = false;
};

Span<const TestRow* const> all_test_rows();

}  // namespace wick::test
