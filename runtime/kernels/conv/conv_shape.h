// Describes a call of a convolution as a ConvShape.
#pragma once

#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/gemm/transposed.h"
#include "runtime/kernels/kernel.h"
#include "runtime/ops/attrs.h"

namespace wick {

// For one to three spatial dims. A one-dimensional convolution is one row high. With three, the
// shape is that for the outputs of one depth: the planes under the kernel's depths count as
// channels, as the weights' order is (channel, depth, kh, kw) either way.
inline ConvShape conv_shape(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a) {
  ConvShape s;
  const int spatial = x.rank() - 2;
  s.n = x[0], s.ic = x[1], s.oc = w[0], s.groups = a.group;
  s.w = x[spatial + 1], s.kw = w[spatial + 1], s.ow = y[spatial + 1];
  s.stride_w = a.strides.at_or(spatial - 1, 1);
  s.dilation_w = a.dilations.at_or(spatial - 1, 1);
  s.pad_left = a.pads.at_or(spatial - 1, 0);
  if (spatial >= 2) {
    s.h = x[spatial], s.kh = w[spatial], s.oh = y[spatial];
    s.stride_h = a.strides.at_or(spatial - 2, 1);
    s.dilation_h = a.dilations.at_or(spatial - 2, 1);
    s.pad_top = a.pads.at_or(spatial - 2, 0);
  }
  // The stride of a single output has no effect.
  if (s.oh == 1) s.stride_h = 1;
  if (s.ow == 1) s.stride_w = 1;
  if (spatial == 3) s.n = 1, s.ic *= w[2];
  return s;
}

// Describe a call of Conv or FusedConv.
inline const ConvAttrs& conv_attrs(const KernelQuery& q) {
  return q.op == OpId::kConv ? q.as<ConvAttrs>() : q.as<FusedConvAttrs>().conv;
}
inline ConvShape conv_shape(const KernelQuery& q) {
  return conv_shape(q.in[0].shape, q.in[1].shape, q.out[0].shape, conv_attrs(q));
}

// The shape of a transposed convolution that reads `read` with w[channels read, channels written
// per group, kernel...].
inline TransposedShape transposed_shape(const Shape& read, const Shape& w, const Shape& written,
                                        const ConvAttrs& a) {
  TransposedShape s;
  const int spatial = read.rank() - 2;
  s.n = read[0], s.groups = a.group, s.reads = read[1] / a.group, s.writes = w[1];
  for (int i = 0; i < spatial; ++i) {
    s.axis[3 - spatial + i] = {
        written[2 + i],          read[2 + i],       w[2 + i], a.strides.at_or(i, 1),
        a.dilations.at_or(i, 1), a.pads.at_or(i, 0)};
  }
  return s;
}

}  // namespace wick
