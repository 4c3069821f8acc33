// Attributes of resampling at fractional coordinates.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

enum class ResizeMode : int64_t { kNearest = 0, kLinear = 1, kCubic = 2 };
enum class ResizeCoordinates : int64_t {
  kHalfPixel = 0,
  kHalfPixelSymmetric = 1,
  kPytorchHalfPixel = 2,
  kAlignCorners = 3,
  kAsymmetric = 4,
  kCropAndResize = 5,        // relative to input 1's region; outside x: extrapolation_value
  kHalfPixelForNearest = 6,  // half_pixel without the shift on the input's side
};
enum class ResizeNearest : int64_t { kPreferFloor = 0, kPreferCeil = 1, kFloor = 2, kCeil = 3 };
enum class ResizePolicy : int64_t { kStretch = 0, kNotLarger = 1, kNotSmaller = 2 };
struct ResizeAttrs {
  int64_t mode = 0, coordinates = 0, nearest_mode = 0;
  int64_t antialias = 0, exclude_outside = 0, keep_aspect_ratio_policy = 0;
  double cubic_coeff_a = -0.75, extrapolation_value = 0;
  DimList axes;  // empty: all
  // 1: the trainer's interpolate() of the dims from 2 on: its coordinates, one dim after another,
  // products and sums rounded separately, also where a dim keeps its size. 0: as docs/numerics.md
  // describes Resize.
  int64_t interpolate = 0;
};
WICK_ATTR_FIELDS(
    ResizeAttrs, WICK_FIELD(ResizeAttrs, 1, mode).up_to(ResizeMode::kCubic),
    WICK_FIELD(ResizeAttrs, 2, coordinates).up_to(ResizeCoordinates::kHalfPixelForNearest),
    WICK_FIELD(ResizeAttrs, 3, nearest_mode).up_to(ResizeNearest::kCeil),
    WICK_FIELD(ResizeAttrs, 4, antialias), WICK_FIELD(ResizeAttrs, 5, exclude_outside),
    WICK_FIELD(ResizeAttrs, 6, keep_aspect_ratio_policy).up_to(ResizePolicy::kNotSmaller),
    WICK_FIELD(ResizeAttrs, 7, cubic_coeff_a), WICK_FIELD(ResizeAttrs, 8, extrapolation_value),
    WICK_FIELD(ResizeAttrs, 9, axes), WICK_FIELD(ResizeAttrs, 10, interpolate).up_to(1));

enum class GridPadding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };
struct GridSampleAttrs {
  int64_t mode = 1, padding = 0, align_corners = 0;  // a ResizeMode, a GridPadding
};
WICK_ATTR_FIELDS(GridSampleAttrs, WICK_FIELD(GridSampleAttrs, 1, mode).up_to(ResizeMode::kCubic),
                 WICK_FIELD(GridSampleAttrs, 2, padding).up_to(GridPadding::kReflection),
                 WICK_FIELD(GridSampleAttrs, 3, align_corners));

struct AffineGridAttrs {
  int64_t align_corners = 0;
};
WICK_ATTR_FIELDS(AffineGridAttrs, WICK_FIELD(AffineGridAttrs, 1, align_corners));

struct RoiAlignAttrs {
  int64_t max = 0;         // 0: average
  int64_t half_pixel = 1;  // 0: no shift by half a pixel, and regions are at least 1 x 1
  int64_t output_height = 1, output_width = 1;
  int64_t sampling_ratio = 0;  // 0: derived from the region's size
  double spatial_scale = 1;
};
WICK_ATTR_FIELDS(RoiAlignAttrs, WICK_FIELD(RoiAlignAttrs, 1, max),
                 WICK_FIELD(RoiAlignAttrs, 2, half_pixel),
                 WICK_FIELD(RoiAlignAttrs, 3, output_height),
                 WICK_FIELD(RoiAlignAttrs, 4, output_width),
                 WICK_FIELD(RoiAlignAttrs, 5, sampling_ratio),
                 WICK_FIELD(RoiAlignAttrs, 6, spatial_scale));

struct MaxRoiPoolAttrs {
  IntList<2> pooled_shape;  // required
  double spatial_scale = 1;
};
WICK_ATTR_FIELDS(MaxRoiPoolAttrs, WICK_FIELD(MaxRoiPoolAttrs, 1, pooled_shape),
                 WICK_FIELD(MaxRoiPoolAttrs, 2, spatial_scale));

}  // namespace wick
