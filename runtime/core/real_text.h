// Read a number in the format of the C locale, whatever locale the application has set: under
// setlocale(LC_ALL, "de_DE") strtod() expects a decimal comma and would read 0.5 as 0.
#pragma once

#include <charconv>
#include <string_view>

namespace wick {

// Parses the whole of `text` as a number (decimal, hexadecimal with 0x, inf or nan, optionally
// signed); false where it is not one.
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

// Parses the whole of `text` as a decimal integer; false, with *value as it was, where it is not
// one or does not fit into T. strtoll() would read the start of a text, and another number in place
// of one that does not fit.
template <class T>
bool read_integer(std::string_view text, T* value) {
  T read = 0;
  const char* end = text.data() + text.size();
  const auto [last, failed] = std::from_chars(text.data(), end, read);
  if (failed != std::errc() || last != end) return false;
  *value = read;
  return true;
}

}  // namespace wick
