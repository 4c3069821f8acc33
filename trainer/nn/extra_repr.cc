#include "trainer/nn/extra_repr.h"

#include <charconv>
#include <cmath>

namespace wick::nn {

std::string repr_float(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  // Python writes an exponent below 1e-4 and from 1e16 on, with at least two digits.
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, v, std::chars_format::scientific).ptr;
  const std::string science(text, end);
  const int exponent = std::stoi(science.substr(science.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return science;
  end = std::to_chars(text, text + sizeof text, v, std::chars_format::fixed).ptr;
  std::string plain(text, end);
  return plain.find('.') == std::string::npos ? plain + ".0" : plain;
}

std::string repr_number(double v) {
  std::string text = repr_float(v);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string repr_tuple(const int64_t* values, int64_t count) {
  std::string text = "(";
  for (int64_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return text + (count == 1 ? ",)" : ")");
}

std::string repr_size(const Extents& e) {
  for (int64_t v : e.span()) {
    if (v != e[0]) return repr_tuple(e);
  }
  return std::to_string(e[0]);
}

}  // namespace wick::nn
