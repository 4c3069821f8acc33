// Three spatial dims as shaders use them: missing leading dims have extent 1.
#pragma once

#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {

struct WindowShape {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {}, pad_end[3] = {};

  // Reads any attributes with strides, dilations and pads; kernel_at(i) is the kernel size of
  // spatial dim i.
  template <class A, class F>
  WindowShape(const Shape& x, const Shape& y, const A& a, F&& kernel_at) {
    const int spatial = x.rank() - 2;
    for (int i = 0; i < spatial && i < 3; ++i) {
      const int d = 3 - spatial + i;
      in[d] = x[2 + i], out[d] = y[2 + i], kernel[d] = kernel_at(i);
      stride[d] = a.strides.at_or(i, 1), dilation[d] = a.dilations.at_or(i, 1);
      pad[d] = a.pads.at_or(i, 0), pad_end[d] = a.pads.at_or(i + spatial, 0);
    }
  }

  // Returns whether every position is below 2^30, including padding and any overhang.
  bool fits() const {
    for (int d = 0; d < 3; ++d) {
      for (int64_t v : {in[d], out[d], kernel[d], stride[d], dilation[d], pad[d], pad_end[d]}) {
        if (v > kMaxElements) return false;
      }
      if (out[d] * stride[d] + kernel[d] * dilation[d] + pad[d] + pad_end[d] + in[d] > kMaxElements)
        return false;
    }
    return true;
  }
};

// Returns how many output channels of a group an invocation computes at one position: the shader's
// kRows.
inline int64_t channel_rows(const Shape& y, int64_t group) {
  const int64_t outputs = y[1] / group;
  return outputs < WICK_ROWS ? outputs : WICK_ROWS;
}
inline Dispatch rows_dispatch(ShaderId shader, const Shape& y, int64_t group) {
  const int64_t rows = channel_rows(y, group), blocks = (y[1] / group + rows - 1) / rows;
  const int64_t n = numel(y) / y[1] * group * blocks;
  Dispatch d = flat_dispatch(shader, n);
  add_push(d, n);
  return d;
}

inline void add_pushes(Dispatch& d, const int64_t (&values)[3]) {
  for (int64_t v : values) add_push(d, v);
}
inline void add_window(Dispatch& d, const WindowShape& s) {
  for (const auto* values : {&s.in, &s.out, &s.kernel, &s.stride, &s.dilation, &s.pad})
    add_pushes(d, *values);
}

}  // namespace wick::vulkan
