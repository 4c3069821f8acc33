#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/training.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

// momentum a + (1 - momentum) b
ValueId running(ReadCtx& c, ValueId a, ValueId b, double momentum) {
  a = c.emit(OpId::kMul, {a, c.scalar(a, momentum)});
  // ONNX takes the difference in float
  const double rest = 1.0f - static_cast<float>(momentum);
  return c.emit(OpId::kAdd, {a, c.emit(OpId::kMul, {b, c.scalar(b, rest)})});
}
// Training: from opset 14 by attribute (and two outputs more), from 7 by the outputs asked for,
// before by is_test. The statistics are those of x; outputs 1 and 2 the running ones, 3 and 4
// (until opset 13) x's own.
void read_batch_norm(ReadCtx& c) {
  ValueId x = c.in(0), scale = c.in(1), bias = c.in(2), mean = c.in(3), var = c.in(4);
  const bool more = c.wants(1) || c.wants(2) || c.wants(3) || c.wants(4);
  const bool switched = TrainingScope::on();  // by train() and eval()
  const bool training = switched        ? false
                        : c.opset >= 14 ? c.attr_int("training_mode", 0) != 0
                        : c.opset >= 7  ? more
                                        : c.attr_int("is_test", 0) == 0;
  const double momentum = c.attr_float("momentum", 0.9f);
  BatchNormAttrs a{c.attr_float("epsilon", 1e-5f)};
  // All in one dtype: the parameters may be wider than x, and 16-bit statistics would overflow.
  const DType dtype = c.dtype(x), stored = c.dtype(mean);
  DType inner = dtype;
  for (ValueId v : {scale, mean}) {
    if (c.dtype(v) != dtype) inner = DType::kF32;
  }
  if (training && dtype != DType::kF64) inner = DType::kF32;
  if (dtype == DType::kF64) inner = dtype;
  ValueId y = cast(c, x, inner);
  scale = cast(c, scale, inner), bias = cast(c, bias, inner);
  mean = cast(c, mean, inner), var = cast(c, var, inner);
  // Without `spatial` (until opset 8) every element of an image is a channel; a vector has one.
  const bool flat = c.opset < 9 && c.attr_int("spatial", 1) == 0;
  const ValueId like = mean;
  if (flat) {
    for (ValueId* v : {&scale, &bias, &mean, &var}) *v = reshape(c, *v, {-1});
    y = c.emit(OpId::kFlatten, AxisAttrs{1}, {y});
  } else if (c.rank(x) == 1) {
    y = reshape(c, y, {-1, 1});
  }
  ValueId own_mean = kNoValue, own_var = kNoValue;
  if (training) {
    std::vector<int64_t> axes = {0};
    for (int i = 2; i < c.rank(y); ++i) axes.push_back(i);
    ValueId wide = reduce(c, OpId::kReduceMean, y, axes, true);
    ValueId d = c.emit(OpId::kSub, {y, wide});
    own_mean = reshape(c, wide, {-1});
    own_var = reduce(c, OpId::kReduceMean, c.emit(OpId::kMul, {d, d}), axes, false);
  }
  y = c.emit(OpId::kBatchNorm, a,
             {y, scale, bias, training ? own_mean : mean, training ? own_var : var});
  if (flat || c.rank(x) == 1) y = reshape_like(c, y, x);
  c.set(0, cast(c, y, dtype));
  if (!training) {
    for (int i = 1; switched && i < 5; ++i) {
      if (c.wants(i)) c.set(i, c.emit(OpId::kIdentity, {c.in(i % 2 == 1 ? 3 : 4)}));
    }
    return;
  }
  auto set = [&](int i, ValueId v) {
    if (c.wants(i)) c.set(i, cast(c, flat ? reshape_like(c, v, like) : v, stored));
  };
  set(1, running(c, mean, own_mean, momentum));
  set(2, running(c, var, own_var, momentum));
  set(3, own_mean);
  set(4, own_var);
}

