#pragma once

#include "runtime/ops/chain.h"
#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

// The dtype and the shape of each step's result, as if each step were a node.
template <class D>
struct ChainTypes {
  BasicShape<D> shape[kChainSteps];
  bool is_bool[kChainSteps] = {};
};

template <class D>
Status chain_types(const ChainAttrs& a, Span<const ValueInfo<D>> in, ChainTypes<D>* out) {
  WICK_TRY(check_chain(a, in.size()));
  DType real = DType::kNone;  // the dtype of everything that is not a bool
  for (const ValueInfo<D>& v : in) {
    if (v.dtype == DType::kBool) continue;
    WICK_TRY(need_float(v));
    if (real != DType::kNone && v.dtype != real) {
      return error(Code::kTypeMismatch, "inputs must have one dtype, got %s and %s",
                   dtype_name(real), dtype_name(v.dtype));
    }
    real = v.dtype;
  }
  if (real == DType::kNone) return error(Code::kTypeMismatch, "a chain of bools alone");
  for (int64_t i = 0; i < a.steps.count; ++i) {
    const ChainStep s = chain_step(a.steps[i]);
    BasicShape<D> shape, operand;
    for (int k = 0; k < s.what.operands; ++k) {
      const int o = s.operand[k];
      bool is_bool = false;
      operand = BasicShape<D>();
      if (o >= kChainFirstStep) {
        operand = out->shape[o - kChainFirstStep];
        is_bool = out->is_bool[o - kChainFirstStep];
      } else if (o < kChainFirstConstant) {
        operand = in[static_cast<size_t>(o)].shape;
        is_bool = in[static_cast<size_t>(o)].dtype == DType::kBool;
      }
      const bool wanted = s.what.kind == ChainKind::kNot || s.what.kind == ChainKind::kLogic ||
                          s.what.kind == ChainKind::kCast ||
                          (s.what.kind == ChainKind::kWhere && k == 0);
      if (is_bool != wanted) {
        return error(Code::kTypeMismatch, "step %d of the chain: operand %d must%s be bool",
                     static_cast<int>(i), k, wanted ? "" : " not");
      }
      WICK_TRY(broadcast(shape, operand, &shape));
    }
    if (s.what.kind == ChainKind::kReduce) {
      if (a.row_dims < 1 || a.row_dims > shape.rank()) {
        return error(Code::kInvalidArgument, "a chain reduces %lld dims of %s",
                     static_cast<long long>(a.row_dims), to_text(shape).text);
      }
      for (int d = shape.rank() - static_cast<int>(a.row_dims); d < shape.rank(); ++d)
        shape[d] = D(1);
    }
    out->shape[i] = shape;
    out->is_bool[i] = s.what.kind == ChainKind::kCompare || s.what.kind == ChainKind::kNot ||
                      s.what.kind == ChainKind::kLogic;
  }
  // A reduction must read a whole row of the output.
  const BasicShape<D>& whole = out->shape[a.steps.count - 1];
  for (int64_t i = 0; i < a.steps.count; ++i) {
    const ChainStep s = chain_step(a.steps[i]);
    if (s.what.kind != ChainKind::kReduce) continue;
    const int o = s.operand[0];
    if (o >= kChainFirstConstant && o < kChainFirstStep) {
      return error(Code::kInvalidArgument, "a chain reduces a constant");
    }
    const BasicShape<D>& from =
        o >= kChainFirstStep ? out->shape[o - kChainFirstStep] : in[static_cast<size_t>(o)].shape;
    for (int d = 1; d <= static_cast<int>(a.row_dims); ++d) {
      if (whole.rank() >= d &&
          dim_equal(from[from.rank() - d], whole[whole.rank() - d]) != Tri::kNo)
        continue;
      return error(Code::kShapeMismatch, "a chain reduces rows of %s, its result has those of %s",
                   to_text(from).text, to_text(whole).text);
    }
  }
  if (out->is_bool[a.steps.count - 1]) {
    return error(Code::kTypeMismatch, "a chain must not end in a bool");
  }
  return {};
}

template <class D>
Status fused_elementwise(RuleCtx<D>& c) {
  const auto& a = c.template as<ChainAttrs>();
  ChainTypes<D> types;
  WICK_TRY(chain_types<D>(a, c.in, &types));
  DType real = DType::kNone;
  for (const ValueInfo<D>& v : c.in) real = v.dtype == DType::kBool ? real : v.dtype;
  set_out(c, 0, real, types.shape[a.steps.count - 1]);
  return {};
}

}  // namespace wick::rules
