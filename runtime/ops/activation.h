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
// The row of an activation other than kNone.
constexpr const ActivationRow& row_of(Activation act) {
  return kActivations[static_cast<size_t>(act) - 1];
}
constexpr bool in_order() {
  for (const ActivationRow& row : kActivations) {
    if (&row_of(row.activation) != &row) return false;
  }
  return true;
}
static_assert(in_order(), "rows stand in the order of the enum");

}  // namespace wick
