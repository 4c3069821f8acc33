#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

Input index(Shape s, std::vector<double> v, DType t = DType::kI64) { return {t, s, 0, 0, v}; }

}  // namespace

WICK_TEST_ROW(
    GatherND,
    [] {
      return S{sample("GatherND/lines", {f32({4, 5, 3}), index({3, 2}, {0, 4, -1, 0, 2, -5})},
                      GatherNDAttrs{}),
               sample("GatherND/string",
                      {words({2, 3}, {"a", "b", "c", "", "é", "f"}), index({3, 1}, {1, -1, 0})},
                      GatherNDAttrs{}),
               sample("GatherND/elements",
                      {f32({4, 5}), index({2, 2, 2}, {0, 0, 3, 4, 1, -1, -4, 2}, DType::kI32)},
                      GatherNDAttrs{}),
               sample("GatherND/batch", {f32({2, 5, 3}), index({2, 2, 1}, {4, 0, -1, 2})},
                      GatherNDAttrs{1}),
               sample("GatherND/nothing", {f32({4, 5}), index({2, 0}, {})}, GatherNDAttrs{}),
               sample("GatherND/empty", {f32({4, 0}), index({3, 1}, {0, 3, 1})}, GatherNDAttrs{}),
               sample("GatherND/u8", {of(DType::kU8, {7, 3}, 0, 255), index({2, 1}, {6, 0})},
                      GatherNDAttrs{})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    ScatterND,
    [] {
      // tuple 1 comes twice: the updates apply in order
      auto in = [] {
        return std::vector<Input>{f32({4, 3}), index({4, 1}, {1, 3, -3, 0}), f32({4, 3})};
      };
      return S{sample("ScatterND/none", in(), ScatterNDAttrs{0}),
               sample("ScatterND/add", in(), ScatterNDAttrs{1}),
               sample("ScatterND/mul", in(), ScatterNDAttrs{2}),
               sample("ScatterND/max", in(), ScatterNDAttrs{3}),
               sample("ScatterND/min", in(), ScatterNDAttrs{4}),
               sample("ScatterND/i8",
                      {of(DType::kI8, {6}, -128, 127), index({3, 1}, {5, 5, 0}),
                       of(DType::kI8, {3}, -128, 127)},
                      ScatterNDAttrs{1}),
               sample("ScatterND/bool",
                      {of(DType::kBool, {6}, -1, 1), index({3, 1}, {5, 5, 0}),
                       of(DType::kBool, {3}, -1, 1)},
                      ScatterNDAttrs{1}),
               sample("ScatterND/f8",
                      {of(DType::kF8E4M3FN, {6, 2}, -8, 8), index({2, 1}, {5, 0}),
                       of(DType::kF8E4M3FN, {2, 2}, -8, 8)},
                      ScatterNDAttrs{0}),
               sample("ScatterND/nothing", {f32({4, 3}), index({0, 1}, {}), f32({0, 3})},
                      ScatterNDAttrs{0})};
    },
    nullptr, 8);
WICK_TEST_ROW(
    NonZero,
    [] {
      return S{sample("NonZero/f32", {{DType::kF32, {2, 3}, 0, 0, {0, 1, -0.0, NAN, 0, -3}}}),
               sample("NonZero/bool", {of(DType::kBool, {3, 4, 5}, -1, 1)}),
               sample("NonZero/none", {of(DType::kI32, {4}, 0, 0)}),
               sample("NonZero/scalar", {{DType::kI64, {}, 0, 0, {7}}}),
               sample("NonZero/empty", {f32({0, 3})})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    TopK,
    [] {
      Input ties{DType::kF32,
                 {2, 7},
                 0,
                 0,
                 {3, 1, NAN, 3, -0.0, 0, -1, 2, 2, 5, 2, -INFINITY, INFINITY, 5}};
      return S{
          sample("TopK/largest", {f32({3, 67})}, TopKAttrs{5, -1, 1, 1}, 2),
          sample("TopK/smallest_axis0", {f32({33, 4})}, TopKAttrs{7, 0, 0, 1}, 2),
          sample("TopK/sort", {ties}, TopKAttrs{7, 1, 0, 1}, 2),
          sample("TopK/sort_down", {ties}, TopKAttrs{7, 1, 1, 1}, 2),
          sample("TopK/input", {f32({2, 9, 3}), ints({2})}, TopKAttrs{1, 1, 1, 0}, 2),
          sample("TopK/u8", {of(DType::kU8, {300}, 0, 255)}, TopKAttrs{300, 0, 1, 1}, 2),
          sample("TopK/few", {of(DType::kI32, {3, 400}, 0, 9)}, TopKAttrs{11, 1, 1, 1}, 2),
          sample("TopK/few_down", {of(DType::kI32, {3, 400}, 0, 9)}, TopKAttrs{50, 1, 0, 1}, 2),
          sample("TopK/few_columns", {f32({300, 5})}, TopKAttrs{3, 0, 1, 1}, 2),
          sample("TopK/none", {f32({2, 3})}, TopKAttrs{0, 1, 1, 1}, 2),
          sample("TopK/empty", {f32({0, 3})}, TopKAttrs{2, 1, 1, 1}, 2)};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Unique,
    [] {
      UniqueAttrs rows{{0}, 1}, columns{{-1}, 0}, found{{}, 0};
      return S{
          sample("Unique/string", {words({2, 3}, {"a", "b", "c", "", "é", "f"})}, UniqueAttrs{}, 4),
          sample("Unique/sorted", {{DType::kF32, {7}, 0, 0, {3, -0.0, 2, 0, 3, -1, 2}}},
                 UniqueAttrs{}, 4),
          sample("Unique/found", {of(DType::kI64, {40}, -4, 4)}, found, 4),
          sample("Unique/rows", {{DType::kF32, {4, 2}, 0, 0, {1, 2, 0, 3, 1, 2, 1, 1}}}, rows, 4),
          sample("Unique/columns", {of(DType::kU8, {2, 30}, 0, 3)}, columns, 4),
          sample("Unique/empty", {f32({0})}, UniqueAttrs{}, 4)};
    },
    nullptr, 0);
WICK_TEST_ROW(
    CumSum,
    [] {
      return S{
          sample("CumSum/0", {f32({67, 3})}, CumulateAttrs{0, 0, 0}),
          sample("CumSum/-1", {f32({3, 67})}, CumulateAttrs{-1, 0, 0}),
          sample("CumSum/exclusive", {f32({2, 9})}, CumulateAttrs{1, 1, 0}),
          sample("CumSum/reverse", {f32({2, 9, 2})}, CumulateAttrs{1, 0, 1}),
          sample("CumSum/both", {f32({2, 9})}, CumulateAttrs{1, 1, 1}),
          sample("CumSum/input", {f32({2, 9}), {DType::kI32, {}, 0, 0, {-1}}}, CumulateAttrs{}),
          sample("CumSum/i8", {of(DType::kI8, {50}, 0, 100)}, CumulateAttrs{}),
          sample("CumSum/empty", {f32({2, 0})}, CumulateAttrs{1, 0, 0})};
    },
    nullptr, 32);
WICK_TEST_ROW(
    CumProd,
    [] {
      return S{sample("CumProd/0", {f32({17, 3})}, CumulateAttrs{0, 0, 0}),
               sample("CumProd/exclusive", {f32({2, 9})}, CumulateAttrs{1, 1, 0}),
               sample("CumProd/reverse", {f32({2, 9})}, CumulateAttrs{-1, 0, 1}),
               sample("CumProd/i16", {of(DType::kI16, {9}, 1, 300)}, CumulateAttrs{})};
    },
    nullptr, 32);
WICK_TEST_ROW(
    Trilu,
    [] {
      return S{
          sample("Trilu/string", {words({2, 3}, {"a", "b", "c", "", "é", "f"})}, TriluAttrs{1, 0}),
          sample("Trilu/upper", {f32({4, 5})}, TriluAttrs{1, 0}),
          sample("Trilu/lower", {f32({2, 5, 3})}, TriluAttrs{0, 1}),
          sample("Trilu/below", {f32({4, 4})}, TriluAttrs{1, -2}),
          sample("Trilu/all", {f32({3, 4})}, TriluAttrs{1, INT64_MIN}),
          sample("Trilu/nothing", {f32({3, 4})}, TriluAttrs{1, INT64_MAX}),
          sample("Trilu/lower_nothing", {f32({3, 4})}, TriluAttrs{0, -3}),
          sample("Trilu/lower_beyond", {f32({3, 4})}, TriluAttrs{0, -7}),
          sample("Trilu/input", {f32({3, 4}), {DType::kI64, {}, 0, 0, {1}}}, TriluAttrs{}),
          sample("Trilu/bool", {of(DType::kBool, {3, 3}, -1, 2)}, TriluAttrs{0, 0}),
          sample("Trilu/empty", {f32({0, 3})}, TriluAttrs{})};
    },
    nullptr, 0);

}  // namespace wick::test
