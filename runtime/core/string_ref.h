// StringRef: an element of a string tensor. The bytes (UTF-8, any length, no end mark) belong to
// whoever made them: the program (constants), the caller (inputs), or the session's pool (what ops
// made, until the next run). Layout ops move the 16 bytes of an element. All zero: the empty
// string.
#pragma once

#include <cstring>

#include "runtime/core/dtype.h"

namespace wick {

struct StringRef {
  alignas(8) const char* data = nullptr;  // aligned: 16 bytes where pointers have 4, too
  alignas(8) uint64_t size = 0;

  friend bool operator==(const StringRef& a, const StringRef& b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
  }
  // By bytes: for UTF-8 the order of the code points.
  friend bool operator<(const StringRef& a, const StringRef& b) {
    const uint64_t n = a.size < b.size ? a.size : b.size;
    const int order = n == 0 ? 0 : memcmp(a.data, b.data, n);
    return order != 0 ? order < 0 : a.size < b.size;
  }
};
static_assert(sizeof(StringRef) * 8 == dtype_bits(DType::kString));

template <>
inline constexpr DType dtype_of<StringRef> = DType::kString;

}  // namespace wick
