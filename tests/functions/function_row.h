// Function rows: one for each public function of the trainer. A row alone provides these tests:
// value and output dtype against PyTorch in every dtype listed, the gradient against PyTorch and
// finite differences, the double gradient, forward mode, non-contiguous inputs, eager == captured.
// README.md says how to add one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "wick/trainer.h"

namespace wick::test {

using List = std::vector<Tensor>;

// -- dtypes over which a row's samples run
using DTypeSet = uint32_t;  // bit: the DType's value
constexpr DTypeSet dtypes() { return 0; }
template <class... T>
constexpr DTypeSet dtypes(DType first, T... rest) {
  return (DTypeSet{1} << static_cast<int>(first)) | dtypes(rest...);
}
constexpr DTypeSet kFloats = dtypes(DType::kF64, DType::kF32, DType::kF16, DType::kBF16);
constexpr DTypeSet kSigned = dtypes(DType::kI8, DType::kI16, DType::kI32, DType::kI64);
constexpr DTypeSet kInts = kSigned | dtypes(DType::kU8);
constexpr DTypeSet kWide = dtypes(DType::kU16, DType::kU32, DType::kU64);  // not in PyTorch 1.13
constexpr DTypeSet kBool = dtypes(DType::kBool);
constexpr DTypeSet kNumbers = kFloats | kInts;
constexpr DTypeSet kAll = kNumbers | kBool;
constexpr DTypeSet kStored = kAll | kWide;

// -- differentiability: a row without it does not compile
enum class Mark : uint8_t {
  kSmooth,     // gradient, double gradient, forward mode
  kPiecewise,  // the same; its non-smooth points are known and the samples stay away from them
  kOnce,       // gradient only; Diff::why says why the second order has none
  kKink,  // samples AT ties, NaN, the ends: the gradient is PyTorch's, differences have no limit
  // no gradient, and the rows are held to it:
  kIntegerOutput,      // indices, counts, bools, or of integers
  kPiecewiseConstant,  // floor, sign ...: zero wherever it exists
  kNotRecorded,        // no result has a history; Diff::why says why
  kRandom,             // draws: only shape, dtype and "one seed, one result" are compared
  kCreation,           // takes no tensor of numbers
};
struct Diff {
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  constexpr Diff(Mark m, const char* reason = "") : mark(m), why(reason) {}
  Mark mark;
  const char* why;
  constexpr bool differentiable() const { return mark <= Mark::kKink; }
};
inline constexpr Diff smooth = Mark::kSmooth;
inline constexpr Diff piecewise = Mark::kPiecewise;
inline constexpr Diff integer_output = Mark::kIntegerOutput;
inline constexpr Diff piecewise_constant = Mark::kPiecewiseConstant;
inline constexpr Diff random_output = Mark::kRandom;
inline constexpr Diff creation = Mark::kCreation;
constexpr Diff once(const char* why) { return {Mark::kOnce, why}; }
constexpr Diff kink(const char* where) { return {Mark::kKink, where}; }
constexpr Diff not_recorded(const char* why) { return {Mark::kNotRecorded, why}; }

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

// -- inputs: deterministic from the sample's key and the input's place, the same in Python
struct In {
  enum class Kind : uint8_t { kUniform, kDistinct, kGiven };
  Kind kind = Kind::kUniform;
  Shape shape;
  double lo = -2, hi = 2;      // integers: the whole numbers within; unsigned: from 0 at least
  double away = 0;             // uniform: |value| >= away (integers: never 0)
  std::vector<double> values;  // given: exactly these (unsigned: absolute)
  DType fixed = DType::kNone;  // none: the dtype under test
  bool grad = true;            // false: no gradient is asked for this input

