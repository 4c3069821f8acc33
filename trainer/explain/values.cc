#include "trainer/explain/values.h"

#include <cmath>
#include <cstdio>

#include "runtime/core/half.h"

namespace wick {

double element(const TensorView& v, int64_t at) {
  switch (v.dtype) {
    case DType::kF32: return static_cast<double>(v.as<float>()[at]);
    case DType::kF64: return v.as<double>()[at];
    case DType::kF16: return static_cast<double>(static_cast<float>(v.as<Half>()[at]));
    case DType::kBF16: return static_cast<double>(static_cast<float>(v.as<BFloat16>()[at]));
    case DType::kI64: return static_cast<double>(v.as<int64_t>()[at]);
    case DType::kI32: return v.as<int32_t>()[at];
    case DType::kI16: return v.as<int16_t>()[at];
    case DType::kI8: return v.as<int8_t>()[at];
    case DType::kU64: return static_cast<double>(v.as<uint64_t>()[at]);
    case DType::kU32: return v.as<uint32_t>()[at];
    case DType::kU16: return v.as<uint16_t>()[at];
    case DType::kU8: return v.as<uint8_t>()[at];
    case DType::kBool: return v.as<bool>()[at] ? 1 : 0;
    default: return 0;
  }
}

ValueRange range_of(const TensorView& v) {
  ValueRange r;
  for_each_element(v, [&](double x, int64_t i) {
    ++r.count;
    if (std::isfinite(x)) {
      if (r.finite == 0 || x < r.min) r.min = x;
      if (r.finite == 0 || x > r.max) r.max = x;
      ++r.finite;
      return;
    }
    if (r.first_bad < 0) r.first_bad = i, r.first_bad_value = x;
    if (std::isnan(x)) {
      ++r.nan;
    } else {
      ++(x > 0 ? r.positive_inf : r.negative_inf);
    }
  });
  return r;
}

std::string ValueRange::text() const {
  if (count == 0) return "empty";
  std::string range = "in [" + number_text(min) + ", " + number_text(max) + "]";
  if (all_finite()) return range;
  std::string bad;
  auto add = [&](int64_t n, const char* what) {
    if (n == 0) return;
    if (!bad.empty()) bad += " and ";
    bad += std::to_string(n) + " " + what;
  };
  add(nan, "nan"), add(positive_inf, "inf"), add(negative_inf, "-inf");
  bad += " of " + std::to_string(count);
  if (finite > 0) bad += ", the rest " + range;
  return bad;
}

std::string position_text(const Shape& shape, int64_t index) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    std::string at = std::to_string(index % shape[d]);
    index /= shape[d];
    if (text.empty()) {
      text = at;
    } else {
      text.insert(0, at + ",");
    }
  }
  return joined("[", text, "]");
}

std::string number_text(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1024 && unit < 3) value /= 1024, ++unit;
  char text[32];
  snprintf(text, sizeof text, value < 10 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

std::string type_text(const TensorView& v) {
  return std::string(dtype_name(v.dtype)) + to_text(v.shape).text;
}

}  // namespace wick
