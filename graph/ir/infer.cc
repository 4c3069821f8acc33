#include "graph/ir/infer.h"

#include <algorithm>

#include "runtime/ops/op_table.h"
#include "runtime/ops/rules/arity-inl.h"
#include "runtime/ops/rules/table-inl.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {

namespace {

// SymHost has the dims that a custom op's rule computes with: handles into a list of expressions.
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
  return rules::kTable<SymDim>[kAllOps.row_of_id[static_cast<size_t>(ctx.op)] - size_t{1}](ctx);
}

}  // namespace

bool infer_symbolic(OpId op, const void* attrs, Span<const ValueInfo<SymDim>> in,
                    Span<ValueInfo<SymDim>> out) {
  RuleCtx<SymDim> ctx{op, attrs, in, out};
  Status s = is_custom(op) ? infer_custom_symbolic(ctx) : infer_listed(ctx);
  if (s.code() == Code::kNeedsValue) return false;
  if (!s.ok()) throw Error(s.message());
  for (const ValueInfo<SymDim>& v : out) {
    Shape least;  // the known sizes must be sound whatever the symbols are
    for (const SymDim& d : v.shape) least.push_back(d.known() ? d.constant() : 1);
    auto bytes = checked_bytes(least, dtype_bits(v.dtype));
    if (!bytes.ok()) throw Error(bytes.status().message());
  }
  return true;
}

namespace {

constexpr size_t kMaxListed = 64;  // elements of a value

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
    case OpId::kMod:
      // Integer division truncates: it equals floor only if nothing is negative.
      if (!b.known() || b.constant() <= 0 || a.min() < 0) return false;
      *out = dim_floor_div(a, b.constant());
      if (op == OpId::kMod) *out = a - *out * b;
      return true;
    default: return false;
  }
}

// Returns element i of a value that is as long as the result or has one element.
const SymDim& spread(const std::vector<SymDim>& v, size_t i) { return v[v.size() == 1 ? 0 : i]; }

// Returns whether a condition holds for element i of the result, if constants or sizes tell.
Tri condition_at(const Graph& g, ValueId id, size_t i) {
  const Value& v = g.value(id);
  if (v.origin == ValueOrigin::kConstant) {
    const int64_t count = v.constant.numel();
    if (count != 1 && static_cast<int64_t>(i) >= count) return Tri::kUnknown;
    const bool yes = v.constant.as<uint8_t>()[count == 1 ? 0 : i] != 0;
    return yes ? Tri::kYes : Tri::kNo;
  }
  if (v.origin != ValueOrigin::kNode || g.node(v.producer).op != OpId::kEqual) return Tri::kUnknown;
  const auto *a = elements_of(g, g.node(v.producer), 0), *b = elements_of(g, g.node(v.producer), 1);
  if (a == nullptr || b == nullptr) return Tri::kUnknown;
  for (const auto* side : {a, b}) {
    if (side->empty() || (side->size() != 1 && i >= side->size())) return Tri::kUnknown;
  }
  return dim_equal(spread(*a, i), spread(*b, i));
}

bool where_elements(const Graph& g, const Node& n, int64_t count, std::vector<SymDim>* out) {
  const auto *yes = elements_of(g, n, 1), *no = elements_of(g, n, 2);
  for (int64_t k = 0; k < count; ++k) {
    const auto i = static_cast<size_t>(k);
    const Tri holds = condition_at(g, n.inputs[0], i);
    if (holds == Tri::kUnknown) return false;
    const auto* from = holds == Tri::kYes ? yes : no;
    if (from == nullptr || from->empty() || (from->size() != 1 && i >= from->size())) return false;
    out->push_back(spread(*from, i));
  }
  return true;
}

// Returns whether the node reduces a vector to one number: it does, for a rank-1 value, unless its
// axes are empty and that means none.
bool reduces_all(const Graph& g, const Node& n) {
  if (g.value(n.inputs[0]).shape.rank() != 1) return false;
  const auto& r = n.attrs.as<ReduceAttrs>();
  if (n.inputs.size() < 2) return !r.axes.empty() || r.noop_with_empty_axes == 0;
  const auto* axes = elements_of(g, n, 1);
  return axes != nullptr && !axes->empty();
}

// Gets a list from the attribute or from a known input.
bool known_list(const Graph& g, const Node& n, size_t i, Span<const int64_t> attribute,
                std::vector<int64_t>* out) {
  if (i >= n.inputs.size() || n.inputs[i] == kNoValue) {
    out->assign(attribute.begin(), attribute.end());
    return true;
  }
  const auto* elements = elements_of(g, n, i);
  if (elements == nullptr) return false;
  for (const SymDim& d : *elements) {
    if (!d.known()) return false;
    out->push_back(d.constant());
  }
  return true;
}

using Elements = std::vector<SymDim>;

// Moves elements; it repeats at most one number.
bool moved_elements(const Node& n, const Value& result, const Elements* a, Elements* out) {
  if (a == nullptr || !is_static(result.shape)) return false;
  const int64_t count = numel(to_static(result.shape));
  if (n.op == OpId::kExpand && a->size() == 1 && count <= int64_t{kMaxListed}) {
    out->assign(static_cast<size_t>(count), (*a)[0]);
    return true;
  }
  if (static_cast<int64_t>(a->size()) != count) return false;
  *out = *a;
  return true;
}

