#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

struct Case {
  const char* name;
  Shape x, y;
  PoolAttrs attrs;
};
std::vector<Case> cases() {
  return {{"2x2", {2, 3, 6, 8}, {2, 3, 3, 4}, {{2, 2}, {2, 2}, {}, {}, 0, 0}},
          {"3x3s2p1", {1, 4, 9, 7}, {1, 4, 5, 4}, {{3, 3}, {2, 2}, {}, {1, 1, 1, 1}, 0, 0}},
          {"ceil", {1, 2, 6, 6}, {1, 2, 3, 3}, {{3, 3}, {2, 2}, {}, {}, 1, 0}},
          {"ceil_pad", {1, 2, 5, 6}, {1, 2, 3, 4}, {{3, 3}, {2, 2}, {}, {1, 1, 1, 1}, 1, 1}},
          // the window is longer than the padded input, by less than a stride
          {"ceil_short", {2, 3, 1, 2}, {2, 3, 1, 1}, {{2, 4}, {2, 3}, {}, {}, 1, 0}},
          {"ceil_short_pad", {1, 2, 1, 1}, {1, 2, 1, 1}, {{4, 5}, {3, 4}, {}, {1, 1, 1, 1}, 1, 1}},
          {"ceil_short_dilated", {1, 17, 2, 9}, {1, 17, 1, 4}, {{2, 2}, {2, 2}, {2, 2}, {}, 1, 0}},
          {"include_pad", {1, 2, 5, 5}, {1, 2, 5, 5}, {{3, 3}, {1, 1}, {}, {1, 1, 1, 1}, 0, 1}},
          {"asymmetric", {1, 2, 5, 6}, {1, 2, 5, 3}, {{2, 3}, {1, 2}, {}, {1, 0, 0, 2}, 0, 0}},
          {"dilated", {1, 1, 7, 7}, {1, 1, 5, 5}, {{2, 2}, {1, 1}, {2, 2}, {}, 0, 0}},
          {"1d", {2, 2, 11}, {2, 2, 5}, {{3}, {2}, {}, {}, 0, 0}},
          {"lenet", {1, 32, 28, 28}, {1, 32, 14, 14}, {{2, 2}, {2, 2}, {}, {}, 0, 0}},
          {"batch0", {0, 2, 6, 6}, {0, 2, 3, 3}, {{2, 2}, {2, 2}, {}, {}, 0, 0}}};
}
std::vector<Sample> forward(const char* op) {
  std::vector<Sample> s;
  for (auto& c : cases()) s.push_back(sample(std::string(op) + "/" + c.name, {f32(c.x)}, c.attrs));
  return s;
}
std::vector<Sample> backward(const char* op) {
  std::vector<Sample> s;
  for (auto& c : cases())
    s.push_back(sample(std::string(op) + "/" + c.name, {f32(c.y), f32(c.x)}, c.attrs));
  return s;
}

// Zeros of both signs, NaN and infinities in every place of a 2x2 window, rows of every length up
// to more than two vectors; `positive`: without a sign bit, as after relu.
std::vector<Sample> special_max() {
  const double kinds[16] = {0.0,  -0.0, 0.0,       -0.0, -0.0, 0.0, -1,       -3,
                            -0.0, -1,   -INFINITY, 0.0,  -2,   1,   INFINITY, NAN};
  std::vector<Sample> samples;
  for (const bool positive : {false, true}) {
    for (int width : {1, 3, 7, 8, 14, 16, 21, 40}) {
      Input x = f32({3, 2, 4, 2 * width + width % 2});
      const int n = 24 * (2 * width + width % 2);
      for (int i = 0; i < n; ++i) {
        const double v = kinds[static_cast<uint32_t>(i) * 2654435761u >> 28];
        x.values.push_back(positive || std::isnan(v) ? std::fabs(v) : v);
      }
      samples.push_back(sample("MaxPool/special" + std::to_string(width) + (positive ? "+" : ""),
                               {x}, PoolAttrs{{2, 2}, {2, 2}, {}, {}, 0, 0}));
    }
  }
  return samples;
}

// Bytes: rows of every length up to more than two vectors, every stride, the lowest number in
// every place of a window.
std::vector<Sample> max_of_bytes() {
  std::vector<Sample> samples;
  for (const DType t : {DType::kU8, DType::kI8}) {
    const int lo = t == DType::kI8 ? -128 : 0;
    const std::string name = "MaxPool/" + std::string(dtype_name(t)) + "/";
    for (auto& c : cases())
      samples.push_back(sample(name + c.name, {of(t, c.x, lo, lo + 256)}, c.attrs));
    for (int width : {1, 7, 16, 33, 67, 131, 200}) {
      for (int64_t stride : {1, 2, 3}) {
        const PoolAttrs a{{3, 3}, {stride, stride}, {}, {1, 1, 1, 1}, 0, 0};
        samples.push_back(
            sample(name + "row" + std::to_string(width) + "s" + std::to_string(stride),
                   {of(t, {1, 3, 5, width}, lo, lo + 256)}, a));
      }
    }
    const PoolAttrs hangs{{2, 5}, {1, 2}, {1, 70}, {0, 140, 0, 139}, 1, 0};
    samples.push_back(sample(name + "wide_padding", {of(t, {1, 2, 4, 9}, lo, lo + 1)}, hangs));
    const PoolAttrs cube{{2, 3, 2}, {1, 2, 2}, {}, {1, 1, 0, 0, 1, 1}, 0, 0};
    samples.push_back(sample(name + "3d", {of(t, {1, 2, 3, 5, 40}, lo, lo + 256)}, cube));
  }
  return samples;
}

}  // namespace

WICK_TEST_ROW(
    MaxPool,
    [] {
      auto s = forward("MaxPool");
      for (Sample& more : special_max()) s.push_back(more);
      for (Sample& more : max_of_bytes()) s.push_back(more);
      return s;
    },
    nullptr, 1);
WICK_TEST_ROW(
    AveragePool, [] { return forward("AveragePool"); }, nullptr, 16);
// Ties, zeros of both signs and NaN: the gradient goes to the window's first largest element.
Sample first_wins() {
  const double kinds[] = {1, 1, -0.0, 0.0, NAN, 2, -1, NAN, 0.0, -0.0, NAN};
  Input x = f32({1, 1, 4, 42});
  for (int i = 0; i < 4 * 42; ++i) x.values.push_back(kinds[(i * 7 + i / 42) % 11]);
  return sample("MaxPoolGrad/first_wins", {f32({1, 1, 2, 21}), x},
                PoolAttrs{{2, 2}, {2, 2}, {}, {}, 0, 0});
}
WICK_TEST_ROW(
    MaxPoolGrad,
    [] {
      auto s = backward("MaxPoolGrad");
      s.push_back(first_wins());
      return s;
    },
    nullptr, 16);
WICK_TEST_ROW(
    AveragePoolGrad, [] { return backward("AveragePoolGrad"); }, nullptr, 16);

}  // namespace wick::test
