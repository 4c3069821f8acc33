#include "tools/wick/weight_stats.h"

#include <algorithm>
#include <cmath>

#include "graph/ir/host_tensor.h"
#include "runtime/core/half.h"

namespace wick::tool {
namespace {

constexpr size_t kBins = 48;

bool has_numbers(DType t) {
  return t != DType::kNone && t != DType::kString && t != DType::kC64 && t != DType::kC128 &&
         !is_container(t);
}

template <class T, class F>
void each_of(const TensorView& v, const F& visit) {
  const T* p = v.as<T>();
  for (int64_t i = 0, n = v.numel(); i < n; ++i) visit(static_cast<double>(p[i]));
}

template <class F>
void each(const TensorView& v, const F& visit) {
  switch (v.dtype) {
    case DType::kF32: return each_of<float>(v, visit);
    case DType::kF64: return each_of<double>(v, visit);
    case DType::kI8: return each_of<int8_t>(v, visit);
    case DType::kBool:
    case DType::kU8: return each_of<uint8_t>(v, visit);
    case DType::kI64: return each_of<int64_t>(v, visit);
    default: break;
  }
  const HostTensor t(v.dtype, v.shape, v.data, v.nbytes());
  for (int64_t i = 0, n = t.numel(); i < n; ++i) visit(element_as_double(t, i));
}

}  // namespace

WeightStats weight_stats(const TensorView& weight) {
  WeightStats s;
  if (!has_numbers(weight.dtype) || weight.data == nullptr || weight.numel() == 0) return s;
  double sum = 0;
  int64_t finite = 0;
  s.min = INFINITY;
  s.max = -INFINITY;
  each(weight, [&](double x) {
    s.zeros += x == 0 ? 1 : 0;
    if (!std::isfinite(x)) {
      ++(std::isnan(x) ? s.nans : s.infinities);
      return;
    }
    ++finite;
    sum += x;
    s.min = std::min(s.min, x);
    s.max = std::max(s.max, x);
  });
  s.known = true;
  if (finite == 0) {
    s.min = s.max = 0;
    return s;
  }
  s.mean = sum / static_cast<double>(finite);
  s.histogram.assign(kBins, 0);
  const double scale = s.max > s.min ? static_cast<double>(kBins) / (s.max - s.min) : 0;
  double squares = 0;
  each(weight, [&](double x) {
    if (!std::isfinite(x)) return;
    squares += (x - s.mean) * (x - s.mean);
    // max - min may overflow to infinity: then everything is in the first bin.
    const double at = std::min((x - s.min) * scale, static_cast<double>(kBins - 1));
    ++s.histogram[at >= 0 ? static_cast<size_t>(at) : 0];
  });
  s.std = std::sqrt(squares / static_cast<double>(finite));
  return s;
}

}  // namespace wick::tool
