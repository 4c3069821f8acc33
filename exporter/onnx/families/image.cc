// Resampling: Resize, Upsample, GridSample, AffineGrid, RoiAlign, MaxRoiPool.
#include <algorithm>

#include "exporter/onnx/file/about.h"
#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

// Returns the index of an attribute's value in `names`.
template <size_t N>
int64_t named(ReadCtx& c, const char* attribute, const char* fallback,
              const char* const (&names)[N]) {
  const std::string given = c.attr_string(attribute, fallback);
  for (size_t i = 0; i < N; ++i) {
    if (names[i] != nullptr && given == names[i]) return static_cast<int64_t>(i);
  }
  c.fail("unknown " + std::string(attribute) + " '" + given + "'");
}

constexpr const char* kInterpolate = "interpolate";  // the form of the trainer's interpolate()
constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kOldModes[] = {"nearest", "bilinear", "bicubic"};
constexpr const char* kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr const char* kPolicies[] = {"stretch", "not_larger", "not_smaller"};
constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};

// Returns input i; kNoValue if it is absent or has no elements, which is how opset 11 wrote absent.
ValueId list_input(ReadCtx& c, int i) {
  if (!c.has(i)) return kNoValue;
  const Value& v = c.g.value(c.in(i));
  const bool empty =
      v.ranked && v.shape.rank() == 1 && v.shape[0].known() && v.shape[0].constant() == 0;
  return empty ? kNoValue : c.in(i);
}

bool length_known(ReadCtx& c, ValueId v) {
  const Value& list = c.g.value(v);
  return list.ranked && list.shape.rank() == 1 && list.shape[0].known();
}

// Reads the modes before opset 11, in which pixels meet at their corners and nearest takes the left
// pixel when growing and the right one when shrinking: one op for the axes that grow, then one for
// the others.
void resize_10(ReadCtx& c, ValueId x, ValueId scales) {
  ResizeAttrs a;
  const std::string mode = c.attr_string("mode", "nearest");
  a.mode = mode == "bilinear" ? 1 : named(c, "mode", "nearest", kModes);
  a.coordinates = static_cast<int64_t>(ResizeCoordinates::kAsymmetric);
  a.nearest_mode = static_cast<int64_t>(ResizeNearest::kFloor);
  const bool nearest = a.mode == 0;
  ValueId growing = scales, shrinking = scales;
  bool grows = true, shrinks = true;
  const Value& v = c.g.value(scales);
  if (v.origin == ValueOrigin::kConstant && v.dtype == DType::kF32) {
    const auto* s = v.constant.as<float>();
    std::vector<float> up(s, s + v.constant.numel()), down = up;
    grows = std::any_of(up.begin(), up.end(), [](float f) { return f > 1; });
    shrinks = std::any_of(up.begin(), up.end(), [](float f) { return f < 1; });
    const Shape shape = v.constant.shape();
    for (float& f : up) f = std::max(f, 1.0f);
    for (float& f : down) f = std::min(f, 1.0f);
    if (nearest && grows && shrinks) {
      growing = c.constant(HostTensor::of(shape, up));
      shrinking = c.constant(HostTensor::of(shape, down));
    }
  } else if (nearest) {
    ValueId one = c.scalar(scales, 1);
    growing = c.emit(OpId::kMax, {scales, one});
    shrinking = c.emit(OpId::kMin, {scales, one});
  }
  if (!nearest || grows || !shrinks) x = c.emit(OpId::kResize, a, {x, kNoValue, growing});
  a.nearest_mode = static_cast<int64_t>(ResizeNearest::kCeil);
  if (nearest && shrinks) x = c.emit(OpId::kResize, a, {x, kNoValue, shrinking});
  c.set(0, x);
}

void read_upsample(ReadCtx& c) {
  ValueId x = c.in(0);
  if (c.has(1)) return resize_10(c, x, c.in(1));
  std::vector<float> scales;
  if (const AttributeProto* given = c.attr("scales"); given != nullptr) {
    scales.assign(given->floats().begin(), given->floats().end());
  } else {  // opset 1
    scales = {1, 1, static_cast<float>(c.attr_float("height_scale", 1)),
              static_cast<float>(c.attr_float("width_scale", 1))};
  }
  const Shape shape{static_cast<int64_t>(scales.size())};
  resize_10(c, x, c.constant(HostTensor::of(shape, scales)));
}

