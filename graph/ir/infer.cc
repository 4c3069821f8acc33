#include "graph/ir/infer.h"

#include <algorithm>

#include "runtime/ops/rules/table-inl.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {

namespace {

// The dims that a custom op's rule computes with: handles into a list of expressions.
class SymHost final : public DimHost {
 public:
  OpDim add(const SymDim& d) {
    if (d.known()) return {d.constant()};
    dims_.push_back(d);
    return {this, static_cast<int64_t>(dims_.size()) - 1};
  }
  SymDim dim(const OpDim& d) const {
    if (d.known()) return {d.value()};
    return dims_[static_cast<size_t>(d.value())];
  }
  OpDim apply(DimOp op, const OpDim& a, const OpDim& b) override {
    SymDim x = dim(a), y = dim(b);
    switch (op) {
      case DimOp::kAdd: return add(x + y);
      case DimOp::kSub: return add(x - y);
      case DimOp::kMul: return add(x * y);
      case DimOp::kFloorDiv: return add(b.value() > 0 ? dim_floor_div(x, b.value()) : SymDim(0));
      case DimOp::kMax: return add(dim_max(x, y));
    }
    return {};
  }
  Tri equal(const OpDim& a, const OpDim& b) override { return dim_equal(dim(a), dim(b)); }

 private:
  std::vector<SymDim> dims_;
};

Status infer_custom_symbolic(RuleCtx<SymDim>& ctx) {
  const CustomOp* op = find_custom_op(ctx.op);
  if (op == nullptr) return Status(Code::kUnsupported, "the custom op is not registered");
  SymHost host;
  std::vector<ValueInfo<OpDim>> in(ctx.in.size()), out(ctx.out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    in[i].dtype = ctx.in[i].dtype;
    for (const SymDim& d : ctx.in[i].shape) in[i].shape.push_back(host.add(d));
  }
  OpShapes shapes{ctx.op, ctx.attrs, in, out, op};
  WICK_TRY(run_shape_rule(*op, shapes));
  for (size_t i = 0; i < out.size(); ++i) {
    ctx.out[i].dtype = out[i].dtype;
    ctx.out[i].shape = {};
    for (const OpDim& d : out[i].shape) ctx.out[i].shape.push_back(host.dim(d));
  }
  return {};
}

Status infer_listed(RuleCtx<SymDim>& ctx) {
  WICK_TRY(rules::check_arity(ctx));
  return rules::kTable<SymDim>[find_op(ctx.op) - all_ops().data()](ctx);
}

}  // namespace

bool infer_symbolic(OpId op, const void* attrs, Span<const ValueInfo<SymDim>> in,
                    Span<ValueInfo<SymDim>> out) {
  RuleCtx<SymDim> ctx{op, attrs, in, out};
  Status s = is_custom(op) ? infer_custom_symbolic(ctx) : infer_listed(ctx);
  if (!s.ok() && s.code() == Code::kNotFound) return false;
  if (!s.ok()) throw Error(s.message());
  for (const ValueInfo<SymDim>& v : out) {
    Shape least;  // what is known must be sound whatever the symbols are
    for (const SymDim& d : v.shape) least.push_back(d.known() ? d.constant() : 1);
    auto bytes = checked_bytes(least, dtype_bits(v.dtype));
    if (!bytes.ok()) throw Error(bytes.status().message());
  }
  return true;
}

DType dtype_without_shape(OpId op, const void* attrs, Span<const DType> in, size_t output) {
  switch (op) {
    case OpId::kEqual:
    case OpId::kLess:
    case OpId::kLessOrEqual:
    case OpId::kGreater:
    case OpId::kGreaterOrEqual:
    case OpId::kIsNaN:
    case OpId::kIsInf: return DType::kBool;
    case OpId::kArgMax:
    case OpId::kArgMin:
    case OpId::kNonMaxSuppression:
    case OpId::kNonZero:
    case OpId::kRange:
    case OpId::kShape: return DType::kI64;
    case OpId::kTopK:
    case OpId::kMaxPoolIndices:
    case OpId::kUnique: return output == 0 ? in[0] : DType::kI64;
    case OpId::kLinearAttention:  // the state keeps the dtype it came in
      return output == 1 && in.size() > 3 && in[3] != DType::kNone ? in[3] : in[0];
    case OpId::kCast: return static_cast<DType>(static_cast<const CastAttrs*>(attrs)->to);
    case OpId::kWhere: return in[1];
    case OpId::kBitCast: return static_cast<DType>(static_cast<const BitCastAttrs*>(attrs)->to);
    case OpId::kQuantizeLinear: {
      const int64_t to = static_cast<const QuantizeAttrs*>(attrs)->output_dtype;
      if (to != 0) return static_cast<DType>(to);
      return in.size() > 2 && in[2] != DType::kNone ? in[2] : DType::kU8;
    }
    case OpId::kDequantizeLinear: {
      const int64_t to = static_cast<const DequantizeAttrs*>(attrs)->output_dtype;
      return to != 0 ? static_cast<DType>(to) : in[1];
    }
    case OpId::kMatMulInteger:
    case OpId::kConvInteger: return DType::kI32;
    case OpId::kDropout: return output == 0 ? in[0] : DType::kBool;
    default: return in.empty() ? DType::kNone : in[0];
  }
}

