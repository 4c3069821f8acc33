// Runs FusedElementwise as one reference kernel after another, like the unfused graph.
#include "runtime/core/byte_count.h"
#include "runtime/kernels/prepared.h"
#include "runtime/kernels/reference/rows.h"
#include "runtime/ops/rules/chain-inl.h"

namespace wick {
namespace {

// X(Name) for each op that may be a step (chain_op); clang-format moves one at each run.
// clang-format off
#define WICK_CHAIN_OPS(X) \
  X(Relu) X(Sigmoid) X(Tanh) X(Gelu) X(Silu) X(HardSwish) X(Softplus) X(Exp) X(Log) X(Sqrt) \
  X(Reciprocal) X(Erf) X(Sin) X(Cos) X(Neg) X(Abs) X(Floor) X(Ceil) X(Round) X(Sign) X(Log1p) \
  X(Expm1) X(LeakyRelu) X(Elu) X(HardSigmoid) X(Clip) X(Add) X(Sub) X(Mul) X(Div) X(Pow) X(Max) \
  X(Min) X(PRelu) X(Equal) X(Less) X(LessOrEqual) X(Greater) X(GreaterOrEqual) X(Not) X(And) X(Or) \
  X(Xor) X(Where) X(Cast) X(ReduceSum) X(ReduceMean) X(ReduceMax) X(ReduceMin)
// clang-format on

Span<const KernelRow> rows_of(OpId op) {
  switch (op) {
#define X(Name) \
  case OpId::k##Name: return kRefRows_##Name;
    WICK_CHAIN_OPS(X)
#undef X
    default: return {};
  }
}

void store(DType dtype, double v, void* to) {
  switch (dtype) {
    case DType::kF64: *static_cast<double*>(to) = v; return;
    case DType::kF16: *static_cast<Half*>(to) = Half(static_cast<float>(v)); return;
    case DType::kBF16: *static_cast<BFloat16*>(to) = BFloat16(static_cast<float>(v)); return;
    default: *static_cast<float*>(to) = static_cast<float>(v); return;
  }
}

size_t slot_bytes(const TensorView& out) { return (out.nbytes() + 63) / 64 * 64; }

bool match(const KernelQuery& q) { return is_float(q.out[0].dtype); }

Status plan(const KernelQuery& q, KernelPlan* p) {
  p->scratch_bytes = byte_count(static_cast<uint64_t>(chain_slots(q.as<ChainAttrs>()).count) *
                                slot_bytes(q.out[0]));
  return {};
}

Status run_step(const KernelCtx& ctx, OpId op, const AnyAttrs& attrs, Span<const TensorView> in,
                TensorView& out) {
  KernelQuery query{op, attrs.get(), in, {&out, 1}, 1, nullptr};
  query.edition = ctx.edition;
  for (const KernelRow& row : rows_of(op)) {
    if (!row.match(query)) continue;
    PreparedKernel kernel;
    WICK_TRY(kernel.prepare(row, query));
    return kernel.run({ctx.pool}, op, in, {&out, 1}, attrs.get());
  }
  return error(Code::kUnsupported, "no kernel for %s in a chain", find_op(op)->name);
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& a = *static_cast<const ChainAttrs*>(attrs);
  const DType real = out[0].dtype;
  ValueInfo<int64_t> known[kChainInputs];
  for (size_t i = 0; i < in.size(); ++i) known[i] = {in[i].dtype, in[i].shape, nullptr, 0};
  rules::ChainTypes<int64_t> types;
  WICK_TRY(rules::chain_types<int64_t>(a, {known, in.size()}, &types));
  double constants[kChainConstants];
  for (int64_t i = 0; i < a.constants.count; ++i)
    store(real, chain_constant(a, kChainFirstConstant + static_cast<int>(i)), constants + i);
  const ChainSlots slots = chain_slots(a);
  TensorView made[kChainSteps];
  for (int64_t i = 0; i < a.steps.count; ++i) {
    const ChainStep s = chain_step(a.steps[i]);
    TensorView operand[3];
    const auto operands = static_cast<size_t>(s.what.operands - s.what.parameters);
    for (size_t k = 0; k < operands; ++k) {
      const int o = s.operand[k];
      operand[k] = o >= kChainFirstStep ? made[o - kChainFirstStep]
                   : o >= kChainFirstConstant
                       ? TensorView(constants + (o - kChainFirstConstant), real, Shape{})
                       : in[static_cast<size_t>(o)];
    }
    void* to = slots.of[i] < 0 ? out[0].data
                               : static_cast<char*>(ctx.scratch) +
                                     static_cast<size_t>(slots.of[i]) * slot_bytes(out[0]);
    made[i] = TensorView(to, types.is_bool[i] ? DType::kBool : real, types.shape[i]);
    WICK_TRY(run_step(ctx, s.op, chain_step_attrs(a, s, operand[0].rank(), real),
                      {operand, operands}, made[i]));
  }
  return {};
}

}  // namespace

WICK_REF_ROWS(FusedElementwise, {"fused_elementwise.ref", kContiguous, match, plan, nullptr, run});

}  // namespace wick
