// Quantizes a matrix with a scale for each block of a row.
#pragma once

#include "quantize/passes/gptq.h"
#include "quantize/qparams.h"

namespace wick::quantize {

struct BlockedWeight {
  HostTensor bytes;  // [rows, columns]
  HostTensor scale;  // [rows, blocks]: float16; float32 where that would overflow, or lose digits
                     // of a tiny one
  HostTensor zero;   // [rows, blocks], all 0 of symmetric integers
};

// Quantizes w, float32 [rows, columns] and finite. The last block of a row may be short. Integers
// are rounded to nearest by the scale as it is stored; for 4 bits the scale is, of 15 around the
// block's range, the one with the least squared error. With `moments` of the layer's inputs they
// are rounded by GPTQ instead, block by block, where the moments are finite.
BlockedWeight in_blocks(const HostTensor& w, DType dtype, bool symmetric, int64_t block,
                        const Moments* moments = nullptr);

}  // namespace wick::quantize
