#include "runtime/core/shape.h"

#include <cinttypes>

namespace wick {

namespace {

// The limit with 32-bit addresses: kernels derive data from a tensor (sorted orders, padded panels)
// that take up to 48 bytes per element beside it and are counted in size_t.
constexpr bool kNarrow = sizeof(size_t) < 8;
constexpr uint64_t kMostElements = kNarrow ? uint64_t{1} << 26 : uint64_t{1} << 62;
constexpr uint64_t kMostBits = kNarrow ? uint64_t{1} << 31 : uint64_t{1} << 62;

}  // namespace

Result<size_t> checked_bytes(const Shape& shape, int bits) {
  bool empty = false;
  if (shape.overflowed()) {
    return error(Code::kShapeMismatch, "more than %d dimensions, which begin with %s", kMaxRank,
                 to_text(shape).text);
  }
  for (int64_t d : shape) {
    if (d < 0) return error(Code::kShapeMismatch, "negative dimension in %s", to_text(shape).text);
    empty = empty || d == 0;
  }
  // The other dims of an empty tensor are checked as well: strides and partial products are
  // computed from them.
  const uint64_t unit = bits > 0 ? static_cast<uint64_t>(bits) : 1;
  uint64_t total = unit;
  for (int64_t d : shape) {
    if (d == 0) continue;
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(d), &total) || total > kMostBits ||
        total / unit > kMostElements) {
      return error(Code::kShapeMismatch, "shape %s is too large%s", to_text(shape).text,
                   kNarrow ? " for a 32-bit machine" : "");
    }
  }
  return empty || bits == 0 ? size_t{0} : static_cast<size_t>((total + 7) / 8);
}

ShapeText to_text(const Shape& shape) {
  ShapeText t;
  size_t at = 0;
  t.text[at++] = '[';
  for (int i = 0; i < shape.rank(); ++i) {
    at +=
        part_of_text(t.text + at, sizeof(t.text) - at, i == 0 ? "%" PRId64 : ",%" PRId64, shape[i]);
  }
  t.text[at++] = ']';
  t.text[at] = '\0';
  return t;
}

}  // namespace wick
