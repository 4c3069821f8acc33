// Attributes of quantization, and of bits read as another dtype.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct BitCastAttrs {
  int64_t to = static_cast<int64_t>(DType::kU8);
};  // a DType
WICK_ATTR_FIELDS(BitCastAttrs, WICK_FIELD(BitCastAttrs, 1, to));

// A scale serves the whole tensor, one index of `axis`, or block_size > 0 of them in a row.
struct QuantizeAttrs {
  int64_t axis = 1, saturate = 1, block_size = 0;
  int64_t output_dtype = 0;  // a DType; 0: the zero point's, uint8 without one
  int64_t precision = 0;     // a DType: of the division; 0: the scale's
};
WICK_ATTR_FIELDS(QuantizeAttrs, WICK_FIELD(QuantizeAttrs, 1, axis),
                 WICK_FIELD(QuantizeAttrs, 2, saturate), WICK_FIELD(QuantizeAttrs, 3, block_size),
                 WICK_FIELD(QuantizeAttrs, 4, output_dtype),
                 WICK_FIELD(QuantizeAttrs, 5, precision));

struct DequantizeAttrs {
  int64_t axis = 1, block_size = 0;
  int64_t output_dtype = 0;  // a DType; 0: the scale's
};
WICK_ATTR_FIELDS(DequantizeAttrs, WICK_FIELD(DequantizeAttrs, 1, axis),
                 WICK_FIELD(DequantizeAttrs, 2, block_size),
                 WICK_FIELD(DequantizeAttrs, 3, output_dtype));

// A scale (and a zero point) for each block_size weights in a row of K; the last block may be
// short.
struct BlockLinearAttrs {
  int64_t block_size = 32;  // a power of two from 16 to 256
  int64_t zero_point = 0;   // of every block, where there is no input of them
};
WICK_ATTR_FIELDS(BlockLinearAttrs, WICK_FIELD(BlockLinearAttrs, 1, block_size),
                 WICK_FIELD(BlockLinearAttrs, 2, zero_point));

}  // namespace wick
