// Attributes of variants of convolution and pooling.
#pragma once

#include "runtime/ops/attrs/conv.h"
#include "runtime/ops/attrs/pool.h"

namespace wick {

struct MaxPoolIndicesAttrs {
  PoolAttrs pool;
  int64_t storage_order = 0;  // 1: indices are column-major within a plane
};
WICK_ATTR_FIELDS(MaxPoolIndicesAttrs,
                 WICK_NESTED(MaxPoolIndicesAttrs, 1, pool, PoolAttrs, kernel_shape),
                 WICK_NESTED(MaxPoolIndicesAttrs, 2, pool, PoolAttrs, strides),
                 WICK_NESTED(MaxPoolIndicesAttrs, 3, pool, PoolAttrs, dilations),
                 WICK_NESTED(MaxPoolIndicesAttrs, 4, pool, PoolAttrs, pads),
                 WICK_NESTED(MaxPoolIndicesAttrs, 5, pool, PoolAttrs, ceil_mode),
                 WICK_FIELD(MaxPoolIndicesAttrs, 6, storage_order).up_to(1));

struct LpPoolAttrs {
  PoolAttrs pool;
  int64_t p = 2;
};
WICK_ATTR_FIELDS(LpPoolAttrs, WICK_NESTED(LpPoolAttrs, 1, pool, PoolAttrs, kernel_shape),
                 WICK_NESTED(LpPoolAttrs, 2, pool, PoolAttrs, strides),
                 WICK_NESTED(LpPoolAttrs, 3, pool, PoolAttrs, dilations),
                 WICK_NESTED(LpPoolAttrs, 4, pool, PoolAttrs, pads),
                 WICK_NESTED(LpPoolAttrs, 5, pool, PoolAttrs, ceil_mode),
                 WICK_FIELD(LpPoolAttrs, 6, p));

enum class AutoPad : int64_t { kExplicit = 0, kSameUpper = 1, kSameLower = 2 };
struct ConvTransposeAttrs {
  ConvAttrs conv;
  IntList<3> output_padding;
  IntList<3> output_shape;  // spatial; where it is given the pads follow from it
  // An AutoPad: on which side an odd pad is larger, and whether output_shape is x * stride.
  int64_t auto_pad = 0;
};
WICK_ATTR_FIELDS(ConvTransposeAttrs, WICK_NESTED(ConvTransposeAttrs, 1, conv, ConvAttrs, strides),
                 WICK_NESTED(ConvTransposeAttrs, 2, conv, ConvAttrs, dilations),
                 WICK_NESTED(ConvTransposeAttrs, 3, conv, ConvAttrs, pads),
                 WICK_NESTED(ConvTransposeAttrs, 4, conv, ConvAttrs, group),
                 WICK_FIELD(ConvTransposeAttrs, 5, output_padding),
                 WICK_FIELD(ConvTransposeAttrs, 6, output_shape),
                 WICK_FIELD(ConvTransposeAttrs, 7, auto_pad).up_to(AutoPad::kSameLower));

struct Col2ImAttrs {
  IntList<6> strides, dilations;
  IntList<12> pads;
};
WICK_ATTR_FIELDS(Col2ImAttrs, WICK_FIELD(Col2ImAttrs, 1, strides),
                 WICK_FIELD(Col2ImAttrs, 2, dilations), WICK_FIELD(Col2ImAttrs, 3, pads));

struct DeformConvAttrs {
  ConvAttrs conv;
  int64_t offset_group = 1;
};
WICK_ATTR_FIELDS(DeformConvAttrs, WICK_NESTED(DeformConvAttrs, 1, conv, ConvAttrs, strides),
                 WICK_NESTED(DeformConvAttrs, 2, conv, ConvAttrs, dilations),
                 WICK_NESTED(DeformConvAttrs, 3, conv, ConvAttrs, pads),
                 WICK_NESTED(DeformConvAttrs, 4, conv, ConvAttrs, group),
                 WICK_FIELD(DeformConvAttrs, 5, offset_group));

}  // namespace wick
