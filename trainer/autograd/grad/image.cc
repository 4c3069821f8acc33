// Resizing, pooling with indices, transposed convolution, and grids of affine maps. Ops that read
// between pixels are in sample.cc, roi.cc and window.cc.
#include <algorithm>

#include "runtime/ops/conv_transpose.h"
#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

// Returns the convolution that maps a transposed convolution's result back to its input.
ConvAttrs opposite(const ConvTransposeAttrs& a, const Shape& in, const Shape& kernel,
                   const Shape& out) {
  ConvAttrs c = a.conv;
  const int rank = in.rank() - 2;
  c.pads = {};
  c.pads.count = 2 * rank;
  for (int i = 0; i < rank; ++i) {
    const int64_t reach = (kernel[i + 2] - 1) * c.dilations.at_or(i, 1) + 1;
    const int64_t taken = c.strides.at_or(i, 1) * (in[i + 2] - 1) + reach;
    const int64_t before = transposed_pad(a, in[i + 2], kernel[i + 2], out[i + 2], i);
    c.pads.values[i] = before;
    c.pads.values[rank + i] = std::max<int64_t>(0, taken - before - out[i + 2]);
  }
  return c;
}

// Drops the places that no element of the input reaches (mostly output_padding): they contribute no
// gradient.
Tensor reached(Tensor g, const ConvAttrs& c, const Shape& in, const Shape& kernel) {
  const int rank = in.rank() - 2;
  for (int i = 0; i < rank; ++i) {
    const int64_t reach = (kernel[i + 2] - 1) * c.dilations.at_or(i, 1) + 1;
    const int64_t taken = c.strides.at_or(i, 1) * (in[i + 2] - 1) + reach;
    const int64_t end = taken - c.pads[i] - c.pads[rank + i];
    if (end < g.raw_shape()[i + 2]) g = g.slice(i + 2, 0, end);
  }
  return g;
}

// Returns entry i of a list that has one per axis.
Tensor entry(const Tensor& list, int64_t i) { return list.slice(0, i, i + 1).contiguous(); }

// The gradient for a Resize with `interpolate` set, which resizes dims 2 and up only.
Tensor uninterpolate(const GradCtx& c, const ResizeAttrs& a, const Tensor& g, int axis) {
  if (axis < 2) return g;
  const int64_t extent = c.in_shape(0)[axis];
  const Tensor identity = eye(extent, g.dtype()).reshape({extent, 1, extent}), roi;
  Tensor scales, sizes;
  if (c.inputs() > 2 && c.has(2) && c.in(2).layout().numel() != 0) {
    scales = cat({ones({2}), entry(c.in(2), axis)}, 0);
  } else {
    sizes = cat({tensor(std::vector<int64_t>{extent, 1}), entry(c.in(3), axis)}, 0);
  }
  const Tensor* in[] = {&identity, &roi, &scales, &sizes};
  Tensor made;
  call(OpId::kResize, &a, in, Span<Tensor>(&made, 1), c.where());
  const Tensor matrix = made.reshape({extent, c.out_shape(0)[axis]});
  return movedim(matmul(movedim(g, axis, -1), matrix.t()), -1, axis);
}

// Resizing one axis is linear: its matrix is the result of resizing the identity.
Tensor unresize(const GradCtx& c, const Tensor& g, int axis, int64_t i, int64_t axes) {
  const int64_t extent = c.in_shape(0)[axis];
  ResizeAttrs a = c.attrs<ResizeAttrs>();
  a.extrapolation_value = 0;  // a constant
  if (a.interpolate != 0) return uninterpolate(c, a, g, axis);
  a.axes = DimList{1};
  const Tensor identity = eye(extent, g.dtype());
  Tensor roi, scales, sizes;
  if (c.has(1) && c.in(1).layout().numel() != 0)
    roi = cat({entry(c.in(1), i), entry(c.in(1), axes + i)}, 0);
  if (c.inputs() > 2 && c.has(2) && c.in(2).layout().numel() != 0) scales = entry(c.in(2), i);
  if (!scales.defined()) sizes = entry(c.in(3), i);
  const bool crops = a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize);
  const bool same =
      scales.defined() ? scales.to(DType::kF64).item() == 1 : c.out_shape(0)[axis] == extent;
  if (same && !crops) return g;
  const Tensor* in[] = {&identity, &roi, &scales, &sizes};
  Tensor matrix;
  call(OpId::kResize, &a, in, Span<Tensor>(&matrix, 1), c.where());
  return movedim(matmul(movedim(g, axis, -1), matrix.t()), -1, axis);
}

}  // namespace

