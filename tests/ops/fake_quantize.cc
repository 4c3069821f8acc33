// Rows of the ops that train quantized models. tests/qat shows that FakeQuantize has the bits of
// QuantizeLinear and DequantizeLinear.
#include "tests/ops/rows.h"

namespace wick::test {
namespace {

struct Case {
  const char* name;
  Shape x;
  int64_t scales;
  FakeQuantizeAttrs attrs;
};
// Lines that leave tails, are short, are cut into tasks; an axis that is the last one.
std::vector<Case> cases() {
  return {{"one", {3, 7}, 1, {1, 0, 255, 0, 0}},
          {"tasks", {2, 33000}, 1, {1, -128, 127, 0, 0}},
          {"channels", {2, 3, 5, 7}, 3, {1, -127, 127, 0, 0}},
          {"rows", {5, 130}, 5, {0, -8, 7, 0, 0}},
          {"last", {4, 3, 9}, 9, {-1, 0, 15, 1, 0}},
          {"short", {3, 4, 5}, 4, {1, 0, 3, 0, 0}},
          {"empty", {0, 4}, 1, {1, 0, 255, 0, 0}}};
}
Shape scales_of(const Case& c) { return c.scales == 1 ? Shape{} : Shape{c.scales}; }
// Among many elements some are close to a tie, where the quotients in float32 and float64 may round
// to different sides: a power of two divides both exactly.
Input scale_of(const Case& c) {
  if (numel(c.x) > 1000) return {DType::kF32, {}, 0, 0, {0.015625}};
  return f32(scales_of(c), 0.01, 0.03);
}

// Some of it outside of the range, zero points between integers and outside too.
Input zero_point(const Case& c) {
  return f32(scales_of(c), static_cast<double>(c.attrs.qmin) - 2,
             static_cast<double>(c.attrs.qmax) + 2);
}
double reach(const Case& c) { return 0.02 * static_cast<double>(c.attrs.qmax - c.attrs.qmin); }

std::vector<Sample> forward() {
  std::vector<Sample> all;
  for (const Case& c : cases()) {
    all.push_back(sample(std::string("FakeQuantize/") + c.name,
                         {f32(c.x, -reach(c), reach(c)), scale_of(c), zero_point(c)}, c.attrs));
  }
  return all;
}
std::vector<Sample> backward() {
  std::vector<Sample> all;
  for (const Case& c : cases()) {
    for (int64_t of : {0, 1, 2}) {
      FakeQuantizeAttrs a = c.attrs;
      a.of = of;
      all.push_back(sample("FakeQuantizeGrad/" + std::string(c.name) + std::to_string(of),
                           {f32(c.x), f32(c.x, -reach(c), reach(c)), scale_of(c), zero_point(c)},
                           a));
    }
  }
  return all;
}
std::vector<Sample> folded() {
  const auto c = [](int64_t n) { return f32({n}, 0.5, 2); };
  return {sample("FoldedBatchNorm/4d", {f32({2, 3, 5, 7}), c(3), c(3), c(3), c(3), c(3)},
                 BatchNormAttrs{}),
          sample("FoldedBatchNorm/2d", {f32({33, 4}), c(4), c(4), c(4), c(4), c(4), c(4)},
                 BatchNormAttrs{})};
}

}  // namespace

// float32 takes the quotient's whole number, float64 too: apart from a tie they are one. What is
// left of the quotient (the scale's gradient) is a difference of numbers up to 255.
WICK_TEST_ROW(FakeQuantize, forward);
WICK_TEST_ROW(FakeQuantizeGrad, backward, nullptr, 512);
WICK_TEST_ROW(FoldedBatchNorm, folded);

}  // namespace wick::test
