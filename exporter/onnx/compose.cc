#include "exporter/onnx/compose.h"

namespace wick::onnx {

ValueId int_scalar(ReadCtx& c, int64_t value) {
  return c.g.add_constant(HostTensor(DType::kI64, Shape{}, &value, sizeof(value)));
}
ValueId cast(ReadCtx& c, ValueId v, DType to) {
  return c.dtype(v) == to ? v : c.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(to)}, {v});
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
const SymShape& shape(ReadCtx& c, ValueId v) {
  c.rank(v);
  return c.g.value(v).shape;
}
int axis_of(ReadCtx& c, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    c.fail("axis " + std::to_string(axis) + " out of range for rank " + std::to_string(rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace wick::onnx