namespace {

const std::vector<SymDim>* elements_of(const Graph& g, const Node& n, size_t i) {
  if (i >= n.inputs.size() || n.inputs[i] == kNoValue) return nullptr;
  const Value& v = g.value(n.inputs[i]);
  return v.has_elements ? &v.elements : nullptr;
}

bool binary_elements(OpId op, const SymDim& a, const SymDim& b, SymDim* out) {
  switch (op) {
    case OpId::kAdd: *out = a + b; return true;
    case OpId::kSub: *out = a - b; return true;
    case OpId::kMul: *out = a * b; return true;
    case OpId::kMax: *out = dim_max(a, b); return true;
    case OpId::kMin: *out = dim_min(a, b); return true;
    case OpId::kDiv:
      // integer division truncates: equal to floor only where nothing is negative
      if (!b.known() || b.constant() <= 0 || a.min() < 0) return false;
      *out = dim_floor_div(a, b.constant());
      return true;
    default: return false;
  }
}

}  // namespace

bool compute_elements(const Graph& g, const Node& n, std::vector<SymDim>* out) {
  const Value& result = g.value(n.outputs[0]);
  bool ints = result.dtype == DType::kI64 || result.dtype == DType::kI32;
  if (!ints || result.shape.rank() > 1) return false;
  const auto* a = elements_of(g, n, 0);
  const auto* b = elements_of(g, n, 1);
  switch (n.op) {
    case OpId::kIdentity:
    case OpId::kSqueeze:
    case OpId::kUnsqueeze:
    case OpId::kReshape:
    case OpId::kFlatten:
    case OpId::kExpand:
      if (a == nullptr || !is_static(result.shape) ||
          static_cast<int64_t>(a->size()) != numel(to_static(result.shape))) {
        return false;
      }
      *out = *a;
      return true;
    case OpId::kCast:
      if (a == nullptr || result.dtype != DType::kI64) return false;  // int32 might not hold it
      *out = *a;
      return true;
    case OpId::kNeg:
      if (a == nullptr) return false;
      for (const SymDim& d : *a) out->push_back(SymDim(0) - d);
      return true;
    case OpId::kReduceProd: {
      // of a whole vector: the only reduction a rank-1 value has, unless empty axes mean none
      if (a == nullptr || g.value(n.inputs[0]).shape.rank() != 1) return false;
      const auto& r = n.attrs.as<ReduceAttrs>();
      if (n.inputs.size() > 1 || (r.axes.empty() && r.noop_with_empty_axes != 0)) return false;
      SymDim product(1);
      for (const SymDim& d : *a) product = product * d;
      out->push_back(product);
      return true;
    }
    case OpId::kConcat:
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        const auto* e = elements_of(g, n, i);
        if (e == nullptr || out->size() + e->size() > 64) return false;
        out->insert(out->end(), e->begin(), e->end());
      }
      return true;
    case OpId::kGather:
      if (a == nullptr || b == nullptr) return false;
      for (const SymDim& index : *b) {
        if (!index.known()) return false;
        auto size = static_cast<int64_t>(a->size());
        int64_t i = index.constant() < 0 ? index.constant() + size : index.constant();
        if (i < 0 || i >= size) throw Error("[Gather] index " + index.text() + " out of range");
        out->push_back((*a)[static_cast<size_t>(i)]);
      }
      return true;
    case OpId::kRange: {
      const auto* step = elements_of(g, n, 2);
      if (a == nullptr || step == nullptr || !is_static(result.shape)) return false;
      int64_t count = numel(to_static(result.shape));
      if (count > 64) return false;
      for (int64_t i = 0; i < count; ++i) out->push_back((*a)[0] + SymDim(i) * (*step)[0]);
      return true;
    }
    case OpId::kSlice: {
      if (a == nullptr || n.inputs.size() > 1)
        return false;  // shapes of inputs are folded to attributes
      const auto& s = n.attrs.as<SliceAttrs>();
      if (s.starts.count != 1) return false;
      auto r = rules::resolve_slice(static_cast<int64_t>(a->size()), s.starts[0], s.ends[0],
                                    s.steps.at_or(0, 1));
      for (int64_t i = 0; i < r.count; ++i)
        out->push_back((*a)[static_cast<size_t>(r.start + i * r.step)]);
      return true;
    }
    case OpId::kAdd:
    case OpId::kSub:
    case OpId::kMul:
    case OpId::kDiv:
    case OpId::kMax:
    case OpId::kMin: {
      if (a == nullptr || b == nullptr || a->empty() || b->empty()) return false;
      size_t size = std::max(a->size(), b->size());
      if ((a->size() != size && a->size() != 1) || (b->size() != size && b->size() != 1))
        return false;
      for (size_t i = 0; i < size; ++i) {
        SymDim d;
        if (!binary_elements(n.op, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i],
                             &d)) {
          return false;
        }
        out->push_back(d);
      }
      return true;
    }
    default: return false;
  }
}

}  // namespace wick::ir
