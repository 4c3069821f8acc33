#include "quantize/observe/observer.h"

#include <algorithm>
#include <cmath>

#include "quantize/observe/range_search.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

void grow(Range& r, bool& any, float lo, float hi) {
  r = any ? Range{std::min(r.lo, lo), std::max(r.hi, hi)} : Range{lo, hi};
  any = true;
}

[[noreturn]] void refuse(const float* x, int64_t n) {
  int64_t bad = 0, first = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isfinite(x[i])) continue;
    if (first < 0) first = i;
    ++bad;
  }
  throw_error("observe", std::to_string(bad) + " of " + std::to_string(n) +
                             " numbers are NaN or infinite, the first is " +
                             std::to_string(x[first]));
}

Range range_of(const ObserverSpec& spec, Range seen, Range average, const Histogram& h, DType dtype,
               bool symmetric) {
  const Range wide{std::min(seen.lo, 0.0F), std::max(seen.hi, 0.0F)};
  switch (spec.kind) {
    case ObserverKind::kMinMax: return seen;
    case ObserverKind::kMovingAverage: return average;
    case ObserverKind::kPercentile: return percentile_range(h, wide, spec.percentile, symmetric);
    case ObserverKind::kEntropy: {
      // Numbers of one sign use all the integers, unless these are symmetric.
      const bool one_side = !symmetric && (wide.lo == 0 || wide.hi == 0);
      return entropy_range(h, wide, 1 << (dtype_bits(dtype) - (one_side ? 0 : 1)));
    }
    case ObserverKind::kMse: return mse_range(h, wide, dtype, symmetric);
  }
  return seen;
}

}  // namespace

bool keeps_histogram(ObserverKind k) {
  return k == ObserverKind::kPercentile || k == ObserverKind::kEntropy || k == ObserverKind::kMse;
}

Observer::Observer(const ObserverSpec& spec, int64_t axis) : spec_(spec), axis_(axis) {}

void Observer::add(const HostTensor& x) {
  if (x.dtype() != DType::kF32)
    throw_error("observe", std::string("takes float32, got ") + dtype_name(x.dtype()));
  const Shape& s = x.shape();
  if (axis_ >= s.rank())
    throw_error("observe", "no axis " + std::to_string(axis_) + " in " + to_text(s).text);
  const int64_t channels = axis_ < 0 ? 1 : s[static_cast<int>(axis_)];
  if (channels_.empty()) channels_.resize(static_cast<size_t>(channels));
  if (static_cast<int64_t>(channels_.size()) != channels) {
    throw_error("observe", "axis " + std::to_string(axis_) + " of " + to_text(s).text +
                               " had size " + std::to_string(channels_.size()) + " before");
  }
  if (x.numel() == 0) return;
  const float* v = x.as<float>();
  int64_t inner = x.numel();
  if (axis_ >= 0) {
    inner = 1;
    for (int d = static_cast<int>(axis_) + 1; d < s.rank(); ++d) inner *= s[d];
  }
  const int64_t outer = x.numel() / (channels * inner);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < channels; ++c)
      add(channels_[static_cast<size_t>(c)], v + (o * channels + c) * inner, inner);
  }
  count_ += x.numel();
}

void Observer::add(Channel& c, const float* x, int64_t n) {
  float lo = x[0], hi = x[0], odd = 0;
  for (int64_t i = 0; i < n; ++i) {
    lo = std::min(lo, x[i]), hi = std::max(hi, x[i]);
    odd += x[i] - x[i];  // NaN if a number is not finite
  }
  if (odd != 0 || odd != odd) refuse(x, n);
  grow(c.seen, c.any, lo, hi);
  grow(c.batch, c.any_in_batch, lo, hi);
  if (keeps_histogram(spec_.kind)) c.histogram.add(x, n, lo, hi);
}

void Observer::end_batch() {
  for (Channel& c : channels_) {
    if (!c.any_in_batch) continue;
    const auto share = static_cast<float>(spec_.averaging);
    if (c.averaged) {
      c.average.lo += share * (c.batch.lo - c.average.lo);
      c.average.hi += share * (c.batch.hi - c.average.hi);
    } else {
      c.average = c.batch;
    }
    c.averaged = true;
    c.any_in_batch = false;
  }
}

Range Observer::seen() const {
  Range all;
  bool any = false;
  for (const Channel& c : channels_) {
    if (c.any) grow(all, any, c.seen.lo, c.seen.hi);
  }
  return all;
}

std::vector<Range> Observer::ranges(const ObserverSpec& spec, DType dtype, bool symmetric) const {
  if (count_ == 0) throw_error("observe", "nothing was observed: no range");
  std::vector<Range> all;
  for (const Channel& c : channels_) {
    all.push_back(
        range_of(spec, c.seen, c.averaged ? c.average : c.seen, c.histogram, dtype, symmetric));
  }
  return all;
}

std::vector<Range> Observer::ranges(DType dtype, bool symmetric) const {
  return ranges(spec_, dtype, symmetric);
}

QParams Observer::params(const ObserverSpec& spec, DType dtype, bool symmetric) const {
  if (keeps_histogram(spec.kind) && !keeps_histogram(spec_.kind)) {
    throw_error("observe", std::string("no histogram was kept for ") + observer_name(spec.kind));
  }
  return params_of(ranges(spec, dtype, symmetric), dtype, symmetric, axis_);
}

QParams Observer::params(DType dtype, bool symmetric) const {
  return params(spec_, dtype, symmetric);
}

}  // namespace wick::quantize
