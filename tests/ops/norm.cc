#include "tests/ops/rows.h"

namespace wick::test {
namespace {

std::vector<Sample> axes(const char* op) {
  std::string n = op;
  return {sample(n + "/last", {f32({4, 10}, -9, 9)}, AxisAttrs{-1}),
          sample(n + "/first", {f32({5, 7}, -9, 9)}, AxisAttrs{0}),
          sample(n + "/middle", {f32({2, 33, 5}, -9, 9)}, AxisAttrs{1}),
          sample(n + "/4097", {f32({2, 4097}, -9, 9)}, AxisAttrs{1}),
          sample(n + "/large", {f32({3, 4}, -1e4, 1e4)}, AxisAttrs{1}),
          sample(n + "/one", {f32({3, 1})}, AxisAttrs{1}),
          sample(n + "/empty", {f32({0, 4})}, AxisAttrs{1})};
}
std::vector<Input> channels(Shape x) {
  Shape c{x[1]};
  return {f32(x), f32(c, 0.5, 1.5), f32(c), f32(c), f32(c, 0.3, 2)};
}

}  // namespace

WICK_TEST_ROW(
    BatchNorm,
    [] {
      return std::vector<Sample>{
          sample("BatchNorm/4d", channels({2, 5, 3, 7}), BatchNormAttrs{1e-5}),
          sample("BatchNorm/2d", channels({4, 19}), BatchNormAttrs{1e-3}),
          sample("BatchNorm/3d", channels({2, 3, 67}), BatchNormAttrs{1e-5}),
          sample("BatchNorm/empty", channels({0, 3, 4, 4}), BatchNormAttrs{1e-5})};
    },
    nullptr, 16);
WICK_TEST_ROW(
    Softmax, [] { return axes("Softmax"); }, nullptr, 32);
WICK_TEST_ROW(
    LogSoftmax, [] { return axes("LogSoftmax"); }, nullptr, 32);
WICK_TEST_ROW(
    BatchNormTrain,
    [] {
      auto in = [](Shape x) {
        return std::vector<Input>{f32(x), f32({x[1]}, 0.5, 1.5), f32({x[1]})};
      };
      return std::vector<Sample>{
          sample("BatchNormTrain/4d", in({3, 5, 6, 7}), BatchNormAttrs{1e-5}, 3),
          sample("BatchNormTrain/2d", in({33, 4}), BatchNormAttrs{1e-5}, 3)};
    },
    nullptr, 64);
WICK_TEST_ROW(
    BatchNormGrad,
    [] {
      auto in = [](Shape x) {
        Shape c{x[1]};
        return std::vector<Input>{f32(x), f32(x), f32(c, 0.5, 1.5), f32(c, -0.1, 0.1),
                                  f32(c, 0.8, 1.6)};
      };
      return std::vector<Sample>{
          sample("BatchNormGrad/4d", in({3, 5, 6, 7}), BatchNormAttrs{1e-5}, 3),
          sample("BatchNormGrad/2d", in({33, 4}), BatchNormAttrs{1e-5}, 3)};
    },
    nullptr, 256);

}  // namespace wick::test
