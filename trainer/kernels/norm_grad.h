// The gradients of layer norm and group norm, one pass over the rows, for one SIMD target.
#pragma once

#include <cstdint>

namespace wick {

// Layer norm: rows of n elements. Sums over the rows are made in 16 lanes, row r in lane r mod 16,
// and the rows of a lane are computed together, so that they need no order between threads.
struct LayerNormGradRows {
  const float *g, *x, *w;
  int64_t g_step;  // from a row of g to the next: n, or 0 where all are one
  float* dx;
  int64_t n;
  float epsilon;
  float *weight, *bias;  // the lanes, kSumLanes rows of `step` floats each
  int64_t step;          // n rounded up to whole vectors
};
// Group norm: rows of n elements, `runs` channels each, which repeat after `groups` rows.
struct GroupNormGradRows {
  const float *g, *x, *w;
  int64_t g_step;
  float* dx;
  int64_t n, runs, groups;
  float epsilon;
  float *mean, *root;  // of each row
};

struct NormGradBodies {
  // Rows [begin, end) of one block that belong to lanes [lane, lane + lanes): their dx, and their
  // part of the sums. `lines` has `lanes` rows of `step` floats.
  void (*layer)(const LayerNormGradRows& s, int64_t begin, int64_t end, int lane, int lanes,
                float* lines);
  // Adds a block's lanes to the gradients of weight and bias, elements [begin, end).
  void (*layer_sums)(const LayerNormGradRows& s, int64_t begin, int64_t end, float* dw, float* db);
  // Rows [begin, end): dx, mean and root.
  void (*group)(const GroupNormGradRows& s, int64_t begin, int64_t end);
  // The gradients of weight and bias of channels [begin, end), from mean and root, for n images.
  void (*group_sums)(const GroupNormGradRows& s, int64_t images, int64_t begin, int64_t end,
                     float* dw, float* db);
};

}  // namespace wick
