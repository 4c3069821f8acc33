// Transposed f32 convolution over one to three spatial dims: ConvTranspose, and the gradient of a
// convolution by its input. Per output there is one FMA for each (channel read, kernel position) in
// the weights' order, from +0, over the positions whose input index is an integer (the stride
// divides it); then the bias. A stride divides the outputs of a dim into phases that each use a
// part of the positions at stride 1, so that each phase is a convolution by register tiles
// (conv_tiles.h).
#pragma once

#include "runtime/core/byte_count.h"
#include "runtime/kernels/conv/conv_tiles.h"

namespace wick {

// One dim. Output `at` reads, through kernel position tap, input (at + pad - tap * dilation) /
// stride where that is an integer. Outputs with the same remainder of the stride form a phase.
struct PhaseAxis {
  int64_t size = 1, from = 1;  // output size; input size
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad = 0;  // cut off before the first output

  bool reaches(int64_t phase, int64_t tap) const {
    return (phase + pad - tap * dilation) % stride == 0;
  }
  int64_t shift(int64_t phase, int64_t tap) const {
    return (phase + pad - tap * dilation) / stride;
  }
  int64_t phases() const { return size < stride ? size : stride; }
  int64_t count(int64_t phase) const { return (size - phase + stride - 1) / stride; }
  int64_t taps(int64_t phase) const;
  int64_t taps_before(int64_t phase) const;  // of earlier phases
  bool inside(int64_t at) const;             // all its taps read inside the input
  void margins(int64_t* before, int64_t* after) const;
};

struct TransposedShape {
  int64_t n = 1, groups = 1;
  int64_t reads = 1, writes = 1;  // channels per group
  PhaseAxis axis[3];              // the last dims are the call's

  int64_t window() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
  int64_t plane() const { return axis[0].from * axis[1].from * axis[2].from; }
  int64_t pixels() const { return axis[0].size * axis[1].size * axis[2].size; }
};

// The result's bits do not depend on how the work is divided.
class TransposedConv {
 public:
  static bool fits(const TransposedShape& s);  // in 32-bit offsets, with scratch in proportion
  TransposedConv(const TileKernels& t, const TransposedShape& s, int threads);

  bool by_channel() const { return by_channel_; }
  int64_t unit() const { return unit_; }  // channels per panel of weights
  size_t packed_bytes() const;
  size_t scratch_bytes() const;
  size_t total_bytes() const { return byte_count(uint64_t{packed_bytes()} + scratch_bytes()); }
  // Packs w[groups * reads, writes, kernel...].
  void pack(const float* w, float* packed, ThreadPool* pool) const;
  // An input outside the image is an actual fma(w, 0, sum).
  void run(const float* x, const float* packed, const float* bias, float* y, float* scratch,
           ThreadPool* pool) const;
  // Packs the weights first: scratch has total_bytes.
  void run_unpacked(const float* x, const float* w, float* y, float* scratch,
                    ThreadPool* pool) const {
    pack(w, scratch, pool);
    run(x, scratch, nullptr, y, scratch + packed_bytes() / sizeof(float), pool);
  }
  // Corrects y for callers whose order has no padded steps: a padded step changes a sum only from
  // -0 to +0, or to NaN if a weight is not finite, so such outputs are computed again.
  void leave_out_padding(const float* x, const float* packed, const float* bias, float* y,
                         ThreadPool* pool) const;

 private:
  struct Phase {
    int64_t at[3];
    int64_t taps, taps_before;
  };
  int64_t phases() const { return s_.axis[1].phases() * s_.axis[2].phases(); }
  int64_t units() const { return s_.axis[0].size * phases() * s_.groups; }
  Phase phase_of(int64_t d, int64_t h, int64_t w) const;
  int64_t taps(int d, int64_t phase) const;
  int64_t taps_before(int d, int64_t phase) const;
  int64_t all_taps() const { return all_taps_[0] * all_taps_[1] * all_taps_[2]; }
  ConvTiles tiles(int64_t unit, const float* image, const int32_t* offset, const float* packed,
                  const float* bias, float* y) const;
  void fill_table(int32_t* offset) const;
  void pad(const float* x, float* image) const;
  float output(const float* x, const float* packed, const float* bias, int64_t channel,
               const int64_t* at) const;

  const TileKernels& t_;
  TransposedShape s_;
  int threads_;
  bool by_channel_ = false, padded_ = true, by_image_ = false;
  int64_t unit_ = 1, block_ = 1;
  int64_t before_[3] = {}, image_[3] = {1, 1, 1};  // margins; sizes including them
  int64_t channel_floats_ = 0, image_floats_ = 0, tile_floats_ = 0;
  // The taps of each phase of a dim, where phases are few; of all earlier phases; and of all
  // phases.
  static constexpr int64_t kTable = 32;
  int32_t taps_[3][kTable] = {}, taps_before_[3][kTable + 1] = {};
  int64_t all_taps_[3] = {1, 1, 1};
};

}  // namespace wick
