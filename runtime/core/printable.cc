#include "runtime/core/printable.h"

#include <cstdio>

#include "runtime/core/utf8.h"

namespace wick {
namespace {

bool acts(uint32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0x061C ||
         c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

Printable next_printable(const char* text, size_t left) {
  const CodePoint point = code_point(text, left);
  Printable p = {point.bytes, ""};
  if (point.value == kNoCodePoint) {
    snprintf(p.escape, sizeof p.escape, "\\x%02x", static_cast<unsigned char>(*text));
  } else if (acts(point.value)) {
    snprintf(p.escape, sizeof p.escape, "\\u%04x", point.value & 0xFFFFu);
  }
  return p;
}

}  // namespace wick