// Before opset 13 the axes from `axis` on are one: flatten, act on the last axis, restore the
// shape.
template <OpId op>
void read_softmax(ReadCtx& c) {
  ValueId x = c.in(0);
  if (c.opset >= 13) return c.set(0, c.emit(op, AxisAttrs{c.attr_int("axis", -1)}, {x}));
  int64_t axis = c.attr_int("axis", 1);
  if (axis == -1 || (c.g.value(x).ranked && axis == c.rank(x) - 1))
    return c.set(0, c.emit(op, AxisAttrs{-1}, {x}));
  ValueId flat = c.emit(OpId::kFlatten, AxisAttrs{axis}, {x});
  ValueId y = c.emit(op, AxisAttrs{-1}, {flat});
  c.set(0, c.emit(OpId::kReshape, ReshapeAttrs{{}, 1},
                  {y, c.emit(OpId::kShape, ShapeOpAttrs{}, {x})}));
}

ReduceAttrs over(const std::vector<int64_t>& axes) {
  ReduceAttrs a;
  a.axes = DimList(Span<const int64_t>(axes));
  return a;
}
struct Centered {
  ValueId mean, centered, inv_std;
};
// mean, x - mean, 1 / sqrt(var + eps) over axes that keep their dims.
Centered center(ReadCtx& c, ValueId x, const std::vector<int64_t>& axes, double epsilon) {
  ReduceAttrs a = over(axes);
  ValueId mean = c.emit(OpId::kReduceMean, a, {x});
  ValueId d = c.emit(OpId::kSub, {x, mean});
  ValueId var = c.emit(OpId::kReduceMean, a, {c.emit(OpId::kMul, {d, d})});
  ValueId root = c.emit(OpId::kSqrt, {c.emit(OpId::kAdd, {var, c.scalar(x, epsilon)})});
  return {mean, d, c.emit(OpId::kReciprocal, {root})};
}
std::vector<int64_t> axes_from(ReadCtx& c, ValueId x, int64_t first) {
  int64_t rank = c.rank(x);
  if (first < 0) first += rank;
  if (first < 0 || first > rank) c.fail("axis out of range");
  std::vector<int64_t> axes;
  for (int64_t i = first; i < rank; ++i) axes.push_back(i);
  return axes;
}

// What statistics are computed in: wide enough for x, and for what the node asks.
DType wide(ReadCtx& c, DType x, DType asked) {
  if (!is_float(x)) c.fail(std::string("needs a floating-point tensor, got ") + dtype_name(x));
  for (DType t : {DType::kF64, DType::kF32}) {
    if (x == t || asked == t) return t;
  }
  return asked;
}
DType stash_type(ReadCtx& c) {
  const int64_t t = c.attr_int("stash_type", 1);
  if (t < 1 || t >= kDTypeCount || !is_float(static_cast<DType>(t)))
    c.fail("stash_type " + std::to_string(t) + " is no floating-point type");
  return static_cast<DType>(t);
}

