// Geometry of a pooling window, shared by the reference, SIMD and backward kernels.
#pragma once

#include "runtime/core/stop.h"
#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"

namespace wick {

// Three spatial dims; missing leading dims have extent 1 and window 1.
struct PoolShape {
  int64_t planes;  // N * C
  int64_t in[3], out[3];
  int64_t kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
  bool include_pad;

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  // Returns the greatest number of input elements in a window.
  int64_t window() const {
    int64_t n = 1;
    for (int d = 0; d < 3; ++d) n *= kernel[d] < in[d] ? kernel[d] : in[d];
    return n;
  }
  int64_t cost() const {  // the rule limits the window, not its product with the output
    int64_t total;
    const bool over = __builtin_mul_overflow(out_size(), kernel[0] * kernel[1] * kernel[2], &total);
    return over ? INT64_MAX : total;
  }

  // Window positions k in [begin, end) of output o along dim d are inside the input.
  struct Range {
    int64_t begin, end;
  };
  Range valid(int d, int64_t o) const {
    const int64_t start = o * stride[d] - pad_begin[d];
    int64_t begin = start < 0 ? (-start + dilation[d] - 1) / dilation[d] : 0;
    int64_t end = in[d] - start <= 0 ? 0 : (in[d] - start + dilation[d] - 1) / dilation[d];
    if (end > kernel[d]) end = kernel[d];
    return {begin, end < begin ? begin : end};
  }
  // Returns the positions inside the input or its padding. With ceil_mode the last window may
  // extend even beyond that, and what is beyond never counts.
  int64_t padded(int d, int64_t o) const {
    const int64_t room = in[d] + pad_end[d] - (o * stride[d] - pad_begin[d]);
    const int64_t n = room <= 0 ? 0 : (room + dilation[d] - 1) / dilation[d];
    return n < kernel[d] ? n : kernel[d];
  }
  // Returns the divisor of an average; >= 1.
  int64_t divisor(const Range* ranges, const int64_t* o) const {
    int64_t n = 1;
    for (int d = 0; d < 3; ++d)
      n *= include_pad ? padded(d, o[d]) : ranges[d].end - ranges[d].begin;
    return n < 1 ? 1 : n;
  }
};

// x is [N, C, spatial...], y the pooled shape.
inline PoolShape pool_shape(const TensorView& x, const TensorView& y, const PoolAttrs& a) {
  PoolShape s;
  s.planes = x.shape[0] * x.shape[1];
  s.include_pad = a.count_include_pad != 0;
  const int spatial = x.rank() - 2;
  for (int d = 0; d < 3; ++d) {
    const int i = d - (3 - spatial);
    s.in[d] = i < 0 ? 1 : x.shape[2 + i];
    s.out[d] = i < 0 ? 1 : y.shape[2 + i];
    s.kernel[d] = i < 0 ? 1 : a.kernel_shape[i];
    s.stride[d] = i < 0 ? 1 : a.strides.at_or(i, 1);
    s.dilation[d] = i < 0 ? 1 : a.dilations.at_or(i, 1);
    s.pad_begin[d] = i < 0 ? 0 : a.pads.at_or(i, 0);
    s.pad_end[d] = i < 0 ? 0 : a.pads.at_or(i + spatial, 0);
  }
  // A plane without elements gets no rows either, so that windows do not run over the other dims.
  if (s.in[0] == 0 || s.in[1] == 0 || s.in[2] == 0) s.in[0] = s.in[1] = s.in[2] = 0;
  return s;
}

// Calls f(output index within the plane, ranges, coordinates) for every output of a plane, in
// order.
template <class F>
void for_each_window(const PoolShape& s, F&& f) {
  PoolShape::Range ranges[3];
  int64_t o[3], at = 0;
  Poll poll;
  if (s.out[0] == 0 || s.out[1] == 0 || s.out[2] == 0) return;
  for (o[0] = 0; o[0] < s.out[0]; ++o[0]) {
    ranges[0] = s.valid(0, o[0]);
    for (o[1] = 0; o[1] < s.out[1]; ++o[1]) {
      ranges[1] = s.valid(1, o[1]);
      for (o[2] = 0; o[2] < s.out[2]; ++o[2], ++at) {
        if (poll(s.window())) return;
        ranges[2] = s.valid(2, o[2]);
        f(at, ranges, o);
      }
    }
  }
}

// Calls f(index within the input plane) for each valid position of a window, row-major.
template <class F>
void for_each_position(const PoolShape& s, const PoolShape::Range* ranges, const int64_t* o,
                       F&& f) {
  int64_t start[3];
  for (int d = 0; d < 3; ++d) start[d] = o[d] * s.stride[d] - s.pad_begin[d];
  int64_t count = 1;
  for (int d = 0; d < 3; ++d) count *= ranges[d].end - ranges[d].begin;
  Poll poll(count < kPollWork ? nullptr : current_stop());
  for (int64_t k0 = ranges[0].begin; k0 < ranges[0].end; ++k0) {
    for (int64_t k1 = ranges[1].begin; k1 < ranges[1].end; ++k1) {
      if (poll(ranges[2].end - ranges[2].begin)) return;
      const int64_t row =
          ((start[0] + k0 * s.dilation[0]) * s.in[1] + start[1] + k1 * s.dilation[1]) * s.in[2];
      for (int64_t k2 = ranges[2].begin; k2 < ranges[2].end; ++k2)
        f(row + start[2] + k2 * s.dilation[2]);
    }
  }
}

}  // namespace wick
