// Calls that doubling a sample's sizes does not make long: attributes or values say how large they
// are, or an input is packed.
#include <cmath>

#include "runtime/core/packed_sequence.h"
#include "tests/deadline/case.h"

namespace wick::test {
namespace {

constexpr auto kI64 = static_cast<int64_t>(DType::kI64);

// A packed value of `count` tensors of `length` zeros.
Value packed(DType kind, int64_t count, int64_t length) {
  PackedSize size(count);
  (void)size.add(DType::kI64, {length}, count);
  Value v(kind, {size.bytes().value()});
  PackedWriter writer(v.view().data, static_cast<int64_t>(v.view().nbytes()), DType::kI64, count);
  for (int64_t i = 0; i < count; ++i) {
    TensorView part = writer.add_space({length});
    memset(part.data, 0, part.nbytes());
  }
  return v;
}

Value number(int64_t n) {
  Value v(DType::kI64, {});
  v.set(0, static_cast<double>(n));
  return v;
}

Value list(const std::vector<int64_t>& numbers) {
  Value v(DType::kI64, {static_cast<int64_t>(numbers.size())});
  for (size_t i = 0; i < numbers.size(); ++i)
    v.set(static_cast<int64_t>(i), static_cast<double>(numbers[i]));
  return v;
}

}  // namespace

const char* exempt(OpId op) {
  if (op == OpId::kShape) return "it writes a few numbers, whatever the tensor's size";
  if (op == OpId::kRegexFullMatch) return "what a pattern costs is its library's to bound";
  return nullptr;
}

std::optional<CallCase> hand_case(OpId op, double work) {
  const auto bytes = static_cast<int64_t>(work);  // op_work counts them, read and written
  switch (op) {
    case OpId::kAsStrided: {
      const int64_t n = bytes / 8 + 1;
      return CallCase{AnyAttrs::of(StridedAttrs{{n}, {1}, 0}), {Value(DType::kF32, {n})}};
    }
    case OpId::kAffineGrid: {
      const auto side = static_cast<int64_t>(std::sqrt(work / 8)) + 1;
      Value theta(DType::kF32, {1, 2, 3});
      for (int64_t i = 0; i < 6; ++i) theta.set(i, 0.5);
      return CallCase{AnyAttrs::of(AffineGridAttrs{}), {theta, list({1, 1, side, side})}};
    }
    case OpId::kRange:
      return CallCase{AnyAttrs::of(NoAttrs{}), {number(0), number(bytes / 8 + 1), number(1)}};
    case OpId::kSequenceErase:
      return CallCase{AnyAttrs::of(NoAttrs{}), {packed(DType::kSequence, 3, bytes / 32)}};
    case OpId::kSequenceAt:
      return CallCase{AnyAttrs::of(SequenceAttrs{kI64}),
                      {packed(DType::kSequence, 1, bytes / 16 + 1), number(0)}};
    case OpId::kSequenceLength:
      return CallCase{AnyAttrs::of(NoAttrs{}), {packed(DType::kSequence, bytes / 80 + 1, 0)}};
    case OpId::kConcatFromSequence:
      return CallCase{AnyAttrs::of(ConcatFromSequenceAttrs{0, 0, kI64}),
                      {packed(DType::kSequence, 2, bytes / 32 + 1)}};
    case OpId::kOptionalHasElement:
      return CallCase{AnyAttrs::of(NoAttrs{}),
                      {packed(DType::kOptionalSequence, bytes / 80 + 1, 0)}};
    case OpId::kOptionalGetElement:
      return CallCase{AnyAttrs::of(SequenceAttrs{kI64}),
                      {packed(DType::kOptional, 1, bytes / 16 + 1)}};
    default: return std::nullopt;
  }
}

}  // namespace wick::test