WICK_GRAD(Resize, 14, 0, 14, [](GradCtx& c) {
  const auto& a = c.attrs<ResizeAttrs>();
  if (a.keep_aspect_ratio_policy != 0)
    throw_error("resize", "no gradient when an aspect ratio is kept", c.where(),
                Code::kUnsupported);
  Tensor g = c.g();
  const int rank = c.in_shape(0).rank();
  const int64_t axes = a.axes.empty() ? rank : a.axes.count;
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t axis = a.axes.empty() ? i : a.axes[i];
    g = unresize(c, g, static_cast<int>(axis < 0 ? axis + rank : axis), i, axes);
  }
  c.set(0, g);
});
// It is linear in the gradient, and its transpose is the Resize.
WICK_GRAD(ResizeGrad, 12, 0, 13, [](GradCtx& c) {
  const auto& a = c.attrs<ResizeAttrs>();
  if (c.outputs() > 1)
    throw_error("resize_grad", "no gradient when the taps are apart", c.where(),
                Code::kUnsupported);
  Tensor none, scales, sizes, resized;
  if (c.inputs() > 2 && c.has(2)) scales = c.in(2);
  if (c.inputs() > 3 && c.has(3)) sizes = c.in(3);
  const Tensor* in[] = {&c.g(), &none, &scales, &sizes};
  call(OpId::kResize, &a, in, Span<Tensor>(&resized, 1), c.where());
  c.set(1, resized);
});
// The gradient of each value goes back to the place that it was taken from.
WICK_GRAD(MaxPoolIndices, 0, 2, 0, [](GradCtx& c) {
  if (c.attrs<MaxPoolIndicesAttrs>().storage_order != 0)
    throw_error("max_pool_indices", "no gradient when indices count columns first", c.where(),
                Code::kUnsupported);
  if (!c.g(0).defined()) return;
  const Shape& x = c.in_shape(0);
  Tensor flat = zeros({numel(x)}, c.in_dtype(0));
  c.set(0, scatter_add(flat, 0, c.out(1).reshape({-1}), c.g(0).reshape({-1})).reshape(x));
});

// The gradient of its input is the convolution of which it is the transpose.
WICK_GRAD(ConvTranspose, 3, 0, 0, [](GradCtx& c) {
  const Shape in = c.in_shape(0), kernel = c.in_shape(1);
  const ConvAttrs a = opposite(c.attrs<ConvTransposeAttrs>(), in, kernel, c.out_shape(0));
  const Tensor g = reached(c.g(), a, in, kernel);
  if (c.needs(0)) c.set(0, call(OpId::kConv, a, {g, c.in(1)}));
  if (c.needs(1))
    c.set(1, call(OpId::kConvWeightGrad, ConvGradAttrs{a, spatial(kernel)}, {g, c.in(0)}));
  if (c.has(2) && c.needs(2)) {
    Dims dims{0};
    for (int i = 2; i < g.rank(); ++i) dims.values[dims.count++] = i;
    c.set(2, sum(c.g(), dims));
  }
});

// Linear in theta: the factor of each of its elements is the identity's grid there, or 1.
WICK_GRAD(AffineGrid, 0, 0, 2, [](GradCtx& c) {
  const Tensor& g = c.g();
  const Shape s = g.raw_shape();
  const int k = g.rank() - 2;
  std::vector<int64_t> size = {1, 1};
  int64_t points = 1;
  for (int i = 1; i <= k; ++i) {
    size.push_back(s[i]);
    points *= s[i];
  }
  Tensor identity = cat({eye(k, k, g.dtype()), zeros({k, 1}, g.dtype())}, 1).unsqueeze(0);
  Tensor grid = call(OpId::kAffineGrid, c.attrs<AffineGridAttrs>(), {identity, tensor(size)});
  Tensor counts = cat({grid.reshape({points, k}), full({points, 1}, 1, g.dtype())}, 1);
  c.set(0, matmul(g.reshape({s[0], points, k}).transpose(1, 2), counts));
});

}  // namespace wick
