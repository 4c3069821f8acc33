#include "exporter/tflite/families/hybrid.h"

namespace wick::tflite {
namespace {

// Rounds to the nearest, halves away from 0.
ValueId rounded(ReadCtx& c, ValueId v) {
  const ValueId half = c.scalar(0.5);
  const ValueId up = c.emit(OpId::kFloor, {c.emit(OpId::kAdd, {v, half})});
  const ValueId down = c.emit(OpId::kCeil, {c.emit(OpId::kSub, {v, half})});
  return c.emit(OpId::kWhere, {c.emit(OpId::kLess, {v, c.scalar(0)}), down, up});
}

ValueId extreme(ReadCtx& c, OpId op, ValueId x) {
  ReduceAttrs a;
  for (int d = 1; d < c.g.value(x).shape.rank(); ++d) a.axes.values[a.axes.count++] = d;
  a.noop_with_empty_axes = 1;
  return c.emit(op, a, {x});
}

ValueId double_scalar(ReadCtx& c, double value) {
  return c.g.add_constant(HostTensor::of<double>({}, {value}));
}

// A batch of zeros has the scale 1.
AtRun symmetric(ReadCtx& c, ValueId x) {
  const ValueId steps = c.scalar(127),
                largest = extreme(c, OpId::kReduceMax, c.emit(OpId::kAbs, {x}));
  const ValueId none = c.emit(OpId::kEqual, {largest, c.scalar(0)});
  const ValueId range = c.emit(OpId::kWhere, {none, steps, largest});
  const ValueId inverse = c.emit(OpId::kDiv, {steps, range});
  const ValueId q = rounded(c, c.emit(OpId::kMul, {x, inverse}));
  return {c.emit(OpId::kClip, ClipAttrs{-127, 127}, {q}), c.emit(OpId::kDiv, {range, steps})};
}

// The range holds 0, and the zero point is whole; both are found in double.
AtRun asymmetric(ReadCtx& c, ValueId x) {
  const auto op = [&](OpId o, ValueId a, ValueId b) { return c.emit(o, {a, b}); };
  const ValueId zero = double_scalar(c, 0), low = double_scalar(c, -128),
                high = double_scalar(c, 127);
  const auto end = [&](OpId o, OpId with) {
    return op(with, c.cast(extreme(c, o, x), DType::kF64), zero);
  };
  const ValueId least = end(OpId::kReduceMin, OpId::kMin), most = end(OpId::kReduceMax, OpId::kMax);
  const ValueId span = op(OpId::kSub, most, least);
  const ValueId none = op(OpId::kEqual, span, zero);
  const ValueId steps = double_scalar(c, 255);
  const ValueId scale = op(OpId::kDiv, c.emit(OpId::kWhere, {none, steps, span}), steps);
  // The zero point comes from the end whose rounding is off by less.
  const ValueId below = op(OpId::kDiv, least, scale), above = op(OpId::kDiv, most, scale);
  const ValueId from_low = op(OpId::kSub, low, below), from_high = op(OpId::kSub, high, above);
  const ValueId low_error = op(OpId::kSub, double_scalar(c, 128), below);
  const ValueId nearer = op(OpId::kLess, low_error, op(OpId::kAdd, high, above));
  const ValueId point = c.emit(OpId::kWhere, {nearer, from_low, from_high});
  const ValueId inside = c.emit(OpId::kClip, ClipAttrs{-128, 127}, {point});
  const ValueId half = c.cast(inside, DType::kF32);
  ValueId offset = rounded(c, half);
  offset = c.emit(OpId::kWhere, {none, c.scalar(0), offset});
  const ValueId narrow = c.cast(scale, DType::kF32);
  const ValueId inverse = op(OpId::kDiv, c.scalar(1), narrow);
  const ValueId q = rounded(c, op(OpId::kAdd, offset, op(OpId::kMul, x, inverse)));
  const ValueId kept = c.emit(OpId::kClip, ClipAttrs{-128, 127}, {q});
  return {op(OpId::kSub, kept, offset), narrow};
}

}  // namespace

bool is_hybrid(const ReadCtx& c, int input, int weight) {
  const Tensor &x = c.input(input), &w = c.input(weight);
  return !x.quantized() && x.dtype == DType::kF32 && w.quantized() &&
         (w.dtype == DType::kI8 || w.dtype == DType::kU8);
}

AtRun quantized_at_run(ReadCtx& c, ValueId x, Range range) {
  if (!c.g.value(x).ranked) c.fail("the number of its input's dims must be known");
  return range == Range::kSymmetric ? symmetric(c, x) : asymmetric(c, x);
}

ValueId whole_weight(ReadCtx& c, int weight, const std::vector<int64_t>& perm) {
  for (const int64_t z : c.input(weight).how.zeros) {
    if (z != 0) c.fail("the zero points of its weight must be 0 where its input is float32");
  }
  // The first files of this kind have the bits of an int8 in a uint8.
  return c.cast(c.cast(c.raw_weight(weight, perm), DType::kI8), DType::kF32);
}

ValueId scaled(ReadCtx& c, ValueId sums, const AtRun& x, int weight, int axis, int dims) {
  const std::vector<float>& scales = c.input(weight).how.scales;
  if (scales.size() == 1)
    return c.emit(OpId::kMul, {sums, c.emit(OpId::kMul, {x.scale, c.scalar(scales[0])})});
  Shape shape;
  for (int d = 0; d < dims; ++d)
    shape.push_back(d == axis ? static_cast<int64_t>(scales.size()) : 1);
  const ValueId each = c.g.add_constant(HostTensor::of(shape, scales));
  return c.emit(OpId::kMul, {c.emit(OpId::kMul, {sums, each}), x.scale});
}

}  // namespace wick::tflite
