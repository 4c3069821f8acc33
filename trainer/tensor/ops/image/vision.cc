#include "trainer/tensor/ops/image/vision.h"

#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick {
namespace {

void need_regions(const char* op, const Arg& x, const Arg& boxes, Pair size) {
  if (x.tensor.rank() != 4 || boxes.tensor.rank() != 2 || dim_of(boxes.tensor, 1) != 5) {
    bad_shape(op,
              "needs an input [N, C, H, W] and boxes [count, 5] of image, left, top, right, "
              "bottom; got " +
                  text(x.tensor) + " and " + text(boxes.tensor),
              x.where);
  }
  const DType t = x.tensor.dtype(), of_boxes = boxes.tensor.dtype();
  if (!is_float(t) || (of_boxes != t && !autocast_joins(of_boxes, t))) {
    throw_error(op,
                std::string("needs an input and boxes of one float dtype, got ") + dtype_name(t) +
                    " and " + dtype_name(of_boxes),
                x.where, Code::kTypeMismatch);
  }
  if (size.h < 1 || size.w < 1) {
    throw_error(
        op,
        "output_size must be >= 1, got " + std::to_string(size.h) + " x " + std::to_string(size.w),
        x.where, Code::kInvalidArgument);
  }
}

}  // namespace

Tensor roi_align(const Arg& x, const Arg& boxes, Pair size, double spatial_scale,
                 int64_t sampling_ratio, bool aligned) {
  Composite composite("roi_align", x.where);
  need_regions("roi_align", x, boxes, size);
  const At at(x);
  RoiAlignAttrs a;
  a.half_pixel = aligned ? 1 : 0;
  a.output_height = size.h;
  a.output_width = size.w;
  a.sampling_ratio = sampling_ratio > 0 ? sampling_ratio : 0;
  a.spatial_scale = spatial_scale;
  const Tensor edges = boxes.tensor.slice(1, 1, 5, 1, x.where);
  const Tensor image = boxes.tensor.select(1, 0, x.where).to(DType::kI64, x.where);
  return call(OpId::kRoiAlign, a, {x, at(edges), at(image)});
}

Tensor roi_pool(const Arg& x, const Arg& boxes, Pair size, double spatial_scale) {
  Composite composite("roi_pool", x.where);
  need_regions("roi_pool", x, boxes, size);
  return call(OpId::kMaxRoiPool, MaxRoiPoolAttrs{{size.h, size.w}, spatial_scale}, {x, boxes});
}

Tensor deform_conv2d(const Arg& x, const Arg& offset, const Arg& weight, const Tensor& bias,
                     Pair stride, Pair padding, Pair dilation, const Tensor& mask) {
  const Tensor &in = x.tensor, &w = weight.tensor, &moved = offset.tensor;
  const bool ranks = in.rank() == 4 && w.rank() == 4 && moved.rank() == 4;
  const int64_t part = ranks ? dim_of(w, 1) : 0;
  const int64_t taps = ranks ? 2 * dim_of(w, 2) * dim_of(w, 3) : 0;
  if (part < 1 || taps < 1 || dim_of(in, 1) % part != 0 || dim_of(moved, 1) % taps != 0 ||
      dim_of(in, 1) < part || dim_of(moved, 1) < taps) {
    bad_shape("deform_conv2d",
              "needs an input [N, C, H, W], offsets [N, 2 * groups * kh * kw, H', W'] and a weight "
              "[O, C / g, kh, kw]; got " +
                  text(in) + ", " + text(moved) + " and " + text(w),
              x.where);
  }
  Composite composite("deform_conv2d", x.where);
  DeformConvAttrs a;
  a.conv.strides = sizes(stride);
  a.conv.dilations = sizes(dilation);
  a.conv.pads = {padding.h, padding.w, padding.h, padding.w};
  a.conv.group = dim_of(in, 1) / part;
  a.offset_group = dim_of(moved, 1) / taps;
  const At at(x);
  return call(OpId::kDeformConv, a, {x, weight, offset, at(bias), at(mask)});
}

}  // namespace wick
