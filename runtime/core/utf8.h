// Decodes UTF-8 from text that was not checked.
#pragma once

#include <cstdint>

namespace wick {

// A code point and the number of bytes it takes. A byte that begins no valid code point counts as
// one by itself with value kNoCodePoint, which every mapping leaves unchanged.
constexpr uint32_t kNoCodePoint = 0xFFFFFFFF;
struct CodePoint {
  uint32_t value;
  unsigned bytes;
};
inline CodePoint code_point(const char* at, uint64_t left) {
  const auto* p = reinterpret_cast<const unsigned char*>(at);
  const unsigned first = p[0];
  if (first < 0x80) return {first, 1};
  const unsigned bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || left < bytes) return {kNoCodePoint, 1};
  uint32_t value = first & (0x7Fu >> bytes);
  for (unsigned i = 1; i < bytes; ++i) {
    if ((p[i] & 0xC0) != 0x80) return {kNoCodePoint, 1};
    value = value << 6 | (p[i] & 0x3Fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool sound = value >= kLeast[bytes] && value <= 0x10FFFF && (value & 0xFFFFF800) != 0xD800;
  return sound ? CodePoint{value, bytes} : CodePoint{kNoCodePoint, 1};
}

}  // namespace wick