  In no_grad() const {
    In c = *this;
    c.grad = false;
    return c;
  }
};
inline In x(const Shape& shape, double lo = -2, double hi = 2) {
  return {In::Kind::kUniform, shape, lo, hi, 0, {}, DType::kNone, true};
}
// |value| >= away: divisors, and functions with a kink at 0.
inline In off_zero(const Shape& shape, double away = 0.125) {
  return {In::Kind::kUniform, shape, -2, 2, away, {}, DType::kNone, true};
}
// All different, 1/16 apart and shuffled (integers: 1 apart): extrema and order do not change
// within a difference step. At most 128 elements.
inline In distinct(const Shape& shape) {
  return {In::Kind::kDistinct, shape, 0, 0, 0, {}, DType::kNone, true};
}
inline In given(std::vector<double> values, const Shape& shape) {
  return {In::Kind::kGiven, shape, 0, 0, 0, std::move(values), DType::kNone, true};
}
inline In given(std::vector<double> values) {
  Shape shape{static_cast<int64_t>(values.size())};
  return given(std::move(values), shape);
}
// Gives the input one dtype, whichever dtype is under test: indices, masks, targets.
inline In of(DType dtype, In in) {
  in.fixed = dtype;
  return in;
}
inline In index(std::vector<double> values, const Shape& shape) {
  return of(DType::kI64, given(std::move(values), shape));
}
inline In index(std::vector<double> values) { return of(DType::kI64, given(std::move(values))); }
inline In mask(const Shape& shape) { return of(DType::kBool, x(shape, 0, 1)); }

// -- samples and rows
struct Case {  // the arguments of a sample's function
  const List& in;
  DType dtype;  // under test; creation functions use it
};
using Body = List (*)(const Case&);

struct Sample {
  std::string torch;  // Python: x0, x1 ... the inputs, dtype; torch, F, vision, math, inf, nan
  std::vector<In> in;
  Body body;
  DTypeSet dtypes = 0;  // 0: the row's
};

struct FunctionRow {
  FunctionRow(std::string function, Diff d, DTypeSet types)
      : name(std::move(function)), diff(d), dtypes(types) {}

  FunctionRow& sample(std::string torch, std::vector<In> in, Body body, DTypeSet types = 0) {
    samples.push_back({std::move(torch), std::move(in), body, types});
    return *this;
  }
  // Other public names of the same function (torch.multiply); the script that looks for functions
  // without a row counts them as covered. A method: "Tensor.add_".
  FunctionRow& alias(std::string other) {
    aliases.push_back(std::move(other));
    return *this;
  }
  // The graph depends on data, or has an op of role kTrain: nothing to capture.
  FunctionRow& not_captured(const char* reason) {
    no_capture = reason;
    return *this;
  }
  // Relative to the largest element of the golden; say why beside the call.
  FunctionRow& tolerance(double f64, double f32 = 2e-6) {
    f64_bound = f64;
    f32_bound = f32;
    return *this;
  }
  // f16 and bf16, in ulps at the largest element: a composite rounds after each of its ops.
  FunctionRow& half_ulps(double ulps) {
    half_bound = ulps;
    return *this;
  }
  // The gradient against PyTorch's, relative to its largest element.
  FunctionRow& gradient_tolerance(double f64) {
    gradient_bound = f64;
    return *this;
  }

  std::string name;
  Diff diff;
  DTypeSet dtypes;
  std::vector<Sample> samples;
  std::vector<std::string> aliases;
  const char* no_capture = nullptr;
  double f64_bound = 1e-12, f32_bound = 2e-6, half_bound = 2, gradient_bound = 1e-10;
  std::string family;  // filled from families.h
};

// A family's rows: row("softmax", smooth, kFloats).sample(...).
struct Rows {
  FunctionRow& operator()(const char* name, Diff diff, DTypeSet types) {
    return all.emplace_back(name, diff, types);
  }
  std::vector<FunctionRow> all;
};

// -- what a body may return, as a list of tensors
inline List outputs(const Tensor& t) { return {t}; }
inline List outputs(List many) { return many; }
inline List outputs(bool b) { return {full(Shape{}, b ? 1 : 0, DType::kBool)}; }
template <class A, class B>
List outputs(const std::pair<A, B>& p) {
  return {p.first, p.second};
}
template <class... T>
List outputs(const std::tuple<T...>& t) {
  return std::apply([](const auto&... each) { return List{each...}; }, t);
}
inline Tensor at(const List& in, size_t i) { return i < in.size() ? in[i] : Tensor(); }

// WICK_FN(softmax(x0, 1)): the inputs are x0 ... x5, `dtype` is the one under test.
#define WICK_FN(...)                                                              \
  [](const ::wick::test::Case& wick_case) -> ::wick::test::List {                 \
    [[maybe_unused]] const ::wick::DType dtype = wick_case.dtype;                 \
    [[maybe_unused]] const ::wick::Tensor x0 = ::wick::test::at(wick_case.in, 0), \
                                          x1 = ::wick::test::at(wick_case.in, 1), \
                                          x2 = ::wick::test::at(wick_case.in, 2), \
                                          x3 = ::wick::test::at(wick_case.in, 3), \
                                          x4 = ::wick::test::at(wick_case.in, 4), \
                                          x5 = ::wick::test::at(wick_case.in, 5); \
    return ::wick::test::outputs(__VA_ARGS__);                                    \
  }

// Every row of every family, in the families' order; made once.
const std::vector<FunctionRow>& function_rows();

}  // namespace wick::test
