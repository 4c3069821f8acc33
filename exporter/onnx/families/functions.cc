// Operators that are short formulas over other ops.
#include "exporter/onnx/read/compose.h"

namespace wick::onnx {
namespace {

ValueId mul(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kMul, {a, b}); }
ValueId add(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kAdd, {a, b}); }
ValueId div(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kDiv, {a, b}); }

std::vector<int64_t> range(int from, int to) {
  std::vector<int64_t> v;
  for (int i = from; i < to; ++i) v.push_back(i);
  return v;
}

// Reshapes a scale or bias, with one value per channel, to axis 1 of a tensor of this rank.
ValueId per_channel(ReadCtx& c, ValueId v, int rank) {
  return rank > 2 ? unsqueeze(c, v, range(1, rank - 1)) : v;
}

void group_norm(ReadCtx& c) {
  DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  int64_t groups = c.attr_int("num_groups", 0);
  int rank = c.rank(x);
  if (groups < 1 || rank < 2) c.fail("num_groups must be >= 1 and the rank >= 2");
  ValueId count = c.int_constant({groups});  // explicit sizes, no -1: a batch may be empty
  ValueId rest = div(c, reduce(c, OpId::kReduceProd, dims(c, x, 1, rank), {0}, true), count);
  ValueId grouped = reshape_to(c, x, concat(c, {dim(c, x, 0), count, rest}, 0));
  ValueId normal = standardize(c, grouped, {2}, c.attr_float("epsilon", 1e-5f)).normal;
  for (int i : {1, 2}) {
    const char* what = i == 1 ? "scale" : "bias";
    check_rank(c, c.in(i), 1, what);
    if (c.opset >= 21) check_size(c, c.in(i), 0, x, 1, what);
  }
  ValueId scale = cast(c, c.in(1), c.dtype(x)), bias = cast(c, c.in(2), c.dtype(x));
  if (c.opset < 21) {  // one scale per group
    ValueId y = add(c, mul(c, normal, unsqueeze(c, scale, {1})), unsqueeze(c, bias, {1}));
    return c.set(0, cast(c, reshape_like(c, y, x), dtype));
  }
  ValueId y = reshape_like(c, normal, x);
  if (!is_filler(c, 1, 1)) y = mul(c, y, per_channel(c, scale, rank));
  if (!is_filler(c, 2, 0)) y = add(c, y, per_channel(c, bias, rank));
  c.set(0, cast(c, y, dtype));
}

void lrn(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  int64_t size = c.attr_int("size", 0);
  double alpha = c.attr_float("alpha", 1e-4f), beta = c.attr_float("beta", 0.75),
         bias = c.attr_float("bias", 1);
  if (size < 1 || size > 1 << 16 || c.rank(x) < 3) c.fail("size must be >= 1 and the rank >= 3");
  // The window slides along the channels: they become a spatial axis of one-channel images.
  ValueId rest = reduce(c, OpId::kReduceProd, dims(c, x, 2, c.rank(x)), {0}, true);
  ValueId images = concat(c, {dim(c, x, 0), c.int_constant({1}), dim(c, x, 1), rest}, 0);
  ValueId square = reshape_to(c, mul(c, x, x), images);
  PoolAttrs a;
  a.kernel_shape = {size, 1};
  a.pads = {(size - 1) / 2, 0, size - 1 - (size - 1) / 2, 0};
  a.count_include_pad = 1;
  ValueId mean = reshape_like(c, c.emit(OpId::kAveragePool, a, {square}), x);
  ValueId base = add(c, mul(c, mean, c.scalar(x, alpha)), c.scalar(x, bias));
  c.set(0, cast(c, div(c, x, c.emit(OpId::kPow, {base, c.scalar(x, beta)})), dtype));
}

