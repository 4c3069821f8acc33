#include "tests/ops/rows.h"

namespace wick::test {
namespace {
using S = std::vector<Sample>;
}

WICK_TEST_ROW(
    SliceScatter,
    [] {
      return S{
          sample("SliceScatter/column", {f32({5, 7}), f32({5, 1})}, SliceAttrs{{2}, {3}, {1}, {}}),
          sample("SliceScatter/steps", {f32({5, 7}), f32({2, 4})},
                 SliceAttrs{{1, 0}, {4, INT64_MAX}, {0, 1}, {2, 2}}),
          sample("SliceScatter/backwards", {f32({5, 7}), f32({5, 4})},
                 SliceAttrs{{-1}, {INT64_MIN}, {1}, {-2}}),
          sample("SliceScatter/nothing", {f32({5, 7}), f32({0, 7})}, SliceAttrs{{4}, {2}, {0}, {}}),
          sample("SliceScatter/all", {f32({3, 4}), f32({3, 4})}, SliceAttrs{}),
          sample("SliceScatter/u8",
                 {of(DType::kU8, {4, 3}, 0, 255), of(DType::kU8, {2, 3}, 0, 255)},
                 SliceAttrs{{1}, {3}, {-2}, {}})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    AsStrided,
    [] {
      return S{sample("AsStrided/diagonal", {f32({5, 7})}, StridedAttrs{{5}, {8}, 0}),
               sample("AsStrided/windows", {f32({12})}, StridedAttrs{{4, 3}, {2, 1}, 3}),
               sample("AsStrided/backwards", {f32({3, 4})}, StridedAttrs{{2, 3}, {4, -1}, 2}),
               sample("AsStrided/scalar", {f32({3, 4})}, StridedAttrs{{}, {}, 7}),
               sample("AsStrided/repeat", {of(DType::kI64, {6})}, StridedAttrs{{3, 2}, {0, 5}, 0}),
               sample("AsStrided/empty", {f32({4})}, StridedAttrs{{0, 3}, {1, 1}, 0})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    AsStridedScatter,
    [] {
      return S{
          sample("AsStridedScatter/diagonal", {f32({5, 7}), f32({5})}, StridedAttrs{{5}, {8}, 0}),
          sample("AsStridedScatter/block", {f32({4, 6}), f32({2, 3})},
                 StridedAttrs{{2, 3}, {12, 2}, 1}),
          sample("AsStridedScatter/scalar", {f32({3}), f32({})}, StridedAttrs{{}, {}, 2}),
          sample("AsStridedScatter/empty", {f32({4}), f32({0})}, StridedAttrs{{0}, {1}, 0})};
    },
    nullptr, 0);

}  // namespace wick::test
