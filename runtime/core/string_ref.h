// StringRef: an element of a string tensor. The bytes (UTF-8, any length, not terminated) belong to
// their source: the program (constants), the caller (inputs) or the session's string pool (results
// of ops, until the next run). Layout ops move only the 16 bytes of the StringRef. All zero is the
// empty string.
#pragma once

#include <cstring>

#include "runtime/core/dtype.h"

namespace wick {

// One element of a string tensor: bytes of UTF-8 without a terminator, which belong to someone
// else. wick_string of the C API has the same layout.
struct StringRef {
  alignas(8) const char* data = nullptr;  // aligned: 16 bytes also where pointers have 4
  alignas(8) uint64_t size = 0;           // number of bytes

  friend bool operator==(const StringRef& a, const StringRef& b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
  }
  // Compares bytes: for UTF-8 that is the order of the code points.
  friend bool operator<(const StringRef& a, const StringRef& b) {
    const uint64_t n = a.size < b.size ? a.size : b.size;
    const int order = n == 0 ? 0 : memcmp(a.data, b.data, n);
    return order != 0 ? order < 0 : a.size < b.size;
  }
};
static_assert(sizeof(StringRef) * 8 == dtype_bits(DType::kString));

// The dtype of StringRef.
template <>
inline constexpr DType dtype_of<StringRef> = DType::kString;

}  // namespace wick
