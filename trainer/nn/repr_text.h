// How Python writes numbers in a repr; internal.
#pragma once

#include <charconv>
#include <string>

namespace wick::nn {

// The shortest text that reads back as v: 0.1, 1e-05, 2.0.
inline std::string python_number(double v) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string s(buffer, end);
  return s.find_first_not_of("-0123456789") == std::string::npos ? s + ".0" : s;
}

}  // namespace wick::nn
