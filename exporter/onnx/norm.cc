#include "exporter/onnx/read.h"
#include "exporter/onnx/write.h"

namespace wick::onnx {
namespace {

void read_batch_norm(ReadCtx& c) {
  if (c.attr_int("training_mode", 0) != 0)
    c.fail("training_mode 1 is not supported: export the model in eval mode");
  if (c.opset < 7 && c.attr_int("is_test", 0) == 0) c.fail("is_test 0 (training) is not supported");
  if (c.attr_int("spatial", 1) == 0) c.fail("spatial 0 is not supported");
  BatchNormAttrs a{c.attr_float("epsilon", 1e-5f)};
  c.set(0, c.emit(OpId::kBatchNorm, a, {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)}));
}

// Before opset 13 the axes from `axis` on are one: flatten, act on the last axis, restore the
// shape.
template <OpId op>
void read_softmax(ReadCtx& c) {
  ValueId x = c.in(0);
  if (c.opset >= 13) return c.set(0, c.emit(op, AxisAttrs{c.attr_int("axis", -1)}, {x}));
  int64_t axis = c.attr_int("axis", 1), rank = c.rank(x);
  if (axis < 0) axis += rank;
  if (axis == rank - 1) return c.set(0, c.emit(op, AxisAttrs{-1}, {x}));
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

void read_layer_norm(ReadCtx& c) {
  ValueId x = c.in(0);
  Centered n =
      center(c, x, axes_from(c, x, c.attr_int("axis", -1)), c.attr_float("epsilon", 1e-5f));
  ValueId y = c.emit(OpId::kMul, {c.emit(OpId::kMul, {n.centered, n.inv_std}), c.in(1)});
  if (c.has(2)) y = c.emit(OpId::kAdd, {y, c.in(2)});
  c.set(0, y);
  c.set(1, n.mean);
  c.set(2, n.inv_std);
}
void read_rms_norm(ReadCtx& c) {
  ValueId x = c.in(0);
  ReduceAttrs a = over(axes_from(c, x, c.attr_int("axis", -1)));
  ValueId mean = c.emit(OpId::kReduceMean, a, {c.emit(OpId::kMul, {x, x})});
  ValueId root = c.emit(OpId::kSqrt,
                        {c.emit(OpId::kAdd, {mean, c.scalar(x, c.attr_float("epsilon", 1e-5f))})});
  c.set(0, c.emit(OpId::kMul, {c.emit(OpId::kDiv, {x, root}), c.in(1)}));
}
// [C] as [C, 1, 1 ...], to meet [N, C, spatial...].
ValueId per_channel(ReadCtx& c, ValueId v, int rank) {
  AxesAttrs a;
  for (int i = 1; i < rank - 1; ++i) a.axes.values[a.axes.count++] = i;
  return a.axes.empty() ? v : c.emit(OpId::kUnsqueeze, a, {v});
}
void read_instance_norm(ReadCtx& c) {
  ValueId x = c.in(0);
  Centered n = center(c, x, axes_from(c, x, 2), c.attr_float("epsilon", 1e-5f));
  ValueId y = c.emit(OpId::kMul, {n.centered, n.inv_std});
  y = c.emit(OpId::kMul, {y, per_channel(c, c.in(1), c.rank(x))});
  c.set(0, c.emit(OpId::kAdd, {y, per_channel(c, c.in(2), c.rank(x))}));
}
void read_mean_variance_norm(ReadCtx& c) {
  ValueId x = c.in(0);
  auto axes = c.attr_ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  Centered n = center(c, x, axes, 1e-9);
  c.set(0, c.emit(OpId::kMul, {n.centered, n.inv_std}));
}
void read_lp_norm(ReadCtx& c) {
  ValueId x = c.in(0);
  int64_t p = c.attr_int("p", 2);
  ReduceAttrs a = over({c.attr_int("axis", -1)});
  if (p != 1 && p != 2) c.fail("p must be 1 or 2");
  ValueId size =
      p == 1 ? c.emit(OpId::kReduceSum, a, {c.emit(OpId::kAbs, {x})})
             : c.emit(OpId::kSqrt, {c.emit(OpId::kReduceSum, a, {c.emit(OpId::kMul, {x, x})})});
  // 0 / 0 is 0 here
  ValueId zero = c.emit(OpId::kEqual, {size, c.scalar(x, 0)});
  c.set(0, c.emit(OpId::kDiv, {x, c.emit(OpId::kWhere, {zero, c.scalar(x, 1), size})}));
}

constexpr ReadRow kRows[] = {
    {"BatchNormalization", read_batch_norm},
    {"Softmax", read_softmax<OpId::kSoftmax>},
    {"LogSoftmax", read_softmax<OpId::kLogSoftmax>},
    {"LayerNormalization", read_layer_norm},
    {"RMSNormalization", read_rms_norm},
    {"InstanceNormalization", read_instance_norm},
    {"MeanVarianceNormalization", read_mean_variance_norm},
    {"LpNormalization", read_lp_norm},
};

}  // namespace

Span<const ReadRow> norm_rows() { return kRows; }

WICK_ONNX_ROW(BatchNorm, [](WriteCtx& c) {
  set_float(c.same("BatchNormalization"), "epsilon", c.as<BatchNormAttrs>().epsilon);
});
WICK_ONNX_ROW(Softmax,
              [](WriteCtx& c) { set_int(c.same("Softmax"), "axis", c.as<AxisAttrs>().axis); });
WICK_ONNX_ROW(LogSoftmax,
              [](WriteCtx& c) { set_int(c.same("LogSoftmax"), "axis", c.as<AxisAttrs>().axis); });

}  // namespace wick::onnx