void read_layer_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0)), stash = stash_type(c);
  ValueId x = cast(c, c.in(0), wide(c, dtype, stash));
  Centered n =
      center(c, x, axes_from(c, x, c.attr_int("axis", -1)), c.attr_float("epsilon", 1e-5f));
  ValueId y = cast(c, c.emit(OpId::kMul, {n.centered, n.inv_std}), dtype);
  y = c.emit(OpId::kMul, {y, c.in(1)});
  if (c.has(2)) y = c.emit(OpId::kAdd, {y, c.in(2)});
  c.set(0, y);
  if (c.wants(1)) c.set(1, cast(c, n.mean, stash));
  if (c.wants(2)) c.set(2, cast(c, n.inv_std, stash));
}
void read_rms_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0)), scaled = c.dtype(c.in(1));
  if (!is_float(scaled)) c.fail("needs a floating-point scale");
  ValueId x = cast(c, c.in(0), wide(c, dtype, stash_type(c)));
  ReduceAttrs a = over(axes_from(c, x, c.attr_int("axis", -1)));
  ValueId mean = c.emit(OpId::kReduceMean, a, {c.emit(OpId::kMul, {x, x})});
  ValueId root = c.emit(OpId::kSqrt,
                        {c.emit(OpId::kAdd, {mean, c.scalar(x, c.attr_float("epsilon", 1e-5f))})});
  // normalized in x's dtype, scaled in the scale's
  ValueId y = cast(c, c.emit(OpId::kDiv, {x, root}), dtype);
  c.set(0, c.emit(OpId::kMul, {cast(c, y, scaled), c.in(1)}));
}
// [C] as [C, 1, 1 ...], to meet [N, C, spatial...].
ValueId per_channel(ReadCtx& c, ValueId v, int rank) {
  AxesAttrs a;
  for (int i = 1; i < rank - 1; ++i) a.axes.values[a.axes.count++] = i;
  return a.axes.empty() ? v : c.emit(OpId::kUnsqueeze, a, {v});
}
void read_instance_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  Centered n = center(c, x, axes_from(c, x, 2), c.attr_float("epsilon", 1e-5f));
  ValueId y = c.emit(OpId::kMul, {n.centered, n.inv_std});
  auto channels = [&](int i) { return per_channel(c, floats_of(c, c.in(i)), c.rank(x)); };
  y = c.emit(OpId::kMul, {y, channels(1)});
  c.set(0, cast(c, c.emit(OpId::kAdd, {y, channels(2)}), dtype));
}
void read_mean_variance_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  auto axes = c.attr_ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  // ONNX Runtime's first version
  if (c.opset < 9 && c.attr_int("across_channels", 0) != 0) axes = {0, 1, 2, 3};
  ValueId d = c.emit(OpId::kSub, {x, reduce(c, OpId::kReduceMean, x, axes, true)});
  if (c.opset < 9 && c.attr_int("normalize_variance", 1) == 0) return c.set(0, cast(c, d, dtype));
  ValueId var = reduce(c, OpId::kReduceMean, c.emit(OpId::kMul, {d, d}), axes, true);
  // here the epsilon is added to the deviation
  ValueId deviation = c.emit(OpId::kAdd, {c.emit(OpId::kSqrt, {var}), c.scalar(x, 1e-9)});
  c.set(0, cast(c, c.emit(OpId::kDiv, {d, deviation}), dtype));
}
void read_lp_norm(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  int64_t p = c.attr_int("p", 2);
  ReduceAttrs a = over({c.attr_int("axis", -1)});
  if (p != 1 && p != 2) c.fail("p must be 1 or 2");
  ValueId size =
      p == 1 ? c.emit(OpId::kReduceSum, a, {c.emit(OpId::kAbs, {x})})
             : c.emit(OpId::kSqrt, {c.emit(OpId::kReduceSum, a, {c.emit(OpId::kMul, {x, x})})});
  // 0 / 0 is 0 here
  ValueId zero = c.emit(OpId::kEqual, {size, c.scalar(x, 0)});
  size = c.emit(OpId::kWhere, {zero, c.scalar(x, 1), size});
  c.set(0, cast(c, c.emit(OpId::kDiv, {x, size}), dtype));
}

}  // namespace

WICK_READ(BatchNormalization, read_batch_norm);
WICK_READ(Softmax, read_softmax<OpId::kSoftmax>);
WICK_READ(LogSoftmax, read_softmax<OpId::kLogSoftmax>);
WICK_READ(LayerNormalization, read_layer_norm);
WICK_READ(RMSNormalization, read_rms_norm);
WICK_READ(InstanceNormalization, read_instance_norm);
WICK_READ(MeanVarianceNormalization, read_mean_variance_norm);
WICK_READ(LpNormalization, read_lp_norm);

WICK_ONNX_ROW(BatchNorm, [](WriteCtx& c) {
  set_float(c.same("BatchNormalization"), "epsilon", c.as<BatchNormAttrs>().epsilon);
});
WICK_ONNX_ROW(Softmax,
              [](WriteCtx& c) { set_int(c.same("Softmax"), "axis", c.as<AxisAttrs>().axis); });
WICK_ONNX_ROW(LogSoftmax,
              [](WriteCtx& c) { set_int(c.same("LogSoftmax"), "axis", c.as<AxisAttrs>().axis); });

}  // namespace wick::onnx