void read_resize(ReadCtx& c) {
  ValueId x = c.in(0);
  if (c.opset < 11) return resize_10(c, x, c.in(1));
  ResizeAttrs a;
  a.mode = named(c, "mode", "nearest", kModes);
  a.coordinates = named(c, "coordinate_transformation_mode", "half_pixel", kCoordinates);
  a.nearest_mode = named(c, "nearest_mode", "round_prefer_floor", kNearest);
  // half_pixel is tf_half_pixel_for_nn less 0.5, and rounding to nearest instead of down, or up
  // instead of to nearest, makes up for it: the mode that ended with opset 12 is written as one
  // that stayed.
  if (a.coordinates == static_cast<int64_t>(ResizeCoordinates::kHalfPixelForNearest) &&
      a.mode == 0) {
    const auto rounding = static_cast<ResizeNearest>(a.nearest_mode);
    if (rounding == ResizeNearest::kFloor || rounding == ResizeNearest::kPreferFloor) {
      a.coordinates = static_cast<int64_t>(ResizeCoordinates::kHalfPixel);
      a.nearest_mode = static_cast<int64_t>(
          rounding == ResizeNearest::kFloor ? ResizeNearest::kPreferCeil : ResizeNearest::kCeil);
    }
  }
  a.antialias = c.attr_int("antialias", 0) != 0;
  a.exclude_outside = c.attr_int("exclude_outside", 0) != 0;
  a.cubic_coeff_a = c.attr_float("cubic_coeff_a", -0.75);
  a.extrapolation_value = c.attr_float("extrapolation_value", 0);
  c.fill(a.axes, c.attr_ints("axes"), "axes");
  ValueId roi = a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize)
                    ? list_input(c, 1)
                    : kNoValue;
  ValueId scales = list_input(c, 2), sizes = list_input(c, 3);
  // If both are named, one is empty: the scales were required until opset 12.
  if (sizes != kNoValue && scales != kNoValue) {
    if (!length_known(c, scales))
      scales = kNoValue;
    else if (!length_known(c, sizes))
      sizes = kNoValue;
  }
  a.interpolate = form_of(c.node) == kInterpolate ? 1 : 0;
  // The policy applies to sizes only.
  const auto policy = named(c, "keep_aspect_ratio_policy", "stretch", kPolicies);
  if (scales == kNoValue) a.keep_aspect_ratio_policy = policy;
  c.set(0, c.emit(OpId::kResize, a, {x, roi, scales, sizes}));
}

void read_grid_sample(ReadCtx& c) {
  GridSampleAttrs a;
  const std::string mode = c.attr_string("mode", c.opset < 20 ? "bilinear" : "linear");
  a.mode = mode.rfind("bi", 0) == 0 ? named(c, "mode", "bilinear", kOldModes)
                                    : named(c, "mode", c.opset < 20 ? "nearest" : "linear", kModes);
  a.padding = named(c, "padding_mode", "zeros", kPaddings);
  a.align_corners = c.attr_int("align_corners", 0) != 0;
  const DType dtype = c.dtype(c.in(0));  // the op takes numbers only, and a bool counts as one
  ValueId x = dtype == DType::kBool ? cast(c, c.in(0), DType::kU8) : c.in(0);
  c.set(0, cast(c, c.emit(OpId::kGridSample, a, {x, c.in(1)}), dtype));
}

void read_affine_grid(ReadCtx& c) {
  AffineGridAttrs a{c.attr_int("align_corners", 0) != 0};
  c.set(0, c.emit(OpId::kAffineGrid, a, {c.in(0), c.in(1)}));
}

void read_roi_align(ReadCtx& c) {
  constexpr const char* kPools[] = {"avg", "max"};
  constexpr const char* kShifts[] = {"output_half_pixel", "half_pixel"};
  RoiAlignAttrs a;
  a.max = named(c, "mode", "avg", kPools);
  a.half_pixel =
      c.opset < 16 ? 0 : named(c, "coordinate_transformation_mode", "half_pixel", kShifts);
  a.output_height = c.attr_int("output_height", 1);
  a.output_width = c.attr_int("output_width", 1);
  a.sampling_ratio = c.attr_int("sampling_ratio", 0);
  a.spatial_scale = c.attr_float("spatial_scale", 1);
  c.set(0, c.emit(OpId::kRoiAlign, a, {c.in(0), c.in(1), c.in(2)}));
}

