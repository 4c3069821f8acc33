// Attributes of recurrent layers.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

// The activation functions of a recurrent cell. kDefault: Sigmoid for f, Tanh for g and h (f of a
// plain RNN: Tanh).
enum class RnnFunction : int64_t {
  kDefault = 0,
  kTanh = 1,
  kSigmoid = 2,
  kRelu = 3,
  kAffine = 4,
  kLeakyRelu = 5,
  kThresholdedRelu = 6,
  kScaledTanh = 7,
  kHardSigmoid = 8,
  kElu = 9,
  kSoftsign = 10,
  kSoftplus = 11,
};
struct RnnFunctionAttrs {
  int64_t kind = 0;  // an RnnFunction
  double alpha = 0, beta = 0;
};
struct RnnAttrs {
  int64_t hidden_size = 0;                  // 0: taken from the recurrence weights' shape
  int64_t direction = 0;                    // 0 forward, 1 reverse, 2 both
  int64_t layout = 0;                       // 0: [seq, batch, ...], 1: [batch, seq, ...]
  int64_t linear_before_reset = 0;          // GRU only
  int64_t input_forget = 0;                 // LSTM: the forget gate is 1 - the input gate
  double clip = 0;                          // limit of the gates' sums; 0: none
  RnnFunctionAttrs f, g, h;                 // named as in ONNX's equations
  RnnFunctionAttrs back_f, back_g, back_h;  // for the second direction
};
WICK_ATTR_FIELDS(RnnAttrs, WICK_FIELD(RnnAttrs, 1, hidden_size),
                 WICK_FIELD(RnnAttrs, 2, direction).up_to(2),
                 WICK_FIELD(RnnAttrs, 3, layout).up_to(1),
                 WICK_FIELD(RnnAttrs, 4, linear_before_reset),
                 WICK_FIELD(RnnAttrs, 5, input_forget), WICK_FIELD(RnnAttrs, 6, clip),
                 WICK_FIELD(RnnAttrs, 7, f.kind).up_to(RnnFunction::kSoftplus),
                 WICK_FIELD(RnnAttrs, 8, f.alpha), WICK_FIELD(RnnAttrs, 9, f.beta),
                 WICK_FIELD(RnnAttrs, 10, g.kind).up_to(RnnFunction::kSoftplus),
                 WICK_FIELD(RnnAttrs, 11, g.alpha), WICK_FIELD(RnnAttrs, 12, g.beta),
                 WICK_FIELD(RnnAttrs, 13, h.kind).up_to(RnnFunction::kSoftplus),
                 WICK_FIELD(RnnAttrs, 14, h.alpha), WICK_FIELD(RnnAttrs, 15, h.beta),
                 WICK_FIELD(RnnAttrs, 16, back_f.kind).up_to(RnnFunction::kSoftplus),
                 WICK_FIELD(RnnAttrs, 17, back_f.alpha), WICK_FIELD(RnnAttrs, 18, back_f.beta),
                 WICK_FIELD(RnnAttrs, 19, back_g.kind).up_to(RnnFunction::kSoftplus),
                 WICK_FIELD(RnnAttrs, 20, back_g.alpha), WICK_FIELD(RnnAttrs, 21, back_g.beta),
                 WICK_FIELD(RnnAttrs, 22, back_h.kind).up_to(RnnFunction::kSoftplus),
                 WICK_FIELD(RnnAttrs, 23, back_h.alpha), WICK_FIELD(RnnAttrs, 24, back_h.beta));

}  // namespace wick
