#include "exporter/onnx/read/compose.h"

#include <algorithm>

#include "exporter/onnx/file/about.h"

namespace wick::onnx {

ValueId int_scalar(ReadCtx& c, int64_t value) {
  return c.g.add_constant(HostTensor(DType::kI64, Shape{}, &value, sizeof(value)));
}
ValueId cast(ReadCtx& c, ValueId v, DType to) {
  return c.dtype(v) == to ? v : c.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(to)}, {v});
}
DType asked_dtype(ReadCtx& c, DType fallback) {
  const int64_t given = c.attr_int("dtype", static_cast<int64_t>(fallback));
  if (given <= 0 || given >= kDTypeCount)
    c.fail("attribute 'dtype' is " + std::to_string(given) + ", which is no dtype");
  return static_cast<DType>(given);
}
ValueId floats_of(ReadCtx& c, ValueId v) {
  const DType t = c.dtype(v);
  return t == DType::kF16 || t == DType::kBF16 ? cast(c, v, DType::kF32) : v;
}
ValueId unsqueeze(ReadCtx& c, ValueId v, const std::vector<int64_t>& axes) {
  return c.emit(OpId::kUnsqueeze, AxesAttrs{to_list<kMaxRank>(c, axes)}, {v});
}
ValueId reshape(ReadCtx& c, ValueId v, const std::vector<int64_t>& shape) {
  ReshapeAttrs a;
  a.shape = to_list<kMaxRank>(c, shape);
  return c.emit(OpId::kReshape, a, {v});
}
ValueId reshape_to(ReadCtx& c, ValueId v, ValueId shape) {
  ReshapeAttrs a;
  a.allowzero = 1;
  return c.emit(OpId::kReshape, a, {v, shape});
}
ValueId shape_of(ReadCtx& c, ValueId v) { return c.emit(OpId::kShape, ShapeOpAttrs{}, {v}); }
ValueId reduce(ReadCtx& c, OpId op, ValueId v, const std::vector<int64_t>& axes, bool keepdims) {
  ReduceAttrs a;
  a.axes = to_list<kMaxRank>(c, axes);
  a.keepdims = keepdims ? 1 : 0;
  a.noop_with_empty_axes = axes.empty() ? 1 : 0;
  return c.emit(op, a, {v});
}
bool is_quotient(ReadCtx& c) { return form_of(c.node) == kQuotient; }
bool is_filler(ReadCtx& c, int i, float value) {
  if (!is_quotient(c) || !c.has(i)) return false;
  const Value& v = c.g.value(c.in(i));
  if (v.origin != ValueOrigin::kConstant || !v.name.empty() || v.dtype != DType::kF32) return false;
  const auto* all = v.constant.as<float>();
  return std::all_of(all, all + v.constant.numel(), [&](float f) { return f == value; });
}
Standardized standardize(ReadCtx& c, ValueId x, const std::vector<int64_t>& axes, double epsilon) {
  ReduceAttrs a;
  a.axes = to_list<kMaxRank>(c, axes);
  ValueId mean = c.emit(OpId::kReduceMean, a, {x});
  ValueId d = c.emit(OpId::kSub, {x, mean});
  ValueId variance = c.emit(OpId::kReduceMean, a, {c.emit(OpId::kMul, {d, d})});
  ValueId root = c.emit(OpId::kSqrt, {c.emit(OpId::kAdd, {variance, c.scalar(x, epsilon)})});
  ValueId normal = is_quotient(c) ? c.emit(OpId::kDiv, {d, root})
                                  : c.emit(OpId::kMul, {d, c.emit(OpId::kReciprocal, {root})});
  return {mean, root, normal};
}
ValueId dims(ReadCtx& c, ValueId v, int64_t from, int64_t to) {
  return c.emit(OpId::kShape, ShapeOpAttrs{from, to}, {v});
}
ValueId concat(ReadCtx& c, std::vector<ValueId> values, int64_t axis) {
  return c.emit(OpId::kConcat, AxisAttrs{axis}, std::move(values));
}
ValueId arange(ReadCtx& c, ValueId count) {
  // A small file must not make a large constant: long ranges are made at run time.
  constexpr int64_t kMaxWritten = 1 << 12;
  const auto known = c.known_ints(count);
  if (known && known->size() == 1 && (*known)[0] < 0) c.fail("a size is negative");
  if (known && known->size() == 1 && (*known)[0] <= kMaxWritten &&
      c.scope.model.ledger.take(static_cast<uint64_t>((*known)[0]) * sizeof(int64_t)).ok()) {
    std::vector<int64_t> all(static_cast<size_t>((*known)[0]));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    return c.g.add_constant(HostTensor::ints(all));  // it is paid for
  }
  ValueId ones = expand_to(c, int_scalar(c, 1), count);
  return c.emit(OpId::kCumSum, CumulateAttrs{0, 1, 0}, {ones});
}
ValueId expand_to(ReadCtx& c, ValueId v, ValueId shape) {
  return c.emit(OpId::kExpand, ShapeAttrs{}, {v, shape});
}
ValueId transpose(ReadCtx& c, ValueId v, const std::vector<int64_t>& perm) {
  bool moves = false;
  for (size_t i = 0; i < perm.size(); ++i) moves = moves || perm[i] != static_cast<int64_t>(i);
  if (!moves) return v;
  return c.emit(OpId::kTranspose, TransposeAttrs{to_list<kMaxRank>(c, perm)}, {v});
}
ValueId squeeze(ReadCtx& c, ValueId v, const std::vector<int64_t>& axes) {
  return c.emit(OpId::kSqueeze, AxesAttrs{to_list<kMaxRank>(c, axes)}, {v});
}
Halves cut(ReadCtx& c, ValueId v, int axis, ValueId at) {
  SplitAttrs a;
  a.axis = axis;
  ValueId rest = c.emit(OpId::kSub, {dim(c, v, axis), at});
  std::vector<ValueId> in = {v, concat(c, {at, rest}, 0)};
  c.settle(a, in);
  NodeId node = c.g.add_node(OpId::kSplit, AnyAttrs::of(a), in, 2, c.node.name());
  return {c.g.node(node).outputs[0], c.g.node(node).outputs[1]};
}
Halves halve(ReadCtx& c, ValueId v, int axis) {
  SplitAttrs a;
  a.axis = axis;
  NodeId node = c.g.add_node(OpId::kSplit, AnyAttrs::of(a), {v}, 2, c.node.name());
  return {c.g.node(node).outputs[0], c.g.node(node).outputs[1]};
}
ValueId pad_axis(ReadCtx& c, ValueId v, int axis, PadSide side, ValueId count, double value) {
  const auto rank = static_cast<size_t>(c.rank(v));
  const size_t at = static_cast<size_t>(axis) + (side == PadSide::kAfter ? rank : 0);
  std::vector<int64_t> before(at), after(2 * rank - at - 1);
  std::vector<ValueId> parts = {count};
  if (!before.empty()) parts.insert(parts.begin(), c.int_constant(before));
  if (!after.empty()) parts.push_back(c.int_constant(after));
  ValueId constant = value == 0 ? kNoValue : c.scalar(v, value);
  return c.emit(OpId::kPad, PadAttrs{}, {v, concat(c, parts, 0), constant});
}
const SymShape& shape(ReadCtx& c, ValueId v) {
  c.rank(v);
  return c.g.value(v).shape;
}
int rank_or(ReadCtx& c, ValueId v, int rank) {
  Value& value = c.g.value(v);
  const bool of_model = value.origin == ValueOrigin::kInput && c.scope.model.depth == 0;
  if (!value.ranked && of_model && rank >= 0 && rank <= kMaxRank) {
    SymShape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(c.g.fresh_symbol(0));
    value.shape = shape;
    value.ranked = true;
  }
  return c.rank(v);
}
void check_rank(ReadCtx& c, ValueId v, int rank, const char* what) {
  if (!ranked(c, v) || c.rank(v) == rank) return;
  c.fail(std::string(what) + " must have rank " + std::to_string(rank) + ", got " +
         shape_text(shape(c, v)));
}
void check_size(ReadCtx& c, ValueId v, int axis, ValueId like, int axis_of_like, const char* what) {
  if (!ranked(c, v) || !ranked(c, like) || axis >= c.rank(v) || axis_of_like >= c.rank(like) ||
      dim_equal(shape(c, v)[axis], shape(c, like)[axis_of_like]) != Tri::kNo)
    return;
  c.fail(std::string(what) + " " + shape_text(shape(c, v)) + " does not fit " +
         shape_text(shape(c, like)) + ": size " + std::to_string(axis) + " must be " +
         shape(c, like)[axis_of_like].text());
}
int axis_of(ReadCtx& c, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    c.fail("axis " + std::to_string(axis) + " out of range for rank " + std::to_string(rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace wick::onnx
