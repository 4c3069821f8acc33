// FusedElementwise as one dispatch; longer chains, and those with reductions or bools, are left to
// the calls that expand.cc makes.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/ops/rules/chain-inl.h"

namespace wick::vulkan {
namespace {

constexpr int kDims = 4;  // as many as the push constants hold

// The shader function of a step; alpha and beta of a unary one.
struct Function {
  uint32_t number = 0;
  uint32_t alpha = 0, beta = 0;  // bits
};

Result<Function> function_of(const ChainAttrs& chain, const ChainStep& step, Lowered& scratch) {
  Function f;
  const VulkanRow& row = vulkan_row(step.op);
  if (row.function.binary >= 0) {
    f.number = WICK_CHAIN_BINARY + static_cast<uint32_t>(row.function.binary);
    return f;
  }
  if (row.function.point >= 0) {
    f.number = WICK_CHAIN_POINT + static_cast<uint32_t>(row.function.point);
    return f;
  }
  if (step.what.kind != ChainKind::kUnary || row.lower == nullptr)
    return unsupported("no shader for this step");
  TensorView views[] = {TensorView(nullptr, DType::kF32, Shape{1}),
                        TensorView(nullptr, DType::kF32, Shape{1})};
  const AnyAttrs attrs = chain_step_attrs(chain, step, 1, DType::kF32);
  OpCall one;
  one.op = step.op;
  one.attrs = attrs.get();
  one.in = {views, 1};
  one.out = {views + 1, 1};
  scratch.dispatches.clear();
  WICK_TRY(row.lower(one, scratch));
  const Dispatch& d = scratch.dispatches[0];
  // The shader does not have all functions of unary ops.
  if (d.shader != ShaderId::k_unary_f32) return unsupported("no shader for this step");
  f.number = d.spec[0];
  f.alpha = d.push[1];
  f.beta = d.push[2];
  return f;
}

uint32_t place_of(int operand) {
  return static_cast<uint32_t>(
      operand >= kChainFirstStep       ? WICK_CHAIN_STEP + operand - kChainFirstStep
      : operand >= kChainFirstConstant ? WICK_CHAIN_CONSTANT + operand - kChainFirstConstant
                                       : operand);
}

// Adds the dims of the result, with neighbours merged where all operands step through two as
// through one.
Status add_walk(const OpCall& call, Dispatch& d) {
  const Shape& y = call.out[0].shape;
  int64_t dims[kMaxRank] = {}, strides[WICK_CHAIN_INPUTS][kMaxRank] = {};
  int rank = 0;
  for (int i = 0; i < y.rank(); ++i) {
    if (y[i] == 1) continue;
    int64_t own[WICK_CHAIN_INPUTS] = {};
    for (size_t k = 0; k < call.in.size(); ++k) {
      const Shape& s = call.in[k].shape;
      const int at = i - (y.rank() - s.rank());
      own[k] = at < 0 || s[at] == 1 ? 0 : contiguous_strides(s)[at];
    }
    bool merge = rank > 0;
    for (size_t k = 0; k < call.in.size(); ++k)
      merge = merge && strides[k][rank - 1] == own[k] * y[i];
    if (!merge) dims[rank++] = 1;
    dims[rank - 1] *= y[i];
    for (size_t k = 0; k < call.in.size(); ++k) strides[k][rank - 1] = own[k];
  }
  if (rank > kDims) return unsupported("too many dims that do not merge");
  add_spec(d, static_cast<uint32_t>(rank));
  add_push(d, call.out[0].numel());
  for (int i = 0; i < kDims; ++i) add_push(d, i < rank ? dims[i] : 1);
  for (const auto& of_input : strides) {
    for (int i = 0; i < kDims; ++i) add_push(d, of_input[i]);
  }
  return {};
}

}  // namespace

static Status lower_chain(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const ChainAttrs*>(call.attrs);
  if (call.in.size() > WICK_CHAIN_INPUTS || a.steps.count > WICK_CHAIN_STEPS ||
      a.constants.count > WICK_CHAIN_CONSTANTS)
    return unsupported("a chain of more than a shader takes");
  const ShaderId shader =
      a.steps.count <= WICK_CHAIN_SHORT ? ShaderId::k_chain_short : ShaderId::k_chain;
  Dispatch d = flat_dispatch(shader, call.out[0].numel());
  WICK_TRY(add_walk(call, d));
  add_spec(d, static_cast<uint32_t>(call.in.size()));
  add_spec(d, static_cast<uint32_t>(a.steps.count));
  for (int i = 0; i < WICK_CHAIN_CONSTANTS; ++i) {
    const bool given = i < static_cast<int>(a.constants.count);
    const float v = given ? static_cast<float>(chain_constant(a, kChainFirstConstant + i)) : 0;
    WICK_TRY(out.table.push_back(std::bit_cast<uint32_t>(v)));
  }
  Lowered scratch(out.dispatches.allocator());
  for (int64_t i = 0; i < a.steps.count; ++i) {
    const ChainStep step = chain_step(a.steps[i]);
    if (step.what.kind == ChainKind::kReduce) return unsupported("a chain that reduces");
    WICK_ASSIGN(const Function f, function_of(a, step, scratch));
    uint32_t word = f.number;
    for (int k = 0; k < step.what.operands - step.what.parameters; ++k)
      word |= place_of(step.operand[k]) << (8 + 6 * k);
    add_spec(d, word);
    WICK_TRY(out.table.push_back(f.alpha));
    WICK_TRY(out.table.push_back(f.beta));
  }
  for (int i = 0; i < WICK_CHAIN_INPUTS; ++i)
    add_operand(d, i < static_cast<int>(call.in.size()) ? i : 0);
  add_operand(d, out_operand(0));
  add_operand(d, kTableOperand);
  return out.dispatches.push_back(d);
}

WICK_VULKAN(FusedElementwise, {.lower = lower_chain});

}  // namespace wick::vulkan
