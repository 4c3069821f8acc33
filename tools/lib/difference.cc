#include "tools/lib/difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "graph/ir/element_pairs.h"
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

double largest_of(const HostTensor& t) {
  double most = 0;
  if (is_container(t.dtype())) {
    for (const HostTensor& e : unpack(t).elements) most = std::fmax(most, largest_of(e));
    return most;
  }
  const HostTensor parts = complex_parts(t);
  for (int64_t i = 0; t.dtype() != DType::kString && i < parts.numel(); ++i) {
    const double v = std::fabs(element_as_double(parts, i));
    if (std::isfinite(v)) most = std::fmax(most, v);
  }
  return most;
}

}  // namespace

Difference difference(const HostTensor& a, const HostTensor& b) {
  Difference d;
  const DType of = element_dtype(a);
  const bool f32 = of == DType::kF32 || of == DType::kC64;
  d.comparable = each_unequal(a, b, [&](const ElementPair& p) {
    d.bits = false;
    const double off = std::isnan(p.off) ? INFINITY : p.off;
    if (off > d.max_abs || d.worst < 0) {
      d.max_abs = off;
      d.worst = p.element;
      d.a = p.a;
      d.b = p.b;
    }
    if (f32)
      d.max_ulp = std::max(d.max_ulp, ulps(static_cast<float>(p.a), static_cast<float>(p.b)));
    return true;
  });
  d.bits = d.bits && d.comparable;
  if (!d.comparable) return d;
  d.largest = largest_of(b);
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
  if (max_abs > 0 && a == b && std::isinf(max_abs))
    return fmt::format("element {} is another text", worst);
  return fmt::format("max ulp {}, max relative {:.3g} (worst element {}: {:.9g} vs {:.9g}{})",
                     max_ulp, max_rel, worst, a, b, max_abs > 0 ? last_digits(a, b) : "");
}

}  // namespace wick::tool
