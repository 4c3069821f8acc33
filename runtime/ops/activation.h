// The activations that the epilogue of a product may apply, and the ops that compute them alone.
#pragma once

#include <cstddef>

#include "runtime/ops/attrs/conv.h"
#include "runtime/ops/op_id.h"

namespace wick {

struct ActivationRow {
  Activation activation;
  OpId op;
  int64_t flag = 0;    // required value of the op's integer attribute: Gelu's form
  bool times = false;  // the value times that op of it, which are two ops
};
inline constexpr ActivationRow kActivations[] = {
    {Activation::kRelu, OpId::kRelu},
    {Activation::kClip, OpId::kClip},
    {Activation::kLeakyRelu, OpId::kLeakyRelu},
    {Activation::kSigmoid, OpId::kSigmoid},
    {Activation::kTanh, OpId::kTanh},
    {Activation::kSilu, OpId::kSilu},
    {Activation::kHardSwish, OpId::kHardSwish},
    {Activation::kGeluErf, OpId::kGelu, 0},
    {Activation::kGeluTanh, OpId::kGelu, 1},
    {Activation::kHardSigmoid, OpId::kHardSigmoid},
    {Activation::kTimesSigmoid, OpId::kSigmoid, 0, true},
    {Activation::kTimesHardSigmoid, OpId::kHardSigmoid, 0, true},
};
static_assert(sizeof(kActivations) / sizeof(kActivations[0]) ==
                  static_cast<size_t>(Activation::kLast),
              "a row for each activation but kNone");

}  // namespace wick
