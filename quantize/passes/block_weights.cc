#include "quantize/passes/block_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/core/half.h"
#include "runtime/core/narrow.h"

namespace wick::quantize {
namespace {

// The scales that float16 holds: not beyond its maximum, and not so deep among its subnormal
// numbers (the first are below 2^-14, the last is 2^-24) that they have fewer than eight bits left.
constexpr float kMostHalf = 60000, kLeastHalf = 0x1p-17F;

class BlockWriter {
 public:
  BlockWriter(const HostTensor& w, DType dtype, bool symmetric, int64_t block)
      : w_(w.as<float>()),
        rows_(w.shape()[0]),
        columns_(w.shape()[1]),
        block_(block),
        per_row_((columns_ + block - 1) / block),
        range_(integer_range(dtype)),
        symmetric_(symmetric) {
    out.bytes = HostTensor(dtype, w.shape());
    out.zero = HostTensor(dtype, Shape{rows_, per_row_});
    float most = 0;
    for (int64_t i = 0; i < w.numel(); ++i) most = std::max(most, std::fabs(w_[i]));
    half_ = most / static_cast<float>(range_.hi) < kMostHalf && !has_tiny_blocks();
    out.scale = HostTensor(half_ ? DType::kF16 : DType::kF32, Shape{rows_, per_row_});
  }

  void round_to_nearest() {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t b = 0; b < per_row_; ++b) write(r, b);
    }
  }

  // Returns false where the moments are of no use; nothing is written then.
  bool round_by(const HostTensor& w, const Moments& moments) {
    std::vector<Choice> choices(static_cast<size_t>(rows_));
    std::vector<float> numbers(static_cast<size_t>(block_));
    ColumnRounding to;
    to.block = block_;
    to.begin = [&](int64_t row, int64_t from, int64_t end, const double* at) {
      for (int64_t i = from; i < end; ++i)
        numbers[static_cast<size_t>(i - from)] = static_cast<float>(at[i - from]);
      Choice& c = choices[static_cast<size_t>(row)];
      c = choose(numbers.data(), end - from);
      store(row, from / block_, c);
    };
    to.round = [&](int64_t row, int64_t column, double x) {
      const Choice c = choices[static_cast<size_t>(row)];
      const float q = integer(static_cast<float>(x), c);
      put(out.bytes, row * columns_ + column, static_cast<int32_t>(q) + c.zero);
      return static_cast<double>(q) * c.scale;
    };
    return gptq(w, moments, to);
  }

 private:
  struct Choice {
    float scale = 1;
    int32_t zero = 0;
  };

  // Returns whether some block that is not all 0 has a scale too small for float16.
  bool has_tiny_blocks() const {
    // A range around 0 alone uses all the integers; the search may shrink it by a fifth.
    const auto steps = static_cast<float>(symmetric_ ? range_.hi : range_.hi - range_.lo);
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t from = 0; from < columns_; from += block_) {
        const float* w = w_ + r * columns_ + from;
        const auto [lo, hi] = std::minmax_element(w, w + std::min(block_, columns_ - from));
        if (*lo == 0 && *hi == 0) continue;
        const float least = std::min(*lo, 0.0F), most = std::max(*hi, 0.0F);
        const float range = symmetric_ ? std::max(-least, most) : most - least;
        if (0.75F * range / steps < kLeastHalf) return true;
      }
    }
    return false;
  }

  float as_stored(float s) const {
    if (!half_) return s;
    return static_cast<float>(Half(s));
  }

  // Rounds half to even by adding a number so large that it has no fraction bits; the range is
  // clamped first, so that the integers fit. It gives the same as nearbyint, a loop of which takes
  // ten times as long.
  float integer(float w, Choice c) const {
    constexpr float kWhole = 0x1.8p23F;
    const auto zero = static_cast<float>(c.zero), lo = static_cast<float>(range_.lo) - zero,
               hi = static_cast<float>(range_.hi) - zero;
    const float q = w / c.scale;
    return (std::min(std::max(q, lo), hi) + kWhole) - kWhole;
  }

  double error(const float* w, int64_t n, Choice c) const {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double e = static_cast<double>(integer(w[i], c)) * c.scale - w[i];
      sum += e * e;
    }
    return sum;
  }

  Choice choose(const float* w, int64_t n) const {
    const auto [lo, hi] = std::minmax_element(w, w + n);
    Choice best;
    if (*lo != 0 || *hi != 0) {
      double least = std::numeric_limits<double>::infinity();
      // With 4 bits a range somewhat smaller or larger is often better; with 8 it is not worth
      // trying.
      const bool few = range_.hi - range_.lo < 255;
      for (int step = few ? -3 : 0; step <= (few ? 11 : 0); ++step) {
        const float f = 1 - 0.02F * static_cast<float>(step);
        const Range range{*lo * f, *hi * f};
        if (!std::isfinite(range.lo) || !std::isfinite(range.hi)) continue;  // near float32's end
        const QParams q = params_of(range, dtype(), symmetric_);
        const Choice c{as_stored(q.scale[0]), q.zero_point[0]};
        if (!(c.scale > 0)) continue;  // float16 has no number this small
        const double e = error(w, n, c);
        if (e < least) least = e, best = c;
      }
    }
    return best;
  }

  void store(int64_t row, int64_t block, Choice c) {
    const int64_t at = row * per_row_ + block;
    put(out.zero, at, c.zero);
    if (half_) {
      out.scale.as<Half>()[at] = Half(c.scale);
    } else {
      out.scale.as<float>()[at] = c.scale;
    }
  }

  void write(int64_t row, int64_t block) {
    const int64_t from = block * block_, n = std::min(block_, columns_ - from);
    const float* w = w_ + row * columns_ + from;
    const Choice best = choose(w, n);
    for (int64_t i = 0; i < n; ++i) {
      const auto q = static_cast<int32_t>(integer(w[i], best)) + best.zero;
      put(out.bytes, row * columns_ + from + i, q);
    }
    store(row, block, best);
  }

  DType dtype() const { return out.bytes.dtype(); }
  static void put(HostTensor& t, int64_t i, int32_t v) {
    if (dtype_bits(t.dtype()) == 8) {
      t.as<uint8_t>()[i] = static_cast<uint8_t>(v);
    } else {
      set_packed(t.data(), 4, i, static_cast<uint8_t>(v & 15));
    }
  }

  const float* w_;
  int64_t rows_, columns_, block_, per_row_;
  IntegerRange range_;
  bool symmetric_, half_ = true;

 public:
  BlockedWeight out;
};

}  // namespace

BlockedWeight in_blocks(const HostTensor& w, DType dtype, bool symmetric, int64_t block,
                        const Moments* moments) {
  BlockWriter writer(w, dtype, symmetric, block);
  if (moments == nullptr || !writer.round_by(w, *moments)) writer.round_to_nearest();
  return std::move(writer.out);
}

}  // namespace wick::quantize
