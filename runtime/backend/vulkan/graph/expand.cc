#include "runtime/backend/vulkan/graph/expand.h"

#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/ops/rules/chain-inl.h"

namespace wick::vulkan {
namespace {

// One call per step; intermediate results are in device memory like any other tensor.
Status expand_chain(const WholeCall& call, Builder& builder) {
  const auto& a = *static_cast<const ChainAttrs*>(call.attrs);
  if (call.in.size() > kChainInputs) return unsupported("too many inputs");
  ValueInfo<int64_t> known[kChainInputs];
  for (size_t i = 0; i < call.in.size(); ++i)
    known[i] = {call.in[i].dtype, call.in[i].shape, nullptr, 0};
  rules::ChainTypes<int64_t> types;
  WICK_TRY(rules::chain_types<int64_t>(a, {known, call.in.size()}, &types));
  const DType real = call.out[0].dtype;  // each step rounds to it
  TensorId constant[kChainConstants], made[kChainSteps];
  for (int i = 0; i < static_cast<int>(a.constants.count); ++i) {
    const double value = chain_constant(a, kChainFirstConstant + i);
    WICK_ASSIGN(constant[i], builder.constant(real, value));
  }
  for (int64_t i = 0; i < a.steps.count; ++i) {
    const ChainStep s = chain_step(a.steps[i]);
    TensorId in[3];
    const int operands = s.what.operands - s.what.parameters;
    for (int k = 0; k < operands; ++k) {
      const int o = s.operand[k];
      in[k] = o >= kChainFirstStep       ? made[o - kChainFirstStep]
              : o >= kChainFirstConstant ? constant[o - kChainFirstConstant]
                                         : call.in_ids[static_cast<size_t>(o)];
    }
    if (i + 1 == a.steps.count) {
      made[i] = call.out_ids[0];
    } else {
      WICK_ASSIGN(made[i],
                  builder.temporary(types.is_bool[i] ? DType::kBool : real, types.shape[i]));
    }
    const AnyAttrs attrs = chain_step_attrs(a, s, types.shape[i].rank(), real);
    WICK_TRY(builder.call(s.op, attrs.get(), {in, static_cast<size_t>(operands)}, {made + i, 1}));
  }
  return {};
}

// An intermediate tensor of an attention.
struct Part {
  TensorId id = 0;
  Shape shape;
};

class Attention {
 public:
  Attention(const WholeCall& call, Builder& builder)
      : call_(call), a_(*static_cast<const FusedAttentionAttrs*>(call.attrs)), builder_(builder) {}

  Status expand() {
    const int rank = call_.in[0].rank();
    Part q = input(0), k = input(1), v = input(2), scores, weights, result;
    WICK_TRY(transpose(q, a_.q_perm, false, nullptr));
    WICK_TRY(steps(0, q));
    WICK_TRY(transpose(k, a_.k_perm, true, nullptr));
    WICK_TRY(steps(1, k));
    WICK_TRY(transpose(v, a_.v_perm, false, nullptr));
    WICK_TRY(product(q, k, nullptr, &scores));
    WICK_TRY(steps(2, scores));
    weights.shape = scores.shape;
    WICK_TRY(add(OpId::kSoftmax, AxisAttrs{rank - 1}, {scores.id}, weights, nullptr));
    WICK_TRY(steps(3, weights));
    const bool turned = !identity(a_.out_perm, rank, false);
    WICK_TRY(product(weights, v, turned ? nullptr : call_.out_ids.data(), &result));
    return turned ? transpose(result, a_.out_perm, false, call_.out_ids.data()) : Status();
  }

 private:
  Part input(size_t i) const { return {call_.in_ids[i], call_.in[i].shape}; }

  // With `swap` the last two dims are exchanged after the permutation.
  static int from(const DimList& perm, int rank, bool swap, int i) {
    if (swap && i >= rank - 2) i = i == rank - 1 ? rank - 2 : rank - 1;
    return perm.empty() ? i : static_cast<int>(perm[i]);
  }
  static bool identity(const DimList& perm, int rank, bool swap) {
    for (int i = 0; i < rank; ++i) {
      if (from(perm, rank, swap, i) != i) return false;
    }
    return true;
  }

  // Adds one call, which computes part.id, or `*out` if that is given.
  template <class Attrs>
  Status add(OpId op, const Attrs& attrs, std::initializer_list<TensorId> in, Part& part,
             const TensorId* out) {
    if (out != nullptr) {
      part.id = *out;
    } else {
      WICK_ASSIGN(part.id, builder_.temporary(DType::kF32, part.shape));
    }
    return builder_.call(op, &attrs, {in.begin(), in.size()}, {&part.id, 1});
  }

