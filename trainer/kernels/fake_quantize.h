// Code that the plain loops and the SIMD rows of FakeQuantize share.
#pragma once

#include <cmath>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/ops/attrs.h"

namespace wick {

// The numbers by which a line of elements is rounded: q is in [lo, hi], with the zero point already
// subtracted.
template <class T>
struct FakeRange {
  T scale, lo, hi;
};

// Divides x into lines of elements that share a scale.
class FakeLines {
 public:
  FakeLines(const TensorView& x, const TensorView& scale, const TensorView& zero,
            const FakeQuantizeAttrs& a)
      : scale_(scale), zero_(zero), a_(a), total_(x.numel()), length_(total_) {
    if (scale.numel() == 1) return;
    const int at = static_cast<int>(a.axis < 0 ? a.axis + x.rank() : a.axis);
    length_ = 1;
    for (int d = at + 1; d < x.rank(); ++d) length_ *= x.shape[d];
    scales_ = x.shape[at];
  }
  int64_t length() const { return length_; }

  // The zero point is rounded to an integer within the range; NaN becomes the lowest.
  template <class T>
  FakeRange<T> range(int64_t line) const {
    const int64_t i = scales_ == 1 ? 0 : line % scales_;
    const T lo = static_cast<T>(a_.qmin), hi = static_cast<T>(a_.qmax);
    T zero = std::nearbyint(zero_.as<T>()[zero_.numel() == 1 ? 0 : i]);
    zero = zero > lo ? (zero < hi ? zero : hi) : lo;
    return {scale_.as<T>()[scale_.numel() == 1 ? 0 : i], lo - zero, hi - zero};
  }

  // Calls f(first element, count, range) for pieces of at most one task each.
  template <class T, class F>
  void for_each(ThreadPool* pool, F&& f) const {
    if (total_ == 0) return;
    if (length_ == total_) {
      const FakeRange<T> r = range<T>(0);
      parallel_for(pool, (total_ + kElementGrain - 1) / kElementGrain, [&](int64_t task, int) {
        const int64_t from = task * kElementGrain, left = total_ - from;
        f(from, left < kElementGrain ? left : kElementGrain, r);
      });
      return;
    }
    parallel_items(pool, total_ / length_, length_, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) f(line * length_, length_, range<T>(line));
    });
  }

 private:
  const TensorView &scale_, &zero_;
  const FakeQuantizeAttrs& a_;
  int64_t total_, length_, scales_ = 1;
};

// Checks that all scales are finite and positive; otherwise nothing is computed.
template <class T>
Status check_fake_scales(const TensorView& scale) {
  for (int64_t i = 0; i < scale.numel(); ++i) {
    const T s = scale.as<T>()[i];
    if (s > 0 && std::isfinite(s)) continue;
    return error(Code::kInvalidArgument, "scale %lld is %g: it must be finite and above 0",
                 static_cast<long long>(i), static_cast<double>(s));
  }
  return {};
}

}  // namespace wick
