#pragma once

#include "runtime/ops/resize_scale.h"
#include "runtime/ops/rules/conv-inl.h"
#include "runtime/ops/rules/index-inl.h"

namespace wick::rules {

// The limit of sizes in files: no tensor has more pixels.
constexpr int64_t kMaxExtent = INT64_MAX / 2;
constexpr int64_t kMaxSamples = 1024;  // per bin of RoiAlign, along one dim

template <class D>
Status check_resize_attrs(const RuleCtx<D>& c, const ResizeAttrs& a) {
  const bool nearest = a.mode == static_cast<int64_t>(ResizeMode::kNearest);
  if (!nearest) WICK_TRY(need_number(c.in[0]));
  if (nearest && a.antialias != 0)
    return Status(Code::kInvalidArgument, "antialias goes with the modes linear and cubic");
  if (a.interpolate == 0) return {};
  if (!nearest && c.in[0].dtype != DType::kF32 && c.in[0].dtype != DType::kF64)
    return error(Code::kTypeMismatch, "interpolate is of float32 and float64, got %s",
                 dtype_name(c.in[0].dtype));
  const auto how = static_cast<ResizeCoordinates>(a.coordinates);
  const bool plain =
      how == ResizeCoordinates::kHalfPixel ||
      how == (nearest ? ResizeCoordinates::kAsymmetric : ResizeCoordinates::kAlignCorners);
  if (c.in[0].shape.rank() < 3 || !plain || a.antialias != 0 || a.exclude_outside != 0 ||
      a.keep_aspect_ratio_policy != 0 || !a.axes.empty() || a.cubic_coeff_a != -0.75)
    return Status(Code::kInvalidArgument, "interpolate has no such attributes");
  return {};
}

template <class D>
bool given_list(const RuleCtx<D>& c, size_t i) {
  return c.has(i) && !(c.in[i].rank() == 1 && dim_equal(c.in[i].shape[0], D(0)) == Tri::kYes);
}

template <class D>
Status resize_by_sizes(const RuleCtx<D>& c, const AxisMask& axes, BasicShape<D>* out) {
  const auto& x = c.in[0].shape;
  if (c.in[3].dtype != DType::kI64)
    return error(Code::kTypeMismatch, "sizes must be int64, got %s", dtype_name(c.in[3].dtype));
  DimArgs<D, kMaxRank> sizes;
  WICK_TRY(read_dims(c, 3, IntList<1>{}, "sizes", &sizes));
  if (sizes.count != axes.count)
    return error(Code::kInvalidArgument, "needs %d sizes for %s, got %d", axes.count,
                 to_text(x).text, sizes.count);
  const int64_t policy = c.template as<ResizeAttrs>().keep_aspect_ratio_policy;
  const bool smaller = policy == static_cast<int64_t>(ResizePolicy::kNotLarger);
  Ratio kept;
  for (int i = 0; i < axes.count; ++i) {
    const D &to = sizes.values[i], &from = x[axes.list[i]];
    if (dim_known(to) && (dim_value(to) < 0 || dim_value(to) > kMaxExtent))
      return Status(Code::kInvalidArgument, "sizes must be >= 0");
    if (dim_known(to) && dim_known(from) && dim_value(from) == 0 && dim_value(to) > 0)
      return error(Code::kShapeMismatch, "axis %d of %s has nothing to resize", axes.list[i],
                   to_text(x).text);
    (*out)[axes.list[i]] = to;
    if (c.args != nullptr && policy == 0)
      c.args->resize.scale[axes.list[i]] = {dim_value(to), dim_value(from)};
    if (policy == 0) continue;
    if (!dim_known(to) || !dim_known(from)) return needs_value();
    if (dim_value(from) == 0)
      return Status(Code::kInvalidArgument, "an empty axis has no aspect to keep");
    keep_ratio(&kept, {dim_value(to), dim_value(from)}, smaller, i == 0);
  }
  for (int i = 0; policy != 0 && i < axes.count; ++i) {
    const int64_t from = dim_value(x[axes.list[i]]);
    if (static_cast<double>(from) * kept.value() > 0x1p62)
      return Status(Code::kInvalidArgument, "the result is too large");
    (*out)[axes.list[i]] = D(kept_size(from, kept));
    if (c.args != nullptr) c.args->resize.scale[axes.list[i]] = kept;
  }
  return {};
}

template <class D>
Status resize_by_scales(const RuleCtx<D>& c, const AxisMask& axes, BasicShape<D>* out) {
  const ValueInfo<D>& scales = c.in[2];
  if (!holds_reals(c.op, 2, scales.dtype, scales.rank()))
    return error(Code::kTypeMismatch, "scales must be a float32 vector, got %s %s",
                 dtype_name(scales.dtype), to_text(scales.shape).text);
  if (scales.elements == nullptr) return needs_value();
  if (scales.element_count != axes.count)
    return error(Code::kInvalidArgument, "needs %d scales for %s, got %lld", axes.count,
                 to_text(c.in[0].shape).text, static_cast<long long>(scales.element_count));
  for (int i = 0; i < axes.count; ++i) {
    const double scale = real_of_bits(dim_value(scales.elements[i]));
    if (!(scale > 0 && scale <= kMaxScale))
      return error(Code::kInvalidArgument, "scale %g is not positive and finite", scale);
    const Ratio r = ratio_of(scale);
    if (c.args != nullptr) c.args->resize.scale[axes.list[i]] = r;
    (*out)[axes.list[i]] = dim_floor_div(dim_mul((*out)[axes.list[i]], D(r.p)), r.q);
  }
  return {};
}

template <class D>
Status resize(RuleCtx<D>& c) {
  const auto& a = c.template as<ResizeAttrs>();
  WICK_TRY(check_resize_attrs(c, a));
  BasicShape<D> out = c.in[0].shape;
  AxisMask axes;
  WICK_TRY(read_axes(c, c.in.size(), a.axes, out.rank(), &axes));
  if (!axes.given) {
    for (int i = 0; i < out.rank(); ++i) axes.list[axes.count++] = i;
  }
  for (int i = 0; c.args != nullptr && i < kMaxRank; ++i) c.args->resize.region[i] = -1;
  for (int i = 0; c.args != nullptr && i < axes.count; ++i)
    c.args->resize.region[axes.list[i]] = static_cast<int8_t>(i);
  const bool scales = given_list(c, 2), sizes = given_list(c, 3);
  if (scales == sizes && axes.count > 0)
    return Status(Code::kInvalidArgument, "needs one of scales and sizes");
  if (a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize)) {
    if (!c.has(1) || !is_float(c.in[1].dtype) || c.in[1].rank() != 1 ||
        dim_equal(c.in[1].shape[0], D(int64_t{2} * axes.count)) == Tri::kNo)
      return error(Code::kInvalidArgument,
                   "tf_crop_and_resize needs a roi of %d floats: starts, then ends",
                   2 * axes.count);
  }
  if (sizes) WICK_TRY(resize_by_sizes(c, axes, &out));
  if (scales) WICK_TRY(resize_by_scales(c, axes, &out));
  for (int d = 0; a.interpolate != 0 && d < 2; ++d) {  // kernels have tables for other dims
    if (dim_equal(out[d], c.in[0].shape[d]) == Tri::kNo)
      return shapes_differ("interpolate keeps dims 0 and 1", c.in[0].shape, out);
  }
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status resize_grad(RuleCtx<D>& c) {
  const auto& a = c.template as<ResizeAttrs>();
  if (a.interpolate == 0 || a.mode == static_cast<int64_t>(ResizeMode::kNearest))
    return Status(Code::kInvalidArgument, "is of interpolate, linear and cubic");
  if (c.in[1].dtype != c.in[0].dtype)
    return error(Code::kTypeMismatch, "inputs must have one dtype, got %s and %s",
                 dtype_name(c.in[0].dtype), dtype_name(c.in[1].dtype));
  WICK_TRY(resize(c));
  WICK_TRY(need_grad_shape(c.out[0].shape, c.in[1].shape));
  const size_t taps = a.mode == static_cast<int64_t>(ResizeMode::kLinear) ? 2 : 4;
  if (c.out.size() != 1 && c.out.size() != taps)
    return error(Code::kInvalidArgument, "has one output or %zu, got %zu", taps, c.out.size());
  for (size_t i = 0; i < c.out.size(); ++i) set_out(c, i, c.in[0].dtype, c.in[0].shape);
  return {};
}

template <class D>
Status grid_sample(RuleCtx<D>& c) {
  const auto &x = c.in[0].shape, &grid = c.in[1].shape;
  WICK_TRY(need_number(c.in[0]));
  WICK_TRY(need_float(c.in[1]));
  WICK_TRY(need_rank(c.in[0], 3, 5, "input"));
  if (grid.rank() != x.rank() || dim_equal(grid[0], x[0]) == Tri::kNo ||
      dim_equal(grid[grid.rank() - 1], D(x.rank() - 2)) == Tri::kNo)
    return shapes_differ("the grid must be [N, to..., a coordinate a spatial dim]", x, grid);
  BasicShape<D> out{x[0], x[1]};
  for (int i = 1; i + 1 < grid.rank(); ++i) out.push_back(grid[i]);
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

template <class D>
Status affine_grid(RuleCtx<D>& c) {
  const auto& theta = c.in[0].shape;
  WICK_TRY(need_float(c.in[0]));
  DimArgs<D, 5> size;
  WICK_TRY(read_dims(c, 1, IntList<1>{}, "size", &size));
  if (size.count != 4 && size.count != 5)
    return error(Code::kInvalidArgument, "size needs 4 or 5 entries, got %d", size.count);
  const int k = size.count - 2;
  if (theta.rank() != 3 || dim_equal(theta[1], D(k)) == Tri::kNo ||
      dim_equal(theta[2], D(int64_t{k} + 1)) == Tri::kNo ||
      dim_equal(theta[0], size.values[0]) == Tri::kNo)
    return error(Code::kShapeMismatch, "theta must be [N,%d,%d] for this size, got %s", k, k + 1,
                 to_text(theta).text);
  BasicShape<D> out{theta[0]};
  for (int i = 2; i < size.count; ++i) {
    if (dim_known(size.values[i]) && dim_value(size.values[i]) < 0)
      return Status(Code::kInvalidArgument, "size must be >= 0");
    out.push_back(size.values[i]);
  }
  out.push_back(D(k));
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

// Checks x[N, C, H, W] and `rois` of `columns` numbers each; the output is `height` x `width`.
template <class D>
Status roi_shape(RuleCtx<D>& c, int columns, int64_t height, int64_t width) {
  const auto &x = c.in[0].shape, &rois = c.in[1].shape;
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(need_rank(c.in[0], 4, 4, "input"));
  if (c.in[1].dtype != c.in[0].dtype)
    return error(Code::kTypeMismatch, "rois are %s, the input %s", dtype_name(c.in[1].dtype),
                 dtype_name(c.in[0].dtype));
  if (rois.rank() != 2 || dim_equal(rois[1], D(columns)) == Tri::kNo)
    return error(Code::kShapeMismatch, "rois must be [count,%d], got %s", columns,
                 to_text(rois).text);
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
    return Status(Code::kInvalidArgument, "the pooled size must be 1 or more");
  set_out(c, 0, c.in[0].dtype, BasicShape<D>{rois[0], x[1], D(height), D(width)});
  return {};
}

template <class D>
Status roi_align(RuleCtx<D>& c) {
  const auto& a = c.template as<RoiAlignAttrs>();
  WICK_TRY(need_index(c.in[2]));
  if (c.in[2].rank() != 1 || c.in[1].rank() != 2 ||
      dim_equal(c.in[2].shape[0], c.in[1].shape[0]) == Tri::kNo)
    return shapes_differ("needs one batch index a region", c.in[1].shape, c.in[2].shape);
  const int64_t samples = a.sampling_ratio;
  if (samples < 0 || samples > kMaxSamples)
    return Status(Code::kInvalidArgument, "sampling_ratio must be 0 to 1024");
  return roi_shape(c, 4, a.output_height, a.output_width);
}

template <class D>
Status max_roi_pool(RuleCtx<D>& c) {
  const auto& a = c.template as<MaxRoiPoolAttrs>();
  if (a.pooled_shape.count != 2)
    return Status(Code::kInvalidArgument, "pooled_shape needs a height and a width");
  return roi_shape(c, 5, a.pooled_shape[0], a.pooled_shape[1]);
}

}  // namespace wick::rules