// `step` is what a reduction does with two of its numbers.
bool reduced_elements(const Graph& g, const Node& n, OpId step, const Elements* a, Elements* out) {
  if (a == nullptr || a->empty() || !reduces_all(g, n)) return false;
  SymDim all = (*a)[0];
  for (size_t i = 1; i < a->size(); ++i) binary_elements(step, all, (*a)[i], &all);
  out->push_back(all);
  return true;
}

bool joined_elements(const Graph& g, const Node& n, Elements* out) {
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const auto* e = elements_of(g, n, i);
    if (e == nullptr || out->size() + e->size() > kMaxListed) return false;
    out->insert(out->end(), e->begin(), e->end());
  }
  return true;
}

bool gathered_elements(const Elements* a, const Elements* b, Elements* out) {
  if (a == nullptr || b == nullptr) return false;
  for (const SymDim& index : *b) {
    if (!index.known()) return false;
    auto size = static_cast<int64_t>(a->size());
    int64_t i = index.constant() < 0 ? index.constant() + size : index.constant();
    if (i < 0 || i >= size) throw Error("[Gather] index " + index.text() + " out of range");
    out->push_back((*a)[static_cast<size_t>(i)]);
  }
  return true;
}

bool range_elements(const Value& result, const Elements* a, const Elements* step, Elements* out) {
  if (a == nullptr || step == nullptr || !is_static(result.shape)) return false;
  int64_t count = numel(to_static(result.shape));
  if (count > int64_t{kMaxListed}) return false;
  for (int64_t i = 0; i < count; ++i) out->push_back((*a)[0] + SymDim(i) * (*step)[0]);
  return true;
}

bool sliced_elements(const Graph& g, const Node& n, const Elements* a, Elements* out) {
  const auto& s = n.attrs.as<SliceAttrs>();
  std::vector<int64_t> starts, ends, steps;
  if (a == nullptr || g.value(n.outputs[0]).shape.rank() != 1 ||
      !known_list(g, n, 1, s.starts.span(), &starts) ||
      !known_list(g, n, 2, s.ends.span(), &ends) || !known_list(g, n, 4, s.steps.span(), &steps)) {
    return false;
  }
  if (starts.size() != 1 || ends.size() != 1 || steps.size() > 1) return false;
  auto r = rules::resolve_slice(static_cast<int64_t>(a->size()), starts[0], ends[0],
                                steps.empty() ? 1 : steps[0]);
  for (int64_t i = 0; i < r.count; ++i)
    out->push_back((*a)[static_cast<size_t>(r.start + i * r.step)]);
  return true;
}

bool paired_elements(OpId op, const Elements* a, const Elements* b, Elements* out) {
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return false;
  size_t size = std::max(a->size(), b->size());
  if ((a->size() != size && a->size() != 1) || (b->size() != size && b->size() != 1)) return false;
  for (size_t i = 0; i < size; ++i) {
    SymDim d;
    if (!binary_elements(op, spread(*a, i), spread(*b, i), &d)) return false;
    out->push_back(d);
  }
  return true;
}

bool list_elements(const Graph& g, const Node& n, Elements* out) {
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
    case OpId::kExpand: return moved_elements(n, result, a, out);
    case OpId::kCast:
      if (a == nullptr) return false;
      *out = *a;
      return true;
    case OpId::kWhere:
      if (n.inputs.size() != 3 || !is_static(result.shape)) return false;
      return numel(to_static(result.shape)) <= int64_t{kMaxListed} &&
             where_elements(g, n, numel(to_static(result.shape)), out);
    case OpId::kNeg:
      if (a == nullptr) return false;
      for (const SymDim& d : *a) out->push_back(SymDim(0) - d);
      return true;
    case OpId::kReduceProd: return reduced_elements(g, n, OpId::kMul, a, out);
    case OpId::kReduceSum: return reduced_elements(g, n, OpId::kAdd, a, out);
    case OpId::kReduceMax: return reduced_elements(g, n, OpId::kMax, a, out);
    case OpId::kReduceMin: return reduced_elements(g, n, OpId::kMin, a, out);
    case OpId::kConcat: return joined_elements(g, n, out);
    case OpId::kGather: return gathered_elements(a, b, out);
    case OpId::kRange: return range_elements(result, a, elements_of(g, n, 2), out);
    case OpId::kSlice: return sliced_elements(g, n, a, out);
    case OpId::kAdd:
    case OpId::kSub:
    case OpId::kMul:
    case OpId::kDiv:
    case OpId::kMod:
    case OpId::kMax:
    case OpId::kMin: return paired_elements(n.op, a, b, out);
    default: return false;
  }
}

}  // namespace

bool compute_elements(const Graph& graph, const Node& node, std::vector<SymDim>* out) {
  if (!list_elements(graph, node, out)) return false;
  if (graph.value(node.outputs[0]).dtype != DType::kI32) return true;
  for (const SymDim& d : *out) {  // int32 might not hold it
    if (d.min() < INT32_MIN || d.max() > INT32_MAX) return false;
  }
  return true;
}

}  // namespace wick::ir
