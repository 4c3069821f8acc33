#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

Input number(double v) { return {DType::kI64, {}, 0, 0, {v}}; }

}  // namespace

WICK_TEST_ROW(
    DFT,
    [] {
      S all;
      // powers of two, the plain sum, Bluestein's; odd, even, prime
      for (int64_t n : {1, 2, 3, 5, 8, 12, 63, 64, 65, 97, 100, 128, 255}) {
        std::string name = "DFT/" + std::to_string(n);
        all.push_back(sample(name, {f32({2, n, 2})}, DftAttrs{1, 0, 0, 0}));
        all.push_back(sample(name + "_inverse", {f32({n, 3, 2})}, DftAttrs{0, 0, 1, 0}));
        all.push_back(sample(name + "_half", {f32({2, n, 1})}, DftAttrs{-2, 0, 0, 1}));
        all.push_back(sample(name + "_real", {f32({2, n / 2 + 1, 2})}, DftAttrs{-2, n, 1, 1}));
      }
      S more = {
          sample("DFT/real", {f32({3, 7, 1})}, DftAttrs{}),
          sample("DFT/middle", {f32({2, 6, 3, 2})}, DftAttrs{1, 0, 0, 0}),
          sample("DFT/padded", {f32({2, 5, 1})}, DftAttrs{1, 8, 0, 0}),
          sample("DFT/cut", {f32({2, 9, 2})}, DftAttrs{1, 6, 0, 0}),
          sample("DFT/cut_half", {f32({2, 9, 1})}, DftAttrs{1, 7, 0, 1}),
          sample("DFT/length", {f32({2, 9, 1}), number(70)}, DftAttrs{1, 0, 0, 1}),
          sample("DFT/inputs", {f32({4, 3, 9, 2}), number(5), number(-3)}, DftAttrs{}),
          sample("DFT/axis", {f32({4, 3, 9, 1}), Input::absent(), number(0)},
                 DftAttrs{-2, 0, 0, 1}),
          sample("DFT/spectrum", {f32({2, 5, 2})}, DftAttrs{1, 0, 1, 1}),
          sample("DFT/nothing_given", {f32({2, 0, 2})}, DftAttrs{1, 4, 0, 0}),
          sample("DFT/no_lines", {f32({0, 6, 2})}, DftAttrs{1, 0, 0, 0}),
      };
      all.insert(all.end(), more.begin(), more.end());
      return all;
    },
    nullptr, 2);

}  // namespace wick::test
