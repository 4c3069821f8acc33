// Resampling of images.
#include "runtime/ops/attrs/image.h"
#include "exporter/tflite/read/read.h"

namespace wick::tflite {
namespace {

// Resizes height and width of planes to the two sizes of input 1.
ValueId resized(ReadCtx& c, ValueId planes, const ResizeAttrs& a) {
  const std::vector<int64_t> to = c.ints(1, 2, "sizes");
  if (to[0] < 1 || to[1] < 1) c.fail("the sizes of its result must be 1 or more");
  const std::vector<int64_t> x = c.sizes(0);
  const ValueId sizes = c.int_constant({x[0], x[3], to[0], to[1]});
  return c.emit(OpId::kResize, a, {planes, kNoValue, kNoValue, sizes});
}

int64_t coordinates(const ReadCtx& c, bool align_corners, bool half_pixel) {
  if (align_corners && half_pixel)
    c.fail("align_corners and half_pixel_centers exclude each other");
  return static_cast<int64_t>(align_corners ? ResizeCoordinates::kAlignCorners
                              : half_pixel  ? ResizeCoordinates::kHalfPixel
                                            : ResizeCoordinates::kAsymmetric);
}

void read_bilinear(ReadCtx& c) {
  const auto& o = c.options<fbs::ResizeBilinearOptions>();
  c.need_rank(0, 4);
  ResizeAttrs a;
  a.mode = static_cast<int64_t>(ResizeMode::kLinear);
  a.coordinates = coordinates(c, o.align_corners(), o.half_pixel_centers());
  c.set(0, resized(c, c.in(0, Layout::kPlanes), a), Layout::kPlanes);
}

// Half pixels: floor((x + 0.5) scale) is (x + 0.5) scale - 0.5, rounded with ties up.
void read_nearest(ReadCtx& c) {
  const auto& o = c.options<fbs::ResizeNearestNeighborOptions>();
  c.need_rank(0, 4);
  ResizeAttrs a;
  a.mode = static_cast<int64_t>(ResizeMode::kNearest);
  a.coordinates = coordinates(c, o.align_corners(), o.half_pixel_centers());
  const bool rounds = o.align_corners() || o.half_pixel_centers();
  a.nearest_mode =
      static_cast<int64_t>(rounds ? ResizeNearest::kPreferCeil : ResizeNearest::kFloor);
  c.set_raw(0, resized(c, c.raw(0, Layout::kPlanes), a), Layout::kPlanes);
}

}  // namespace

WICK_TFLITE_READ(RESIZE_BILINEAR, read_bilinear);
WICK_TFLITE_READ(RESIZE_NEAREST_NEIGHBOR, read_nearest);

}  // namespace wick::tflite
