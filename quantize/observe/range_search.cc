#include "quantize/observe/range_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace wick::quantize {
namespace {

// The least share in a sum of logarithms, so that nothing is divided by 0.
constexpr double kLeastShare = 1e-12;

Range clipped(double lo, double hi, Range seen) {
  return {static_cast<float>(std::max<double>(lo, seen.lo)),
          static_cast<float>(std::min<double>(hi, seen.hi))};
}

int64_t sum(const std::vector<int64_t>& v, size_t from, size_t to) {
  return std::accumulate(v.begin() + static_cast<std::ptrdiff_t>(from),
                         v.begin() + static_cast<std::ptrdiff_t>(to), int64_t{0});
}

// Returns the divergence from P, counts[0, kept) with the rest in its last bin, to Q.
double divergence(const std::vector<int64_t>& counts, size_t kept, size_t levels) {
  const int64_t beyond = sum(counts, kept, counts.size());
  const int64_t inside = sum(counts, 0, kept);
  if (inside == 0) return std::numeric_limits<double>::infinity();
  const auto p_total = static_cast<double>(inside + beyond), q_total = static_cast<double>(inside);
  double kl = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t from = level * kept / levels, to = (level + 1) * kept / levels;
    const auto p_at = [&](size_t i) { return counts[i] + (i + 1 == kept ? beyond : 0); };
    int64_t filled = 0;
    for (size_t i = from; i < to; ++i) filled += p_at(i) > 0;
    if (filled == 0) continue;
    const double height = static_cast<double>(sum(counts, from, to)) / static_cast<double>(filled);
    const double q = std::max(height / q_total, kLeastShare);
    for (size_t i = from; i < to; ++i) {
      if (p_at(i) == 0) continue;
      const double p = static_cast<double>(p_at(i)) / p_total;
      kl += p * std::log(p / q);
    }
  }
  return kl;
}

}  // namespace

Range percentile_range(const Histogram& h, Range seen, double percent, bool symmetric) {
  const int64_t total = sum(h.counts(), 0, h.counts().size()) + h.zeros();
  const double kept = static_cast<double>(total) * percent / 100;
  if (symmetric) {
    const std::vector<int64_t> m = h.magnitudes();
    int64_t below = h.zeros();
    for (size_t i = 0; i < m.size(); ++i) {
      if (static_cast<double>(below) >= kept)
        return clipped(-static_cast<double>(i) * h.width(), static_cast<double>(i) * h.width(),
                       seen);
      below += m[i];
    }
    return seen;
  }
  const double drop = (static_cast<double>(total) - kept) / 2;
  const std::vector<int64_t>& c = h.counts();
  // Zeros are at the lower edge of bin 0.
  const auto at = [&](size_t i) {
    return c[i] + (h.first() + static_cast<int64_t>(i) == 0 ? h.zeros() : 0);
  };
  const auto edge = [&](size_t i) {
    return static_cast<double>(h.first() + static_cast<int64_t>(i)) * h.width();
  };
  size_t lo = 0, hi = c.size();
  int64_t gone = 0;
  while (lo < hi && static_cast<double>(gone + at(lo)) <= drop) gone += at(lo++);
  gone = 0;
  while (hi > lo && static_cast<double>(gone + at(hi - 1)) <= drop) gone += at(--hi);
  return clipped(std::min(edge(lo), 0.0), std::max(edge(hi), 0.0), seen);
}

Range entropy_range(const Histogram& h, Range seen, int levels) {
  const std::vector<int64_t> counts = h.magnitudes();
  const auto least = static_cast<size_t>(levels);
  const size_t step = std::max<size_t>(1, counts.size() / 512);
  const double most_beyond = static_cast<double>(sum(counts, 0, counts.size())) / levels;
  double best = std::numeric_limits<double>::infinity();
  size_t kept = counts.size();
  for (size_t i = counts.size(); i >= least && i > 0; i -= std::min(i, step)) {
    if (static_cast<double>(sum(counts, i, counts.size())) > most_beyond) break;
    const double kl = divergence(counts, i, least);
    if (kl < best) best = kl, kept = i;
  }
  const double t = static_cast<double>(kept) * h.width();
  return clipped(-t, t, seen);
}

Range mse_range(const Histogram& h, Range seen, DType dtype, bool symmetric) {
  if (h.counts().empty()) return seen;
  const IntegerRange r = integer_range(dtype);
  const auto loss = [&](Range range) {
    const QParams p = params_of(range, dtype, symmetric);
    const double scale = p.scale[0], zero = p.zero_point[0];
    double total = 0;
    for (size_t i = 0; i < h.counts().size(); ++i) {
      if (h.counts()[i] == 0) continue;
      const double x = (static_cast<double>(h.first() + static_cast<int64_t>(i)) + 0.5) * h.width();
      const double q = std::clamp<double>(std::nearbyint(x / scale) + zero, r.lo, r.hi);
      const double e = (q - zero) * scale - x;
      total += static_cast<double>(h.counts()[i]) * e * e;
    }
    return total;
  };
  Range best = seen;
  double least = loss(seen);
  const auto shrink = [&](bool lower, bool upper) {
    const Range from = best;
    for (int percent = 99; percent >= 10; --percent) {
      const float f = static_cast<float>(percent) / 100;
      const Range r2{lower ? from.lo * f : from.lo, upper ? from.hi * f : from.hi};
      const double l = loss(r2);
      if (l < least) least = l, best = r2;
    }
  };
  shrink(true, true);
  if (!symmetric && seen.lo < 0 && seen.hi > 0) {
    shrink(false, true);
    shrink(true, false);
  }
  return best;
}

}  // namespace wick::quantize
