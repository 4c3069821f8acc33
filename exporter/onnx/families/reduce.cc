#include "exporter/onnx/read/read.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

// Axes reads axes from the attribute (older opsets) or input 1 (newer); a known input becomes the
// attribute.
struct Axes {
  ReduceAttrs attrs;
  ValueId input = kNoValue;
};
Axes read_axes(ReadCtx& c) {
  Axes a;
  a.attrs.keepdims = c.attr_int("keepdims", 1);
  a.attrs.noop_with_empty_axes = c.attr_int("noop_with_empty_axes", 0);
  std::vector<int64_t> axes = c.attr_ints("axes");
  if (c.has(1)) {
    a.input = c.in(1);
    if (auto known = c.known_ints(a.input)) {
      axes = *known;
      a.input = kNoValue;
    }
  }
  c.fill(a.attrs.axes, axes, "axes");
  if (!axes.empty()) a.attrs.noop_with_empty_axes = 0;  // it has no effect here
  return a;
}
ValueId reduce(ReadCtx& c, OpId op, const Axes& a, ValueId x) {
  return c.emit(op, a.attrs, {x, a.input});
}

// With no axes and noop_with_empty_axes a reduction is the identity, but its elementwise part still
// applies.
template <OpId op>
void read_plain(ReadCtx& c) {
  c.set(0, reduce(c, op, read_axes(c), c.in(0)));
}
void read_l1(ReadCtx& c) {
  c.set(0, reduce(c, OpId::kReduceSum, read_axes(c), c.emit(OpId::kAbs, {c.in(0)})));
}
ValueId sum_square(ReadCtx& c) {
  ValueId x = c.in(0);
  return reduce(c, OpId::kReduceSum, read_axes(c), c.emit(OpId::kMul, {x, x}));
}
void read_sum_square(ReadCtx& c) { c.set(0, sum_square(c)); }
// Roots and logarithms of integer sums are taken in f64 and cast back.
ValueId as_float(ReadCtx& c, ValueId x) {
  if (is_float(c.dtype(x))) return x;
  return c.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF64)}, {x});
}
void set_as(ReadCtx& c, ValueId y, DType dtype) {
  if (c.dtype(y) != dtype) y = c.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(dtype)}, {y});
  c.set(0, y);
}
void read_l2(ReadCtx& c) {
  set_as(c, c.emit(OpId::kSqrt, {as_float(c, sum_square(c))}), c.dtype(c.in(0)));
}
void read_log_sum(ReadCtx& c) {
  ValueId s = reduce(c, OpId::kReduceSum, read_axes(c), c.in(0));
  set_as(c, c.emit(OpId::kLog, {as_float(c, s)}), c.dtype(c.in(0)));
}
void read_log_sum_exp(ReadCtx& c) {  // shifted by the largest element: no overflow
  ValueId x = as_float(c, c.in(0));
  Axes a = read_axes(c), keep = a;
  keep.attrs.keepdims = 1;
  // An infinite maximum is not subtracted: infinity minus itself is NaN.
  auto largest = [&](const Axes& axes) {
    ValueId max = reduce(c, OpId::kReduceMax, axes, x);
    return c.emit(OpId::kWhere, {c.emit(OpId::kIsInf, IsInfAttrs{}, {max}), c.scalar(x, 0), max});
  };
  ValueId shifted = c.emit(OpId::kExp, {c.emit(OpId::kSub, {x, largest(keep)})});
  ValueId sum = c.emit(OpId::kLog, {reduce(c, OpId::kReduceSum, a, shifted)});
  set_as(c, c.emit(OpId::kAdd, {sum, largest(a)}), c.dtype(c.in(0)));
}
template <OpId op>
void read_arg(ReadCtx& c) {
  ArgAttrs a{c.attr_int("axis", 0), c.attr_int("keepdims", 1), c.attr_int("select_last_index", 0)};
  c.set(0, c.emit(op, a, {c.in(0)}));
}

// ReduceSum takes its axes as an input from opset 13 on, the others from 18 on.
void write_reduce(WriteCtx& c, const char* op) {
  const auto& a = c.as<ReduceAttrs>();
  const bool axes_input = !has_attribute(c.form(op), "axes");
  const bool keeps_all = a.noop_with_empty_axes != 0 && a.axes.empty();
  if (!axes_input && (c.has(1) || keeps_all)) c.need(18);
  NodeProto& n = axes_input ? c.add(op, {c.in(0), c.ints_input(1, a.axes.span())}, {c.out(0)})
                            : c.add(op, {c.in(0)}, {c.out(0)});
  if (!axes_input && !a.axes.empty()) set_ints(n, "axes", a.axes.span());
  set_int(n, "keepdims", a.keepdims);
  if (axes_input && a.noop_with_empty_axes != 0) set_int(n, "noop_with_empty_axes", 1);
}
void write_arg(WriteCtx& c, const char* op) {
  const auto& a = c.as<ArgAttrs>();
  NodeProto& n = c.same(op);
  set_int(n, "axis", a.axis);
  set_int(n, "keepdims", a.keepdims);
  if (a.select_last_index != 0) set_int(n, "select_last_index", 1);
}

}  // namespace

WICK_READ(ReduceSum, read_plain<OpId::kReduceSum>);
WICK_READ(ReduceMean, read_plain<OpId::kReduceMean>);
WICK_READ(ReduceMax, read_plain<OpId::kReduceMax>);
WICK_READ(ReduceMin, read_plain<OpId::kReduceMin>);
WICK_READ(ReduceProd, read_plain<OpId::kReduceProd>);
WICK_READ(ReduceL1, read_l1);
WICK_READ(ReduceL2, read_l2);
WICK_READ(ReduceSumSquare, read_sum_square);
WICK_READ(ReduceLogSum, read_log_sum);
WICK_READ(ReduceLogSumExp, read_log_sum_exp);
WICK_READ(ArgMax, read_arg<OpId::kArgMax>);
WICK_READ(ArgMin, read_arg<OpId::kArgMin>);

WICK_ONNX_ROW(ReduceSum, [](WriteCtx& c) { write_reduce(c, "ReduceSum"); });
WICK_ONNX_ROW(ReduceMean, [](WriteCtx& c) { write_reduce(c, "ReduceMean"); });
WICK_ONNX_ROW(ReduceMax, [](WriteCtx& c) { write_reduce(c, "ReduceMax"); });
WICK_ONNX_ROW(ReduceMin, [](WriteCtx& c) { write_reduce(c, "ReduceMin"); });
WICK_ONNX_ROW(ReduceProd, [](WriteCtx& c) { write_reduce(c, "ReduceProd"); });
WICK_ONNX_ROW(ArgMax, [](WriteCtx& c) { write_arg(c, "ArgMax"); });
WICK_ONNX_ROW(ArgMin, [](WriteCtx& c) { write_arg(c, "ArgMin"); });

}  // namespace wick::onnx
