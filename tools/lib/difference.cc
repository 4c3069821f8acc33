#include "tools/lib/difference.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "graph/ir/packed.h"

namespace wick::tool {

int64_t ulps(float a, float b) {
  auto key = [](float f) {
    auto i = std::bit_cast<int32_t>(f);
    return static_cast<int64_t>(i < 0 ? INT32_MIN - static_cast<int64_t>(i) : i);
  };
  return std::abs(key(a) - key(b));
}

namespace {

// Measures sequences and optionals element by element.
Difference difference_of_elements(const HostTensor& a, const HostTensor& b) {
  const Unpacked x = unpack(a), y = unpack(b);
  Difference all;
  all.comparable =
      x.element == y.element && x.present == y.present && x.elements.size() == y.elements.size();
  for (size_t i = 0; all.comparable && i < x.elements.size(); ++i)
    all.merge(difference(x.elements[i], y.elements[i]));
  all.bits = all.bits && all.comparable;
  return all;
}

}  // namespace

Difference difference(const HostTensor& a, const HostTensor& b) {
  Difference d;
  if (is_container(a.dtype()) && a.dtype() == b.dtype()) return difference_of_elements(a, b);
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    d.comparable = d.bits = false;
    return d;
  }
  if (const HostTensor parts = complex_parts(a); parts.dtype() != a.dtype()) {
    d = difference(parts, complex_parts(b));
    if (d.worst >= 0) d.worst /= 2;
    return d;
  }
  d.bits = same_bits(a, b);
  if (a.dtype() == DType::kString) {  // equal or not: no distance
    if (!d.bits) d.max_abs = d.max_rel = INFINITY;
    return d;
  }
  for (int64_t i = 0; i < a.numel(); ++i) {
    double x = element_as_double(a, i), y = element_as_double(b, i);
    if (std::isfinite(y)) d.largest = std::fmax(d.largest, std::fabs(y));
    if (std::isnan(x) && std::isnan(y)) continue;
    double off = element_distance(a, b, i);
    if (std::isnan(off)) off = INFINITY;
    if (off > d.max_abs || d.worst < 0) {
      d.max_abs = off;
      d.worst = i;
      d.a = x;
      d.b = y;
    }
    if (a.dtype() == DType::kF32)
      d.max_ulp = std::max(d.max_ulp, ulps(a.as<float>()[i], b.as<float>()[i]));
  }
  d.max_rel = d.max_abs == 0 ? 0 : d.max_abs / (d.largest > 0 ? d.largest : 1);
  return d;
}

void Difference::merge(const Difference& o) {
  comparable = comparable && o.comparable;
  bits = bits && o.bits;
  largest = std::fmax(largest, o.largest);
  max_ulp = std::max(max_ulp, o.max_ulp);
  if (o.max_abs > max_abs || worst < 0) {
    max_abs = o.max_abs;
    worst = o.worst;
    a = o.a;
    b = o.b;
  }
  max_rel = max_abs == 0 ? 0 : max_abs / (largest > 0 ? largest : 1);
}

const char* last_digits(double a, double b) {
  return a == b && std::fabs(a) >= 0x1p53 ? ", integers whose last digits differ" : "";
}

std::string Difference::text() const {
  if (!comparable) return "dtype or shape differs";
  if (bits) return "bits equal";
  return fmt::format("max ulp {}, max relative {:.3g} (worst element {}: {:.9g} vs {:.9g}{})",
                     max_ulp, max_rel, worst, a, b, max_abs > 0 ? last_digits(a, b) : "");
}

}  // namespace wick::tool
