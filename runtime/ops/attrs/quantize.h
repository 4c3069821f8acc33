// Attributes of quantization and of bit casts.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct BitCastAttrs {
  int64_t to = static_cast<int64_t>(DType::kU8);
};  // a DType
WICK_ATTR_FIELDS(BitCastAttrs, WICK_FIELD(BitCastAttrs, 1, to).up_to(kDTypeCount - 1, 1));

// A scale serves the whole tensor, one index of `axis`, or block_size > 0 consecutive indices of
// it.
struct QuantizeAttrs {
  int64_t axis = 1, saturate = 1, block_size = 0;
  int64_t output_dtype = 0;  // a DType; 0: the zero point's, or uint8 without one
  int64_t precision = 0;     // the DType in which x is divided; 0: the scale's
};
WICK_ATTR_FIELDS(QuantizeAttrs, WICK_FIELD(QuantizeAttrs, 1, axis),
                 WICK_FIELD(QuantizeAttrs, 2, saturate), WICK_FIELD(QuantizeAttrs, 3, block_size),
                 WICK_FIELD(QuantizeAttrs, 4, output_dtype).up_to(kDTypeCount - 1),
                 WICK_FIELD(QuantizeAttrs, 5, precision).up_to(kDTypeCount - 1));

struct DequantizeAttrs {
  int64_t axis = 1, block_size = 0;
  int64_t output_dtype = 0;  // a DType; 0: the scale's
};
WICK_ATTR_FIELDS(DequantizeAttrs, WICK_FIELD(DequantizeAttrs, 1, axis),
                 WICK_FIELD(DequantizeAttrs, 2, block_size),
                 WICK_FIELD(DequantizeAttrs, 3, output_dtype).up_to(kDTypeCount - 1));

// Each run of block_size weights in a row of K has its own scale (and zero point); the last block
// may be shorter.
struct BlockLinearAttrs {
  int64_t block_size = 32;  // a power of two from 16 to 256
  int64_t zero_point = 0;   // of every block, where there is no such input
};
WICK_ATTR_FIELDS(BlockLinearAttrs, WICK_FIELD(BlockLinearAttrs, 1, block_size),
                 WICK_FIELD(BlockLinearAttrs, 2, zero_point));

}  // namespace wick
