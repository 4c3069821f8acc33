// Range, NonMaxSuppression. Known values of the latter are in known_values_test.cc.
#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

Input one(double v) { return {DType::kI64, {}, 0, 0, {v}}; }
Input one_f32(double v) { return {DType::kF32, {1}, 0, 0, {v}}; }

}  // namespace

WICK_TEST_ROW(
    Range,
    [] {
      return S{sample("Range/up", {one(0), one(67), one(1)}),
               sample("Range/step", {one(-3), one(30), one(7)}),
               sample("Range/down", {one(5), one(-9), one(-2)}),
               sample("Range/one", {ints({4}), ints({5}), ints({100})}),
               sample("Range/none", {one(5), one(5), one(1)}),
               sample("Range/away", {one(5), one(2), one(1)})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    NonMaxSuppression,
    [] {
      return S{
          sample("NonMaxSuppression/corners", {f32({2, 33, 4}, 0, 4), f32({2, 3, 33}, 0, 1), one(9),
                                               one_f32(0.3), one_f32(0.2)}),
          sample("NonMaxSuppression/centers",
                 {f32({1, 17, 4}, 1, 4), f32({1, 2, 17}, 0, 1), one(5), one_f32(0.5)}, NmsAttrs{1}),
          sample("NonMaxSuppression/ties",
                 {f32({1, 9, 4}, 0, 1),
                  {DType::kF32, {1, 1, 9}, 0, 0, {1, 1, NAN, 1, 0, 0, NAN, 2, 2}},
                  one(20),
                  one_f32(0.9)}),
          sample("NonMaxSuppression/default", {f32({1, 5, 4}), f32({1, 1, 5})}),
          sample("NonMaxSuppression/negative", {f32({1, 5, 4}), f32({1, 1, 5}), one(-1)}),
          sample("NonMaxSuppression/empty", {f32({1, 0, 4}), f32({1, 2, 0}), one(3)})};
    },
    nullptr, 0);

}  // namespace wick::test