void read_max_roi_pool(ReadCtx& c) {
  MaxRoiPoolAttrs a;
  c.fill(a.pooled_shape, c.attr_ints("pooled_shape"), "pooled_shape");
  a.spatial_scale = c.attr_float("spatial_scale", 1);
  c.set(0, c.emit(OpId::kMaxRoiPool, a, {c.in(0), c.in(1)}));
}

}  // namespace

WICK_READ(Resize, read_resize);
WICK_READ(Upsample, read_upsample);
WICK_READ(GridSample, read_grid_sample);
WICK_READ(AffineGrid, read_affine_grid);
WICK_READ(RoiAlign, read_roi_align);
WICK_READ(MaxRoiPool, read_max_roi_pool);

WICK_ONNX_ROW(Resize, [](WriteCtx& c) {
  const auto& a = c.as<ResizeAttrs>();
  if (a.antialias != 0 || !a.axes.empty() || a.keep_aspect_ratio_policy != 0) c.need(18);
  if (a.coordinates == static_cast<int64_t>(ResizeCoordinates::kHalfPixelSymmetric)) c.need(19);
  if (a.coordinates == static_cast<int64_t>(ResizeCoordinates::kHalfPixelForNearest))
    c.fail("tf_half_pixel_for_nn ended with opset 12; half_pixel is near it");
  // Until opset 12 the region and the scales must be given, if only as empty tensors.
  const auto given = [&](size_t i) {
    if (c.has(i)) return c.in(i);
    return c.opset() < 13 && i < 3 ? c.tensor(HostTensor(DType::kF32, Shape{0})) : std::string();
  };
  const std::string roi = given(1), scales = given(2);
  NodeProto& n = c.add("Resize", {c.in(0), roi, scales, given(3)}, {c.out(0)});
  if (a.interpolate != 0) write_form(kInterpolate, n);
  set_string(n, "mode", kModes[a.mode]);
  set_string(n, "coordinate_transformation_mode", kCoordinates[a.coordinates]);
  set_string(n, "nearest_mode", kNearest[a.nearest_mode]);
  set_float(n, "cubic_coeff_a", a.cubic_coeff_a);
  if (a.exclude_outside != 0) set_int(n, "exclude_outside", 1);
  if (a.extrapolation_value != 0) set_float(n, "extrapolation_value", a.extrapolation_value);
  if (a.antialias != 0) set_int(n, "antialias", 1);
  if (!a.axes.empty()) set_ints(n, "axes", a.axes.span());
  if (a.keep_aspect_ratio_policy != 0)
    set_string(n, "keep_aspect_ratio_policy", kPolicies[a.keep_aspect_ratio_policy]);
});
WICK_ONNX_ROW(GridSample, [](WriteCtx& c) {
  const auto& a = c.as<GridSampleAttrs>();
  const Value& x = c.g.value(c.node.inputs[0]);
  if (!x.ranked || x.shape.rank() != 4) c.need(20);
  NodeProto& n = c.same("GridSample");
  set_string(n, "mode", c.opset() < 20 ? kOldModes[a.mode] : kModes[a.mode]);
  set_string(n, "padding_mode", kPaddings[a.padding]);
  set_int(n, "align_corners", a.align_corners);
});
WICK_ONNX_ROW(AffineGrid, [](WriteCtx& c) {
  set_int(c.same("AffineGrid"), "align_corners", c.as<AffineGridAttrs>().align_corners);
});
WICK_ONNX_ROW(RoiAlign, [](WriteCtx& c) {
  const auto& a = c.as<RoiAlignAttrs>();
  NodeProto& n = c.same("RoiAlign");
  set_string(n, "mode", a.max != 0 ? "max" : "avg");
  set_string(n, "coordinate_transformation_mode",
             a.half_pixel != 0 ? "half_pixel" : "output_half_pixel");
  set_int(n, "output_height", a.output_height);
  set_int(n, "output_width", a.output_width);
  set_int(n, "sampling_ratio", a.sampling_ratio);
  set_float(n, "spatial_scale", a.spatial_scale);
});
WICK_ONNX_ROW(MaxRoiPool, [](WriteCtx& c) {
  const auto& a = c.as<MaxRoiPoolAttrs>();
  NodeProto& n = c.same("MaxRoiPool");
  set_ints(n, "pooled_shape", a.pooled_shape.span());
  set_float(n, "spatial_scale", a.spatial_scale);
});

}  // namespace wick::onnx