  Status transpose(Part& x, const DimList& perm, bool swap, const TensorId* out) {
    const int rank = x.shape.rank();
    if (identity(perm, rank, swap) && out == nullptr) return {};
    TransposeAttrs attrs;
    Part y;
    for (int i = 0; i < rank; ++i) {
      attrs.perm.values[attrs.perm.count++] = from(perm, rank, swap, i);
      y.shape.push_back(x.shape[from(perm, rank, swap, i)]);
    }
    WICK_TRY(add(OpId::kTranspose, attrs, {x.id}, y, out));
    x = y;
    return {};
  }

  // x[..., heads, rows, k] times y[..., fewer heads, k, columns]: consecutive heads share one of
  // y's.
  Status product(const Part& x, const Part& y, const TensorId* out, Part* made) {
    const int rank = x.shape.rank();
    const int64_t heads = rank < 3 ? 1 : x.shape[rank - 3],
                  fewer = rank < 3 ? 1 : y.shape[rank - 3];
    made->shape = x.shape;
    made->shape[rank - 1] = y.shape[rank - 1];
    if (heads == fewer || fewer == 1)
      return add(OpId::kMatMul, NoAttrs{}, {x.id, y.id}, *made, out);
    if (rank + 1 > kMaxRank) return unsupported("an attention of too many dims");
    Part left, right, split;
    left.shape = grouped(x.shape, fewer, heads / fewer);
    right.shape = grouped(y.shape, fewer, 1);
    split.shape = left.shape;
    split.shape[rank] = y.shape[rank - 1];
    WICK_TRY(add(OpId::kReshape, ReshapeAttrs{}, {x.id}, left, nullptr));
    WICK_TRY(add(OpId::kReshape, ReshapeAttrs{}, {y.id}, right, nullptr));
    WICK_TRY(add(OpId::kMatMul, NoAttrs{}, {left.id, right.id}, split, nullptr));
    return add(OpId::kReshape, ReshapeAttrs{}, {split.id}, *made, out);
  }
  static Shape grouped(const Shape& s, int64_t heads, int64_t each) {
    Shape g;
    for (int i = 0; i + 3 < s.rank(); ++i) g.push_back(s[i]);
    g.push_back(heads);
    g.push_back(each);
    g.push_back(s[s.rank() - 2]);
    g.push_back(s[s.rank() - 1]);
    return g;
  }

  Status steps(int phase, Part& x) {
    size_t next = 3;
    for (int64_t step : a_.steps.span()) {
      if (attention_phase(step) == phase)
        WICK_TRY(apply(static_cast<AttentionStep>(step), next, x));
      next += static_cast<size_t>(attention_operands(step));
    }
    return {};
  }

  Status apply(AttentionStep step, size_t operand, Part& x) {
    Part y;
    y.shape = x.shape;
    const int operands = attention_operands(static_cast<int64_t>(step));
    TensorId p = 0, q = 0;
    if (operands > 0) p = call_.in_ids[operand];
    if (operands > 1) q = call_.in_ids[operand + 1];
    for (int i = 0; i < operands; ++i) {
      if (call_.in[operand + static_cast<size_t>(i)].rank() > x.shape.rank())
        return unsupported("an operand of more dims than the scores");
    }
    auto binary = [&](OpId op) { return add(op, NoAttrs{}, {x.id, p}, y, nullptr); };
    auto where = [&](TensorId yes, TensorId no) {
      return add(OpId::kWhere, NoAttrs{}, {p, yes, no}, y, nullptr);
    };
    Status s;
    switch (step) {
      case AttentionStep::kMulQuery:
      case AttentionStep::kMulKey:
      case AttentionStep::kMul: s = binary(OpId::kMul); break;
      case AttentionStep::kDivQuery:
      case AttentionStep::kDivKey:
      case AttentionStep::kDiv: s = binary(OpId::kDiv); break;
      case AttentionStep::kAdd: s = binary(OpId::kAdd); break;
      case AttentionStep::kSub: s = binary(OpId::kSub); break;
      case AttentionStep::kTanh: s = add(OpId::kTanh, NoAttrs{}, {x.id}, y, nullptr); break;
      case AttentionStep::kKeep:
      case AttentionStep::kKeepWeight: s = where(x.id, q); break;
      case AttentionStep::kReplace:
      case AttentionStep::kReplaceWeight: s = where(q, x.id); break;
    }
    WICK_TRY(s);
    x = y;
    return {};
  }

