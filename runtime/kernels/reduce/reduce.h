// The order of summation (numeric contract), and the geometry of a reduction.
#pragma once

#include <cmath>

#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"

namespace wick {

constexpr int kSumLanes = 16;
constexpr int64_t kSumBlock = 4096;  // in elements: a multiple of kSumLanes

// Element i of a block goes to lane i mod 16; at the end of a block the lanes are combined by
// halving (8, 4, 2, 1) and added to the total, blocks in order.
template <class T>
inline void halve_lanes(T* lanes) {
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = static_cast<T>(lanes[i] + lanes[i + width]);
  }
}

template <class T>
class LaneSum {
 public:
  void add(T v) {
    T& lane = lanes_[in_block_ % kSumLanes];
    lane = static_cast<T>(lane + v);
    if (++in_block_ == kSumBlock) flush();
  }
  // Adds a * b with one rounding.
  void add_product(T a, T b) {
    T& lane = lanes_[in_block_ % kSumLanes];
    lane = std::fma(a, b, lane);
    if (++in_block_ == kSumBlock) flush();
  }
  T finish() {
    if (in_block_ > 0) flush();
    return total_;
  }

 private:
  void flush() {
    halve_lanes(lanes_);
    total_ = static_cast<T>(total_ + lanes_[0]);
    for (T& lane : lanes_) lane = T(0);
    in_block_ = 0;
  }
  T lanes_[kSumLanes] = {};
  T total_ = T(0);
  int64_t in_block_ = 0;
};

// The kept and reduced dims of x, neighbours merged. The sequence of an output is row-major over
// the reduced dims.
struct ReduceShape {
  int64_t outputs = 1, count = 1;  // count: length of each output's sequence
  int kept = 0, reduced = 0;
  int64_t kept_dim[kMaxRank], kept_stride[kMaxRank];
  int64_t reduced_dim[kMaxRank], reduced_stride[kMaxRank];

  // Returns the offset of output o's sequence.
  int64_t offset(int64_t o) const {
    int64_t at = 0;
    for (int i = kept - 1; i >= 0; --i) {
      at += o % kept_dim[i] * kept_stride[i];
      o /= kept_dim[i];
    }
    return at;
  }
  // Calls f(offset, n, stride) for each innermost run of an output's sequence, in order; offsets
  // are relative.
  template <class F>
  void runs(F&& f) const {
    if (count == 0) return;
    if (reduced == 0) {
      f(int64_t{0}, int64_t{1}, int64_t{1});
      return;
    }
    const int last = reduced - 1;
    int64_t at[kMaxRank] = {}, where = 0;
    while (true) {
      f(where, reduced_dim[last], reduced_stride[last]);
      int i = last - 1;
      for (; i >= 0; --i) {
        where += reduced_stride[i];
        if (++at[i] < reduced_dim[i]) break;
        where -= reduced_dim[i] * reduced_stride[i];
        at[i] = 0;
      }
      if (i < 0) return;
    }
  }
};

// reduce[i] says whether dim i of x is reduced.
ReduceShape reduce_shape(const TensorView& x, const bool* reduce);

}  // namespace wick
