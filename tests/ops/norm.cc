#include <cmath>
#include <limits>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

// Three rows with zeros of both signs, infinities and NaN in various places.
std::vector<double> endless() {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const double some[] = {0, -0.0, kEndless, -kEndless, std::nan(""), 1, -1};
  std::vector<double> all(60);
  for (size_t i = 0; i < all.size(); ++i) all[i] = some[i * i % 7];
  return all;
}

std::vector<Sample> axes(const char* op) {
  std::string n = op;
  return {sample(n + "/last", {f32({4, 10}, -9, 9)}, AxisAttrs{-1}),
          sample(n + "/first", {f32({5, 7}, -9, 9)}, AxisAttrs{0}),
          sample(n + "/middle", {f32({2, 33, 5}, -9, 9)}, AxisAttrs{1}),
          sample(n + "/4097", {f32({2, 4097}, -9, 9)}, AxisAttrs{1}),
          sample(n + "/large", {f32({3, 4}, -1e4, 1e4)}, AxisAttrs{1}),
          sample(n + "/one", {f32({3, 1})}, AxisAttrs{1}),
          sample(n + "/maps", {f32({2, 9, 301}, -9, 9)}, AxisAttrs{1}),
          sample(n + "/maps_4097", {f32({1, 4097, 18}, -9, 9)}, AxisAttrs{1}),
          sample(n + "/short_rows", {f32({70, 3}, -9, 9)}, AxisAttrs{1}),
          sample(n + "/endless", {Input{DType::kF32, {3, 20}, 0, 0, endless()}}, AxisAttrs{0}),
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
WICK_TEST_ROW(
    LayerNormGrad,
    [] {
      const auto of = [](const char* name, Shape x, int64_t row_dims) {
        Shape row;
        for (int d = x.rank() - static_cast<int>(row_dims); d < x.rank(); ++d) row.push_back(x[d]);
        return sample(std::string("LayerNormGrad/") + name, {f32(x), f32(x), f32(row, 0.5, 1.5)},
                      LayerNormGradAttrs{row_dims, 1e-5}, 3);
      };
      return std::vector<Sample>{of("small", {2, 3}, 1),   of("two_dims", {5, 6, 9}, 2),
                                 of("rows", {37, 50}, 1),  of("one_row", {1, 100}, 1),
                                 of("all", {4, 9}, 2),     of("blocks", {4123, 16}, 1),
                                 of("long", {3, 4123}, 1), of("of_one", {33, 1}, 1)};
    },
    nullptr, 256);
WICK_TEST_ROW(
    GroupNormGrad,
    [] {
      const auto of = [](const char* name, Shape x, int64_t groups) {
        return sample(std::string("GroupNormGrad/") + name, {f32(x), f32(x), f32({x[1]}, 0.5, 1.5)},
                      GroupNormGradAttrs{groups, 1e-5}, 3);
      };
      return std::vector<Sample>{of("small", {2, 4, 3}, 2),   of("4d", {3, 6, 5, 7}, 3),
                                 of("2d", {5, 12}, 4),        of("one", {4, 3, 17}, 1),
                                 of("each", {2, 5, 33}, 5),   of("long", {2, 4, 2500}, 2),
                                 of("rows", {9, 8, 4, 4}, 2), of("images", {300, 2, 16}, 1)};
    },
    nullptr, 256);

}  // namespace wick::test
