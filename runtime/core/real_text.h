// Reads a number as the C locale writes it, whatever locale the application has set: strtod() takes
// a decimal comma under setlocale(LC_ALL, "de_DE"), and would read 0.5 as 0.
#pragma once

#include <charconv>
#include <string_view>

namespace wick {

// The number that the whole of `text` is (decimal, hexadecimal with 0x, inf or nan; a sign before
// it); false: it is none.
inline bool read_real(std::string_view text, double* value) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  if (text.starts_with('-') || text.starts_with('+')) return false;
  const char* end = text.data() + text.size();
  const auto [last, failed] = std::from_chars(
      text.data(), end, *value, hex ? std::chars_format::hex : std::chars_format::general);
  if (failed != std::errc() || last != end) return false;
  if (negative) *value = -*value;
  return true;
}

}  // namespace wick
