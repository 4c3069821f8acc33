#include "tests/ops/rows.h"

namespace wick::test {
namespace {
using S = std::vector<Sample>;
}

WICK_TEST_ROW(
    Reshape,
    [] {
      return S{sample("Reshape/attr", {f32({2, 3, 4})}, ReshapeAttrs{{0, -1}, 0}),
               sample("Reshape/input", {f32({2, 3, 4}), ints({4, 6})}, ReshapeAttrs{}),
               sample("Reshape/scalar", {f32({1, 1})}, ReshapeAttrs{}),
               sample("Reshape/i64", {of(DType::kI64, {6})}, ReshapeAttrs{{3, 2}, 0}),
               sample("Reshape/empty", {f32({0, 4})}, ReshapeAttrs{{4, 0}, 1})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Flatten,
    [] {
      return S{sample("Flatten/1", {f32({2, 3, 4})}, AxisAttrs{1}),
               sample("Flatten/0", {f32({2, 3})}, AxisAttrs{0}),
               sample("Flatten/-1", {f32({2, 3, 4})}, AxisAttrs{-1})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Squeeze,
    [] {
      return S{sample("Squeeze/axes", {f32({2, 1, 3, 1})}, AxesAttrs{{1, -1}}),
               sample("Squeeze/all", {f32({1, 3, 1})}, AxesAttrs{}),
               sample("Squeeze/input", {f32({1, 3, 1}), ints({0})}, AxesAttrs{})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Unsqueeze,
    [] {
      return S{sample("Unsqueeze/axes", {f32({2, 3})}, AxesAttrs{{0, -1}}),
               sample("Unsqueeze/input", {f32({3}), ints({1, 0})}, AxesAttrs{})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Transpose,
    [] {
      return S{sample("Transpose/string", {words({2, 3}, {"a", "b", "c", "", "é", "f"})},
                      TransposeAttrs{}),
               sample("Transpose/reverse", {f32({2, 3, 4})}, TransposeAttrs{}),
               sample("Transpose/nchw_nhwc", {f32({2, 3, 5, 7})}, TransposeAttrs{{0, 2, 3, 1}}),
               sample("Transpose/67x35", {f32({67, 35})}, TransposeAttrs{{1, 0}}),
               sample("Transpose/u8", {of(DType::kU8, {17, 33}, 0, 255)}, TransposeAttrs{{1, 0}}),
               sample("Transpose/bool", {of(DType::kBool, {3, 4}, -1, 2)}, TransposeAttrs{{1, 0}}),
               sample("Transpose/empty", {f32({3, 0})}, TransposeAttrs{{1, 0}})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Expand,
    [] {
      return S{sample("Expand/attr", {f32({3, 1})}, ShapeAttrs{{2, 3, 4}}),
               sample("Expand/two_way", {f32({3, 4}), ints({2, 1, 1})}, ShapeAttrs{}),
               sample("Expand/scalar", {f32({})}, ShapeAttrs{{5}})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Concat,
    [] {
      return S{sample("Concat/string",
                      {words({2, 3}, {"a", "b", "c", "", "é", "f"}), words({2, 1}, {"x", ""})},
                      AxisAttrs{1}),
               sample("Concat/0", {f32({2, 3}), f32({4, 3})}, AxisAttrs{0}),
               sample("Concat/-1", {f32({2, 3, 2}), f32({2, 3, 1}), f32({2, 3, 4})}, AxisAttrs{-1}),
               sample("Concat/one", {f32({2, 3})}, AxisAttrs{1}),
               sample("Concat/empty", {f32({2, 0}), f32({2, 3})}, AxisAttrs{1})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Split,
    [] {
      return S{sample("Split/equal", {f32({2, 6})}, SplitAttrs{1, {}, 0}, 3),
               sample("Split/uneven", {f32({7, 2})}, SplitAttrs{0, {}, 0}, 3),
               sample("Split/sizes", {f32({2, 6})}, SplitAttrs{1, {1, 2, 3}, 0}, 3),
               sample("Split/input", {f32({2, 6}), ints({4, 2})}, SplitAttrs{-1, {}, 0}, 2)};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Slice,
    [] {
      return S{
          sample("Slice/attr", {f32({5, 7})}, SliceAttrs{{1, 0}, {4, INT64_MAX}, {0, 1}, {1, 2}}),
          sample("Slice/negative", {f32({5, 7})}, SliceAttrs{{-1}, {INT64_MIN}, {1}, {-2}}),
          sample("Slice/inputs", {f32({5, 7}), ints({1}), ints({-1}), ints({1}), ints({3})},
                 SliceAttrs{}),
          sample("Slice/empty", {f32({5, 7})}, SliceAttrs{{4}, {2}, {0}, {}})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Pad,
    [] {
      return S{
          sample("Pad/constant", {f32({2, 3})}, PadAttrs{{1, 0, 2, 1}, 0, 1.5, {}}),
          sample("Pad/string",
                 {words({2, 3}, {"a", "b", "c", "", "é", "f"}), Input::absent(), words({}, {"-"})},
                 PadAttrs{{1, 0, 0, 1}, 0, 0, {}}),
          sample("Pad/negative", {f32({4, 5})}, PadAttrs{{-1, 1, 0, -2}, 0, 0, {}}),
          sample("Pad/reflect", {f32({3, 4})}, PadAttrs{{1, 2, 1, 3}, 1, 0, {}}),
          sample("Pad/edge", {f32({3, 4})}, PadAttrs{{1, 2, 1, 3}, 2, 0, {}}),
          sample("Pad/wrap", {f32({3, 4})}, PadAttrs{{1, 2, 1, 3}, 3, 0, {}}),
          sample("Pad/inputs", {f32({3, 4}), ints({1, 2}), f32({}), ints({1})}, PadAttrs{}),
          sample("Pad/i64", {of(DType::kI64, {3})}, PadAttrs{{1, 1}, 0, 7, {}})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Shape,
    [] {
      return S{sample("Shape/all", {f32({2, 3, 4})}, ShapeOpAttrs{}),
               sample("Shape/slice", {f32({2, 3, 4})}, ShapeOpAttrs{-2, INT64_MAX})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Gather,
    [] {
      return S{sample("Gather/0", {f32({5, 3}), ints({4, 0, -1})}, AxisAttrs{0}),
               sample("Gather/string",
                      {words({2, 3}, {"a", "b", "c", "", "é", "f"}), ints({1, -1})}, AxisAttrs{1}),
               sample("Gather/1", {f32({2, 5, 3}), {DType::kI32, {2, 2}, 0, 4, {}}}, AxisAttrs{1}),
               sample("Gather/scalar", {f32({5, 3}), {DType::kI64, {}, 0, 0, {2}}}, AxisAttrs{0})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    GatherElements,
    [] {
      return S{
          sample("GatherElements/1", {f32({3, 5}), {DType::kI64, {3, 2}, 0, 4, {}}}, AxisAttrs{1}),
          sample("GatherElements/0", {f32({3, 5}), {DType::kI64, {2, 5}, -3, 2, {}}},
                 AxisAttrs{0})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    ScatterElements,
    [] {
      auto in = [] {
        return std::vector<Input>{f32({3, 5}), {DType::kI64, {3, 4}, 0, 4, {}}, f32({3, 4})};
      };
      return S{sample("ScatterElements/none", in(), ScatterAttrs{1, 0}),
               sample("ScatterElements/add", in(), ScatterAttrs{1, 1}),
               sample("ScatterElements/mul", in(), ScatterAttrs{1, 2}),
               sample("ScatterElements/max", in(), ScatterAttrs{1, 3}),
               sample("ScatterElements/min", in(), ScatterAttrs{1, 4})};
    },
    nullptr, 8);

}  // namespace wick::test
