// Attributes of convolutions and of their fused epilogues.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

// The order in which an op adds products (docs/numerics.md, "Numerics that a model chooses"). A
// program states it for each node. Files contain these values: append only.
enum class Products : int64_t {
  kExact = 0,
  kWinograd = 1,  // Conv and FusedConv where takes_winograd() says so; elsewhere kExact
  kBf16 = 2,      // operands rounded to bf16, where takes_pairs() says so; elsewhere kExact
  kLast = kBf16,
};

// The last function of a fused epilogue. Files contain these values: append only.
enum class Activation : int64_t {
  kNone = 0,
  kRelu = 1,
  kClip = 2 /* to [alpha, beta] */,
  kLeakyRelu = 3 /* alpha */,
  kSigmoid = 4,
  kTanh = 5,
  kSilu = 6,
  kHardSwish = 7,
  kGeluErf = 8,
  kGeluTanh = 9,
  kHardSigmoid = 10,      /* alpha, beta */
  kTimesSigmoid = 11,     /* y sigmoid(y), each rounded: SiLU in two steps */
  kTimesHardSigmoid = 12, /* y hard_sigmoid(y), of alpha and beta */
  kLast = kTimesHardSigmoid,
};
struct EpilogueAttrs {
  int64_t activation = 0;  // an Activation
  double alpha = 0, beta = 0;
  int64_t products = 0;  // a Products, of FusedLinear and FusedMatMul
};
WICK_ATTR_FIELDS(EpilogueAttrs, WICK_FIELD(EpilogueAttrs, 1, activation).up_to(Activation::kLast),
                 WICK_FIELD(EpilogueAttrs, 2, alpha), WICK_FIELD(EpilogueAttrs, 3, beta),
                 WICK_FIELD(EpilogueAttrs, 4, products).up_to(Products::kLast));

// Spatial lists have one entry per spatial dim (1 to 3); empty means all ones (pads: zeros).
struct ConvAttrs {
  IntList<3> strides, dilations;
  IntList<6> pads;  // in ONNX's order: all begins, then all ends
  int64_t group = 1;
  int64_t products = 0;  // a Products; only Conv and FusedConv read it
};
WICK_ATTR_FIELDS(ConvAttrs, WICK_FIELD(ConvAttrs, 1, strides), WICK_FIELD(ConvAttrs, 2, dilations),
                 WICK_FIELD(ConvAttrs, 3, pads), WICK_FIELD(ConvAttrs, 4, group),
                 WICK_FIELD(ConvAttrs, 5, products).up_to(Products::kLast));

struct FusedConvAttrs {
  ConvAttrs conv;
  EpilogueAttrs epilogue;
};
WICK_ATTR_FIELDS(
    FusedConvAttrs, WICK_NESTED(FusedConvAttrs, 1, conv, ConvAttrs, strides),
    WICK_NESTED(FusedConvAttrs, 2, conv, ConvAttrs, dilations),
    WICK_NESTED(FusedConvAttrs, 3, conv, ConvAttrs, pads),
    WICK_NESTED(FusedConvAttrs, 4, conv, ConvAttrs, group),
    WICK_NESTED(FusedConvAttrs, 5, epilogue, EpilogueAttrs, activation).up_to(Activation::kLast),
    WICK_NESTED(FusedConvAttrs, 6, epilogue, EpilogueAttrs, alpha),
    WICK_NESTED(FusedConvAttrs, 7, epilogue, EpilogueAttrs, beta),
    WICK_NESTED(FusedConvAttrs, 8, conv, ConvAttrs, products).up_to(Products::kLast));

struct ConvGradAttrs {
  ConvAttrs conv;
  IntList<3>
      spatial;  // of the result: x's spatial size (ConvInputGrad), the kernel size (ConvWeightGrad)
};
WICK_ATTR_FIELDS(ConvGradAttrs, WICK_NESTED(ConvGradAttrs, 1, conv, ConvAttrs, strides),
                 WICK_NESTED(ConvGradAttrs, 2, conv, ConvAttrs, dilations),
                 WICK_NESTED(ConvGradAttrs, 3, conv, ConvAttrs, pads),
                 WICK_NESTED(ConvGradAttrs, 4, conv, ConvAttrs, group),
                 WICK_FIELD(ConvGradAttrs, 5, spatial));

}  // namespace wick
