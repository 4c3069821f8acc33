// Convolutions and pools share this: windows over the height and the width of planes.
#pragma once

#include "exporter/tflite/read/read.h"
#include "runtime/ops/attrs/pool.h"

namespace wick::tflite {

// One dim of a window: the size of the kernel, its step and the distance of its elements.
struct Reach {
  int64_t kernel = 1, stride = 1, dilation = 1;
};

// Returns how many elements SAME adds to a dim of so many: as many windows as strides fit.
int64_t same_padding(int64_t size, const Reach& r);

// Returns the pads of height and width, begins first: none for VALID; for SAME half of what it
// adds, an odd element behind. `height` and `width` are those of the tensor that is padded.
IntList<6> window_pads(const ReadCtx& c, fbs::Padding padding, int64_t height, int64_t width,
                       const Reach& h, const Reach& w);

}  // namespace wick::tflite
