#include "exporter/onnx/ml/ml.h"

#include <algorithm>
#include <cmath>

namespace wick::onnx {

ValueId rows_of(ReadCtx& c) {
  ValueId x = c.in(0);
  const int rank = rank_or(c, x, 2);
  if (rank == 1) return reshape(c, x, {1, -1});
  if (rank != 2) c.fail("needs rows of features, [N, F] or [F], got " + shape_text(shape(c, x)));
  return x;
}

ValueId floats_constant(ReadCtx& c, const std::vector<double>& values, const Shape& shape) {
  std::vector<float> narrow(values.begin(), values.end());
  return c.constant(HostTensor::of(shape, narrow));
}

ValueId column_range(ReadCtx& c, ValueId rows, int64_t from, int64_t to) {
  SliceAttrs a;
  a.axes = {1}, a.starts = {from}, a.ends = {to};
  return c.emit(OpId::kSlice, a, {rows});
}

ValueId gather(ReadCtx& c, ValueId v, ValueId index, int64_t axis) {
  return c.emit(OpId::kGather, AxisAttrs{axis}, {v, index});
}

Classes classes_of(ReadCtx& c, const char* strings, const char* ints) {
  const std::vector<std::string> words = c.attr_strings(strings);
  const std::vector<int64_t> numbers = c.attr_ints(ints);
  if (words.empty() == numbers.empty()) {
    c.fail(std::string(words.empty() ? "needs one of " : "takes one of ") + strings + " and " +
           ints + (words.empty() ? "" : ", not both"));
  }
  if (words.empty()) return {HostTensor::ints(numbers)};
  return {HostTensor::strings(Shape{static_cast<int64_t>(words.size())}, words)};
}

ValueId label_of(ReadCtx& c, const Classes& classes, ValueId index) {
  return gather(c, c.constant(classes.labels), index, 0);
}

ValueId best_of(ReadCtx& c, ValueId scores) {
  return c.emit(OpId::kArgMax, ArgAttrs{1, 0, 0}, {scores});
}

ValueId above(ReadCtx& c, ValueId score, double threshold) {
  ValueId is = c.emit(OpId::kGreater, {score, c.scalar(score, threshold)});
  return reshape(c, cast(c, is, DType::kI64), {-1});
}

Transform transform_of(ReadCtx& c) {
  constexpr const char* kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::string name = c.attr_string("post_transform", "NONE");
  const auto at = std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames);
  if (at == std::ssize(kNames)) c.fail("unknown post_transform '" + name + "'");
  return static_cast<Transform>(at);
}

namespace {

// e^(s - most) / sum; a score of 0 takes part in neither, and is s e^-most.
ValueId softmax_zero(ReadCtx& c, ValueId s) {
  ValueId most = reduce(c, OpId::kReduceMax, s, {1}, true);
  ValueId exp = c.emit(OpId::kExp, {minus(c, s, most)});
  ValueId zero = times(c, s, c.emit(OpId::kExp, {negative(c, most)}));
  ValueId counts = c.emit(OpId::kGreater, {c.emit(OpId::kAbs, {s}), c.scalar(s, 1e-7)});
  ValueId sum = c.emit(OpId::kWhere, {counts, exp, c.scalar(s, 0)});
  sum = reduce(c, OpId::kReduceSum, sum, {1}, true);
  return over(c, c.emit(OpId::kWhere, {counts, exp, zero}), sum);
}

// sqrt(2) erfinv(2 s - 1), by the formula that ONNX Runtime has for it.
ValueId probit(ReadCtx& c, ValueId s) {
  const auto number = [&](double v) { return c.scalar(s, v); };
  ValueId x = minus(c, times(c, s, number(2)), number(1));
  ValueId product = times(c, minus(c, number(1), x), plus(c, number(1), x));
  ValueId log = c.emit(OpId::kLog, {product});
  constexpr float kShare = 0.147f, kPi = 3.14159265f;
  ValueId v = plus(c, number(2 / (kPi * kShare)), times(c, number(0.5), log));
  ValueId w = times(c, number(1 / kShare), log);
  ValueId root = c.emit(OpId::kSqrt, {minus(c, times(c, v, v), w)});
  ValueId size = c.emit(OpId::kSqrt, {minus(c, root, v)});
  ValueId below = c.emit(OpId::kLess, {x, number(0)});
  return times(c, number(std::sqrt(2.0)), c.emit(OpId::kWhere, {below, negative(c, size), size}));
}

}  // namespace

ValueId transformed(ReadCtx& c, Transform how, ValueId scores) {
  switch (how) {
    case Transform::kNone: return scores;
    case Transform::kSoftmax: return c.emit(OpId::kSoftmax, AxisAttrs{1}, {scores});
    case Transform::kLogistic: return c.emit(OpId::kSigmoid, {scores});
    case Transform::kSoftmaxZero: return softmax_zero(c, scores);
    case Transform::kProbit: break;
  }
  return probit(c, scores);
}

ValueId transformed_targets(ReadCtx& c, Transform how, ValueId scores, int64_t targets) {
  return targets == 1 && how != Transform::kProbit ? scores : transformed(c, how, scores);
}

ValueId both_classes(ReadCtx& c, Transform how, ValueId score, bool shares) {
  if (how == Transform::kProbit) c.fail("PROBIT of one class of two has no meaning");
  if (how == Transform::kLogistic) {
    ValueId s = cast(c, score, DType::kF32);
    return c.emit(OpId::kSigmoid, {concat(c, {negative(c, s), s}, 1)});
  }
  ValueId other = shares ? minus(c, c.scalar(score, 1), score) : negative(c, score);
  return cast(c, concat(c, {other, score}, 1), DType::kF32);
}

}  // namespace wick::onnx