  const WholeCall& call_;
  const FusedAttentionAttrs& a_;
  Builder& builder_;
};

Status cast(Builder& builder, DType to, TensorId from, TensorId made) {
  CastAttrs attrs;
  attrs.to = static_cast<int64_t>(to);
  return builder.call(OpId::kCast, &attrs, {&from, 1}, {&made, 1});
}

bool has_16_bit_floats(Span<const TensorView> in, Span<const TensorView> out) {
  for (const TensorView& v : in) {
    if (is_16_bit_float(v.dtype)) return true;
  }
  for (const TensorView& v : out) {
    if (is_16_bit_float(v.dtype)) return true;
  }
  return false;
}

bool has_mixed_power(OpId op, Span<const TensorView> in) {
  return op == OpId::kPow && in.size() == 2 && in[0].dtype == DType::kF32 &&
         in[1].dtype != DType::kF32;
}
Status expand_whole(const WholeCall& call, Builder& builder) {
  if (call.op == OpId::kFusedElementwise) return expand_chain(call, builder);
  if (call.op == OpId::kFusedAttention) return Attention(call, builder).expand();
  if (!has_mixed_power(call.op, call.in))
    return builder.call(call.op, call.attrs, call.in_ids, call.out_ids);
  TensorId in[] = {call.in_ids[0], 0};
  WICK_ASSIGN(in[1], builder.temporary(DType::kF32, call.in[1].shape));
  WICK_TRY(cast(builder, DType::kF32, call.in_ids[1], in[1]));
  return builder.call(call.op, call.attrs, {in, 2}, call.out_ids);
}

// Computes in float32 and rounds once at the end.
Status expand_in_float32(const WholeCall& call, Builder& builder) {
  constexpr size_t kMost = 16;
  if (call.in.size() > kMost || call.out.size() > kMost) return unsupported("too many tensors");
  TensorView in[kMost], out[kMost];
  TensorId in_ids[kMost], out_ids[kMost];
  for (size_t i = 0; i < call.in.size(); ++i) {
    in[i] = call.in[i];
    in_ids[i] = call.in_ids[i];
    if (!is_16_bit_float(in[i].dtype)) continue;
    in[i] = TensorView(nullptr, DType::kF32, in[i].shape);
    WICK_ASSIGN(in_ids[i], builder.temporary(DType::kF32, in[i].shape));
    WICK_TRY(cast(builder, DType::kF32, call.in_ids[i], in_ids[i]));
  }
  for (size_t i = 0; i < call.out.size(); ++i) {
    out[i] = call.out[i];
    out_ids[i] = call.out_ids[i];
    if (!is_16_bit_float(out[i].dtype)) continue;
    out[i] = TensorView(nullptr, DType::kF32, out[i].shape);
    WICK_ASSIGN(out_ids[i], builder.temporary(DType::kF32, out[i].shape));
  }
  WholeCall inner = call;
  inner.in = {in, call.in.size()};
  inner.in_ids = {in_ids, call.in.size()};
  inner.out = {out, call.out.size()};
  inner.out_ids = {out_ids, call.out.size()};
  WICK_TRY(expand_whole(inner, builder));
  for (size_t i = 0; i < call.out.size(); ++i) {
    if (is_16_bit_float(call.out[i].dtype))
      WICK_TRY(cast(builder, call.out[i].dtype, out_ids[i], call.out_ids[i]));
  }
  return {};
}

}  // namespace

bool is_expanded(OpId op) { return op == OpId::kFusedElementwise || op == OpId::kFusedAttention; }

bool may_expand(OpId op, Span<const TensorView> in, Span<const TensorView> out) {
  return is_expanded(op) || has_16_bit_floats(in, out) || has_mixed_power(op, in);
}

Status expand(const WholeCall& call, Builder& builder) {
  if (is_expanded(call.op)) {  // as a single dispatch, if a shader supports it
    Status one = builder.call(call.op, call.attrs, call.in_ids, call.out_ids);
    if (one.code() != Code::kUnsupported) return one;
  }
  const bool whole = call.op == OpId::kFusedElementwise || !has_16_bit_floats(call.in, call.out);
  return whole ? expand_whole(call, builder) : expand_in_float32(call, builder);
}

}  // namespace wick::vulkan
