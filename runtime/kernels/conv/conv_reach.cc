#include "runtime/kernels/conv/conv_reach.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace wick {
namespace {

// Iterates over the kept taps in the weights' order: those that reach, and the first of each run.
struct KeptTaps {
  const ConvReach& r;
  int64_t channels;
  int64_t channel = 0, row = 0, col = -1, tap = -1;  // the current tap
  bool reaches = true;

  bool next() {
    const bool run = !reaches;
    do {
      ++tap;
      if (++col == r.kw) {
        col = 0;
        if (++row == r.kh) {
          row = 0;
          if (++channel == channels) return false;
        }
      }
      reaches = row >= r.row0 && row < r.row1 && col >= r.col0 && col < r.col1;
    } while (run && !reaches);
    return true;
  }
};

int64_t count(const ConvReach& r, int64_t channels) {
  int64_t n = 0;
  for (KeptTaps t{r, channels}; t.next();) ++n;
  return n;
}

// Computes the replacement for runs of weights that only multiply padding, one run per lane.
constexpr int64_t kLanes = 64;
struct RunWeights {
  uint32_t endless[kLanes], unsigned_[kLanes];
  bool open = false;

  void add(const float* w, int64_t n) {
    if (!open) {
      memset(endless, 0, sizeof endless);
      memset(unsigned_, 0, sizeof unsigned_);
      open = true;
    }
    for (int64_t r = 0; r < n; ++r) {
      uint32_t bits;
      memcpy(&bits, w + r, sizeof bits);
      endless[r] |= (bits & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
      unsigned_[r] |= ~bits >> 31;
    }
  }
  float* close(float* packed, int64_t n, int64_t unit) {
    if (!open) return packed;
    for (int64_t r = 0; r < n; ++r) {
      const float sign = unsigned_[r] != 0 ? 1.0f : -1.0f;
      packed[r] = endless[r] != 0 ? std::numeric_limits<float>::quiet_NaN() : sign;
    }
    for (int64_t r = n; r < unit; ++r) packed[r] = 0;
    open = false;
    return packed + unit;
  }
};

// Finds the taps of one dim that reach the input from some output; the first tap where none does.
void reach_of(int64_t taps, int64_t size, int64_t out, int64_t stride, int64_t dilation,
              int64_t pad, int64_t* begin, int64_t* end) {
  *begin = 0, *end = taps;
  const auto reaches = [&](int64_t tap) {
    const int64_t first = tap * dilation - pad, last = first + (out - 1) * stride;
    return last >= 0 && first < size;
  };
  while (*begin + 1 < *end && !reaches(*begin)) ++*begin;
  while (*begin + 1 < *end && !reaches(*end - 1)) --*end;
}

}  // namespace

ConvReach conv_reach(const ConvShape& s) {
  constexpr int64_t kMost = 100;  // variant() has 8 bits for each
  ConvReach r{s.kh, s.kw, 0, s.kh, 0, s.kw};
  if (s.groups != 1 || s.kh > kMost || s.kw > kMost || s.oh < 1 || s.ow < 1) return r;
  reach_of(s.kh, s.h, s.oh, s.stride_h, s.dilation_h, s.pad_top, &r.row0, &r.row1);
  reach_of(s.kw, s.w, s.ow, s.stride_w, s.dilation_w, s.pad_left, &r.col0, &r.col1);
  return r;
}

ConvShape cut_to_reach(const ConvReach& r, ConvShape s) {
  s.kh = r.row1 - r.row0, s.kw = r.col1 - r.col0;
  s.pad_top -= r.row0 * s.dilation_h, s.pad_left -= r.col0 * s.dilation_w;
  return s;
}

int64_t count_reach_taps(const ConvPlan& p) {
  const int64_t first =
      count(p.reach, 1);  // a run may continue into the next channel, as in all later ones
  return p.shape.ic == 1 ? first : first + (p.shape.ic - 1) * (count(p.reach, 2) - first);
}

void fill_reach_offsets(const ConvPlan& p, int32_t* offset) {
  const int64_t channel = p.image.channel_floats();
  for (KeptTaps t{p.reach, p.shape.ic}; t.next(); ++offset) {
    const int64_t row = (t.row - p.reach.row0) * p.shape.dilation_h;
    const int64_t col = (t.col - p.reach.col0) * p.shape.dilation_w;
    *offset = static_cast<int32_t>(t.reaches ? t.channel * channel + p.image.at(row, col)
                                             : p.shape.ic * channel);
  }
}

void pack_reach_weights(const TileKernels& kernels, const ConvPlan& p, int64_t unit, const float* w,
                        int64_t channel0, int64_t channels, float* packed) {
  constexpr int64_t kTaps = 16;  // transposed at a time
  const ConvReach& r = p.reach;
  const int64_t taps = r.kh * r.kw, all = p.shape.ic * taps;
  float turned[kTaps * kLanes];
  w += channel0 * all;
  for (int64_t c = 0; c < channels; c += unit, w += unit * all) {
    const int64_t n = std::min(unit, channels - c);
    RunWeights run;
    for (int64_t k = 0; k < all; k += kTaps) {
      const int64_t some = std::min(kTaps, all - k);
      kernels.transpose(w + k, all, turned, unit, n, some);
      for (int64_t i = 0; i < some; ++i) {
        const float* from = turned + i * unit;
        const int64_t row = (k + i) % taps / r.kw, col = (k + i) % taps % r.kw;
        if (row < r.row0 || row >= r.row1 || col < r.col0 || col >= r.col1) {
          run.add(from, n);
          continue;
        }
        packed = run.close(packed, n, unit);
        for (int64_t lane = 0; lane < n; ++lane) packed[lane] = from[lane];
        for (int64_t lane = n; lane < unit; ++lane) packed[lane] = 0;
        packed += unit;
      }
    }
    packed = run.close(packed, n, unit);
  }
}

}  // namespace wick
