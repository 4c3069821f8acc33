// Computes the outputs of a convolution in blocked layout, task after task of its BlockedCut.
#pragma once

#include "runtime/core/function_ref.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/blocked/blocked_cut.h"
#include "runtime/kernels/epilogue.h"

namespace wick {

// Returns whether the tiles can apply the epilogue up to the activation; other activations are
// applied afterwards.
inline bool in_registers(const Epilogue& e) { return e.act != Activation::kLeakyRelu; }

// Applies the rest of the epilogue to `count` pixels of some blocks with stride y_vector.
void finish_blocks(const TileKernels& tiles, int64_t block, const Epilogue& e, int64_t channel,
                   int64_t channels, int vectors, float* y, int64_t y_vector, int64_t count);

// The sums of some channels for `count` pixels from `first` on, block after block.
struct BlockedSums {
  int64_t image, first, count;
  int64_t channel, channels;
  float* sums;
  int64_t step;  // between blocks
};

struct BlockedCall {
  const TileKernels& tiles;
  const BlockedKernels& t;
  const BlockedCut& c;
  const float *x, *weights;
  float* y;
  const Epilogue& epilogue;
  bool leaves_out = false;  // products of padding, as the cut has it
  // Takes the sums of a plain output; null: they are transposed to y.
  const FunctionRef<void(const BlockedSums&)>* take = nullptr;

  static int64_t scratch_floats(const BlockedCut& c, int threads);
  void run(ThreadPool* pool, int threads, float* scratch) const;

 private:
  struct Band;
  void task(int64_t task, float* scratch) const;
  const float* source(Band& b, const BlockedPlanes& planes) const;
  void panel(Band& b, int64_t at, bool third, float* sums) const;
  template <class F>
  void each_area(const Band& b, BlockedArea r, Epilogue end, F f) const;
  void turn(const Band& b, int64_t at, int64_t panels, float* sums) const;
};

}  // namespace wick
