#include "runtime/ops/chain.h"

namespace wick {

namespace {

// Counts the numeric attributes of an op: they become the parameters of its step.
int parameters_of(const OpInfo& info) {
  int n = 0;
  for (const AttrField& f : info.attrs->fields) n += f.kind == AttrKind::kFloat ? 1 : 0;
  return n;
}

}  // namespace

ChainOp chain_op(OpId op) {
  const OpInfo* info = find_op(op);
  if (info == nullptr || (info->flags & kChainStep) == 0) return {};
  switch (info->kind) {
    case OpKind::kUnary: {
      if (op == OpId::kNot) return {ChainKind::kNot, 1, 0};
      const int parameters = parameters_of(*info);
      return {ChainKind::kUnary, 1 + parameters, parameters};
    }
    case OpKind::kBinary: return {ChainKind::kBinary, 2, 0};
    case OpKind::kCompare: return {ChainKind::kCompare, 2, 0};
    case OpKind::kLogic: return {ChainKind::kLogic, 2, 0};
    case OpKind::kSelect: return {ChainKind::kWhere, 3, 0};
    case OpKind::kCast: return {ChainKind::kCast, 1, 0};
    case OpKind::kReduce: return {ChainKind::kReduce, 1, 0};
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
  AnyAttrs all;
  const AttrType& type = *find_op(step.op)->attrs;
  type.init(all.get());
  if (step.what.kind == ChainKind::kCast) all.as<CastAttrs>().to = static_cast<int64_t>(real);
  if (step.what.kind == ChainKind::kUnary) {
    int parameter = 0;
    for (const AttrField& f : type.fields) {
      if (f.kind == AttrKind::kInt) attr_int(f, all.get()) = step.flag;
      if (f.kind == AttrKind::kFloat)
        attr_float(f, all.get()) = chain_constant(attrs, step.operand[++parameter]);
    }
  }
  if (step.what.kind == ChainKind::kReduce) {
    auto& a = all.as<ReduceAttrs>();
    for (int64_t d = attrs.row_dims; d > 0; --d) a.axes.values[a.axes.count++] = rank - d;
  }
  return all;
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
