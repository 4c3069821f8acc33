// What every rule may rely on: the numbers of inputs and outputs that ops.def states.
#pragma once

#include "runtime/ops/rule.h"

namespace wick::rules {

template <class D>
Status check_arity(const RuleCtx<D>& c) {
  const OpInfo* info = find_op(c.op);
  if (info == nullptr) return error(Code::kUnsupported, "unknown op id %d", static_cast<int>(c.op));
  if (c.in.size() < info->min_inputs ||
      (info->max_inputs != 255 && c.in.size() > info->max_inputs)) {
    return error(Code::kInvalidArgument, "takes %d to %d inputs, got %zu", info->min_inputs,
                 info->max_inputs, c.in.size());
  }
  if (info->outputs != 255 && c.out.size() != info->outputs) {
    return error(Code::kInvalidArgument, "has %d outputs, got %zu", info->outputs, c.out.size());
  }
  for (size_t i = 0; i < info->min_inputs; ++i) {
    if (!c.in[i].present()) return error(Code::kInvalidArgument, "input %zu is required", i);
  }
  return {};
}

}  // namespace wick::rules
