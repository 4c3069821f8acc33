// Sequences and optionals. A packed value among the inputs is given byte by byte. Integers only:
// the double oracle would pack other bytes. Known values: packed_test.cc.
#include "runtime/core/packed_sequence.h"
#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

constexpr auto kI64Attr = static_cast<int64_t>(DType::kI64);

Input one(double v) { return {DType::kI64, {}, 0, 0, {v}}; }
Input i64(Shape s) { return of(DType::kI64, s, -9, 9); }

// Returns a packed sequence of int64 tensors of these shapes, whose elements count up.
Input packed(DType kind, const std::vector<Shape>& shapes, bool present = true) {
  auto count = static_cast<int64_t>(shapes.size());
  PackedSize size(count);
  for (const Shape& s : shapes) (void)size.add(DType::kI64, s);
  const int64_t bytes = size.bytes().value();
  std::vector<uint8_t> data(static_cast<size_t>(bytes));
  PackedWriter writer(data.data(), bytes, DType::kI64, count, present);
  int64_t next = 0;
  for (const Shape& s : shapes) {
    TensorView v = writer.add_space(s);
    for (int64_t i = 0; i < v.numel(); ++i, ++next)
      memcpy(static_cast<char*>(v.data) + 8 * i, &next, sizeof(next));
  }
  return {kind, {bytes}, 0, 0, std::vector<double>(data.begin(), data.end())};
}
Input sequence(const std::vector<Shape>& shapes) { return packed(DType::kSequence, shapes); }
Input three() { return sequence({{2, 3}, {}, {0, 4}}); }
Input alike() { return sequence({{2, 1, 3}, {2, 4, 3}, {2, 0, 3}}); }

}  // namespace

WICK_TEST_ROW(
    SequenceConstruct,
    [] {
      return S{sample("SequenceConstruct/three", {i64({2, 3}), i64({}), i64({0, 4})},
                      SequenceAttrs{kI64Attr}),
               sample("SequenceConstruct/bool", {of(DType::kBool, {5}, 0, 2)},
                      SequenceAttrs{static_cast<int64_t>(DType::kBool)}),
               sample("SequenceConstruct/empty", {}, SequenceAttrs{kI64Attr})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    SequenceInsert,
    [] {
      return S{sample("SequenceInsert/back", {three(), i64({3})}),
               sample("SequenceInsert/front", {three(), i64({3}), one(0)}),
               sample("SequenceInsert/middle", {three(), i64({3}), one(-1)}),
               sample("SequenceInsert/end", {three(), i64({3}), one(3)}),
               sample("SequenceInsert/i32", {three(), i64({3}), {DType::kI32, {1}, 0, 0, {-3}}}),
               sample("SequenceInsert/first", {sequence({}), i64({2, 2})})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    SequenceErase,
    [] {
      return S{sample("SequenceErase/back", {three()}),
               sample("SequenceErase/front", {three(), one(0)}),
               sample("SequenceErase/negative", {three(), one(-2)}),
               sample("SequenceErase/last", {sequence({{4}})})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    SequenceAt,
    [] {
      return S{sample("SequenceAt/front", {three(), one(0)}, SequenceAttrs{kI64Attr}),
               sample("SequenceAt/scalar", {three(), one(1)}, SequenceAttrs{kI64Attr}),
               sample("SequenceAt/negative", {three(), one(-3)}, SequenceAttrs{kI64Attr})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    SequenceLength,
    [] {
      return S{sample("SequenceLength/three", {three()}),
               sample("SequenceLength/none", {sequence({})})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    SplitToSequence,
    [] {
      return S{
          sample("SplitToSequence/ones", {i64({3, 4})}, SplitToSequenceAttrs{}),
          sample("SplitToSequence/squeezed", {i64({3, 4})}, SplitToSequenceAttrs{-1, 0}),
          sample("SplitToSequence/chunks", {i64({3, 7, 2}), one(3)}, SplitToSequenceAttrs{1, 0}),
          sample("SplitToSequence/list", {i64({3, 7, 2}), ints({4, 0, 3})},
                 SplitToSequenceAttrs{-2, 1}),
          sample("SplitToSequence/i32", {of(DType::kI32, {5}), {DType::kI32, {2}, 0, 0, {1, 4}}},
                 SplitToSequenceAttrs{}),
          sample("SplitToSequence/bits", {of(DType::kU4, {2, 5}, 0, 15), ints({2, 3})},
                 SplitToSequenceAttrs{1, 1}),
          sample("SplitToSequence/none", {i64({0, 4})}, SplitToSequenceAttrs{})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    ConcatFromSequence,
    [] {
      return S{
          sample("ConcatFromSequence/axis", {alike()}, ConcatFromSequenceAttrs{1, 0, kI64Attr}),
          sample("ConcatFromSequence/negative", {alike()},
                 ConcatFromSequenceAttrs{-2, 0, kI64Attr}),
          sample("ConcatFromSequence/stacked", {sequence({{2, 3}, {2, 3}})},
                 ConcatFromSequenceAttrs{1, 1, kI64Attr}),
          sample("ConcatFromSequence/behind", {sequence({{2, 3}, {2, 3}})},
                 ConcatFromSequenceAttrs{-1, 1, kI64Attr}),
          sample("ConcatFromSequence/scalars", {sequence({{}, {}, {}})},
                 ConcatFromSequenceAttrs{0, 1, kI64Attr})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    Optional,
    [] {
      return S{sample("Optional/tensor", {i64({2, 3})}, OptionalAttrs{kI64Attr, 0}),
               sample("Optional/none", {}, OptionalAttrs{kI64Attr, 0}),
               sample("Optional/sequence", {three()}, OptionalAttrs{kI64Attr, 1}),
               sample("Optional/no_sequence", {}, OptionalAttrs{kI64Attr, 1})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    OptionalHasElement,
    [] {
      return S{
          sample("OptionalHasElement/tensor", {packed(DType::kOptional, {{2}})}),
          sample("OptionalHasElement/none", {packed(DType::kOptional, {}, false)}),
          sample("OptionalHasElement/empty_sequence", {packed(DType::kOptionalSequence, {})}),
          sample("OptionalHasElement/no_sequence", {packed(DType::kOptionalSequence, {}, false)})};
    },
    nullptr, 0);
WICK_TEST_ROW(
    OptionalGetElement,
    [] {
      return S{sample("OptionalGetElement/tensor", {packed(DType::kOptional, {{2, 2}})},
                      SequenceAttrs{kI64Attr}),
               sample("OptionalGetElement/sequence", {packed(DType::kOptionalSequence, {{2}, {}})},
                      SequenceAttrs{kI64Attr})};
    },
    nullptr, 0);

}  // namespace wick::test
