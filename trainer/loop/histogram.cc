#include "trainer/loop/histogram.h"

#include <algorithm>
#include <cmath>

#include "trainer/explain/values.h"

namespace wick::loop {

Histogram histogram_of(const std::string& name, const Tensor& t) {
  Histogram h;
  h.name = name;
  const TensorView& v = t.raw();
  h.elements = v.numel();
  double sum = 0, squares = 0;
  int64_t finite = 0, zero = 0;
  for_each_element(v, [&](double x, int64_t) {
    if (!std::isfinite(x)) {
      ++h.bad;
      return;
    }
    h.min = finite == 0 ? x : std::min(h.min, x);
    h.max = finite == 0 ? x : std::max(h.max, x);
    ++finite;
    zero += x == 0;
    sum += x;
    squares += x * x;
  });
  if (finite == 0) return h;
  const auto n = static_cast<double>(finite);
  h.mean = sum / n;
  h.std = std::sqrt(std::max(0.0, squares / n - h.mean * h.mean));
  h.zeros = static_cast<double>(zero) / n;
  const double width = h.max - h.min;
  for_each_element(v, [&](double x, int64_t) {
    if (!std::isfinite(x)) return;
    const double at = width > 0 ? (x - h.min) / width * Histogram::kBins : 0;
    ++h.counts[static_cast<size_t>(std::clamp<int>(static_cast<int>(at), 0, Histogram::kBins - 1))];
  });
  return h;
}

}  // namespace wick::loop
