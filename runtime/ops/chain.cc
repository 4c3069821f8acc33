#include "runtime/ops/chain.h"

namespace wick {

ChainOp chain_op(OpId op) {
  switch (op) {
    case OpId::kRelu:
    case OpId::kSigmoid:
    case OpId::kTanh:
    case OpId::kGelu:
    case OpId::kSilu:
    case OpId::kHardSwish:
    case OpId::kSoftplus:
    case OpId::kExp:
    case OpId::kLog:
    case OpId::kSqrt:
    case OpId::kReciprocal:
    case OpId::kErf:
    case OpId::kSin:
    case OpId::kCos:
    case OpId::kNeg:
    case OpId::kAbs:
    case OpId::kFloor:
    case OpId::kCeil:
    case OpId::kRound:
    case OpId::kSign:
    case OpId::kLog1p:
    case OpId::kExpm1: return {ChainKind::kUnary, 1, 0};
    case OpId::kLeakyRelu:
    case OpId::kElu: return {ChainKind::kUnary, 2, 1};
    case OpId::kHardSigmoid:
    case OpId::kClip: return {ChainKind::kUnary, 3, 2};
    case OpId::kAdd:
    case OpId::kSub:
    case OpId::kMul:
    case OpId::kDiv:
    case OpId::kPow:
    case OpId::kMax:
    case OpId::kMin: return {ChainKind::kBinary, 2, 0};
    case OpId::kEqual:
    case OpId::kLess:
    case OpId::kLessOrEqual:
    case OpId::kGreater:
    case OpId::kGreaterOrEqual: return {ChainKind::kCompare, 2, 0};
    case OpId::kNot: return {ChainKind::kNot, 1, 0};
    case OpId::kAnd:
    case OpId::kOr:
    case OpId::kXor: return {ChainKind::kLogic, 2, 0};
    case OpId::kWhere: return {ChainKind::kWhere, 3, 0};
    case OpId::kCast: return {ChainKind::kCast, 1, 0};
    case OpId::kReduceSum:
    case OpId::kReduceMean:
    case OpId::kReduceMax:
    case OpId::kReduceMin: return {ChainKind::kReduce, 1, 0};
    default: return {};
  }
}

Status check_chain(const ChainAttrs& attrs, size_t inputs) {
  const int64_t steps = attrs.steps.count, constants = attrs.constants.count;
  if (steps < 1 || inputs < 1 || inputs > kChainInputs) {
    return error(Code::kInvalidArgument,
                 "a chain has 1 to %d steps and 1 to %d inputs, got %lld and %zu", kChainSteps,
                 kChainInputs, static_cast<long long>(steps), inputs);
  }
  bool read_input[kChainInputs] = {}, read_step[kChainSteps] = {};
  for (int64_t i = 0; i < steps; ++i) {
    const ChainStep s = chain_step(attrs.steps[i]);
    const auto at = static_cast<int>(i);
    if (s.what.kind == ChainKind::kNone || attrs.steps[i] >> 41 != 0) {
      return error(Code::kInvalidArgument, "step %d of a chain is no op that can be one", at);
    }
    for (int k = 0; k < s.what.operands; ++k) {
      const int o = s.operand[k];
      const bool constant = o >= kChainFirstConstant && o < kChainFirstStep;
      if (k >= s.what.operands - s.what.parameters && !constant) {
        return error(Code::kInvalidArgument, "step %d of a chain: parameter %d is no constant", at,
                     k);
      }
      if (constant               ? o - kChainFirstConstant >= constants
          : o >= kChainFirstStep ? o - kChainFirstStep >= at
                                 : o >= static_cast<int>(inputs)) {
        return error(Code::kInvalidArgument,
                     "step %d of a chain reads operand %d, which is not there", at, o);
      }
      if (o >= kChainFirstStep) read_step[o - kChainFirstStep] = true;
      if (o < kChainFirstConstant) read_input[o] = true;
    }
  }
  for (int64_t i = 0; i < static_cast<int64_t>(inputs); ++i) {
    if (!read_input[i]) {
      return error(Code::kInvalidArgument, "no step of the chain reads input %d",
                   static_cast<int>(i));
    }
  }
  for (int64_t i = 0; i + 1 < steps; ++i) {
    if (!read_step[i]) {
      return error(Code::kInvalidArgument, "nothing reads step %d of the chain",
                   static_cast<int>(i));
    }
  }
  return {};
}

AnyAttrs chain_step_attrs(const ChainAttrs& attrs, const ChainStep& step, int rank, DType real) {
  const auto parameter = [&](int k) { return chain_constant(attrs, step.operand[k]); };
  switch (step.op) {
    case OpId::kGelu: return AnyAttrs::of(GeluAttrs{step.flag});
    case OpId::kLeakyRelu: return AnyAttrs::of(LeakyReluAttrs{parameter(1)});
    case OpId::kElu: return AnyAttrs::of(EluAttrs{parameter(1)});
    case OpId::kHardSigmoid: return AnyAttrs::of(HardSigmoidAttrs{parameter(1), parameter(2)});
    case OpId::kClip: return AnyAttrs::of(ClipAttrs{parameter(1), parameter(2)});
    case OpId::kCast: return AnyAttrs::of(CastAttrs{static_cast<int64_t>(real)});
    default: break;
  }
  if (step.what.kind != ChainKind::kReduce) return AnyAttrs::of(NoAttrs{});
  ReduceAttrs a;
  for (int64_t d = attrs.row_dims; d > 0; --d) a.axes.values[a.axes.count++] = rank - d;
  return AnyAttrs::of(a);
}

ChainSlots chain_slots(const ChainAttrs& attrs) {
  const int64_t steps = attrs.steps.count;
  int64_t last[kChainSteps] = {};
  for (int64_t i = 0; i < steps; ++i) {
    const ChainStep s = chain_step(attrs.steps[i]);
    for (int k = 0; k < s.what.operands; ++k) {
      if (s.operand[k] >= kChainFirstStep) last[s.operand[k] - kChainFirstStep] = i;
    }
  }
  ChainSlots slots;
  int64_t busy_until[kChainSteps] = {};  // by slot
  for (int64_t i = 0; i + 1 < steps; ++i) {
    int slot = 0;
    while (slot < slots.count && busy_until[slot] >= i) ++slot;
    if (slot == slots.count) ++slots.count;
    busy_until[slot] = last[i];
    slots.of[i] = static_cast<int8_t>(slot);
  }
  slots.of[steps - 1] = -1;
  return slots;
}

}  // namespace wick