void global_lp(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0));
  const AttributeProto* given = c.attr("p");  // a float before opset 2
  const bool real = given != nullptr && given->type() == AttributeProto::FLOAT;
  double p = real ? c.attr_float("p", 2) : static_cast<double>(c.attr_int("p", 2));
  if (!(p > 0)) c.fail("p must be positive");
  ValueId power = c.emit(OpId::kPow, {c.emit(OpId::kAbs, {x}), c.scalar(x, p)});
  ValueId sum = reduce(c, OpId::kReduceSum, power, range(2, c.rank(x)), true);
  c.set(0, cast(c, c.emit(OpId::kPow, {sum, c.scalar(x, 1 / p)}), dtype));
}

void finish(ReadCtx& c, ValueId log_prob, ValueId target, ValueId weight) {
  std::string reduction = c.attr_string("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    c.fail("reduction " + reduction + " is unknown");
  if (weight != kNoValue) {
    check_rank(c, weight, 1, "weight");
    check_size(c, weight, 0, log_prob, 1, "weight");
  }
  if (ranked(c, log_prob)) check_rank(c, target, c.rank(log_prob) - 1, "target");
  for (int i = 0; ranked(c, target) && i < c.rank(target); ++i)
    check_size(c, target, i, log_prob, i == 0 ? 0 : i + 1, "target");
  bool ignores = (c.attr("ignore_index") != nullptr);
  int64_t ignore = c.attr_int("ignore_index", 0);
  target = cast(c, target, DType::kI64);
  ValueId zero = int_scalar(c, 0);
  ValueId skipped = kNoValue, index = target;
  if (ignores) {
    skipped =
        c.emit(OpId::kEqual, {target, c.constant(HostTensor(DType::kI64, Shape{}, &ignore, 8))});
    index = c.emit(OpId::kWhere, {skipped, zero, target});
  }
  ValueId picked =
      c.emit(OpId::kGatherElements, AxisAttrs{1}, {log_prob, unsqueeze(c, index, {1})});
  ValueId loss = c.emit(OpId::kNeg, {c.emit(OpId::kSqueeze, AxesAttrs{{1}}, {picked})});
  ValueId each = kNoValue;  // the weight of each target; 1 if there is none
  if (weight != kNoValue) each = c.emit(OpId::kGather, AxisAttrs{0}, {weight, index});
  if (ignores) {
    ValueId nothing = c.scalar(loss, 0);
    if (each == kNoValue)
      each = c.emit(OpId::kWhere, {skipped, nothing, c.scalar(loss, 1)});
    else
      each = c.emit(OpId::kWhere, {skipped, nothing, each});
  }
  if (each != kNoValue) loss = c.emit(OpId::kMul, {loss, each});
  if (reduction == "none") return c.set(0, loss);
  if (reduction == "sum") return c.set(0, c.emit(OpId::kReduceSum, ReduceAttrs{{}, 0, 0}, {loss}));
  if (each == kNoValue) return c.set(0, c.emit(OpId::kReduceMean, ReduceAttrs{{}, 0, 0}, {loss}));
  ValueId total = c.emit(OpId::kReduceSum, ReduceAttrs{{}, 0, 0}, {loss});
  c.set(0, c.emit(OpId::kDiv, {total, c.emit(OpId::kReduceSum, ReduceAttrs{{}, 0, 0}, {each})}));
}

void nll(ReadCtx& c) { finish(c, c.in(0), c.in(1), c.optional(2)); }

void softmax_cross_entropy(ReadCtx& c) {
  ValueId log_prob = c.emit(OpId::kLogSoftmax, AxisAttrs{1}, {c.in(0)});
  finish(c, log_prob, c.in(1), c.optional(2));
  c.set(1, log_prob);
}

}  // namespace

WICK_READ(GroupNormalization, group_norm);
WICK_READ(LRN, lrn);
WICK_READ(GlobalLpPool, global_lp);
WICK_READ(NegativeLogLikelihoodLoss, nll);
WICK_READ(SoftmaxCrossEntropyLoss, softmax_cross_entropy);

}  // namespace wick::onnx
