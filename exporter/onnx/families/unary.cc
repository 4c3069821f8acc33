#include <cmath>
#include <map>
#include <optional>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/read/read.h"
#include "exporter/onnx/training.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

template <OpId op>
void read_plain(ReadCtx& c) {
  c.set(0, c.emit(op, {c.in(0)}));
}

// Integers are computed as reals, and the result is cut off as a cast does.
void read_erf(ReadCtx& c) {
  ValueId x = c.in(0);
  const DType dtype = c.dtype(x);
  if (is_int(dtype)) x = cast(c, x, DType::kF64);
  c.set(0, cast(c, c.emit(OpId::kErf, {x}), dtype));
}
void read_leaky_relu(ReadCtx& c) {
  c.set(0, c.emit(OpId::kLeakyRelu, LeakyReluAttrs{c.attr_float("alpha", 0.01f)}, {c.in(0)}));
}
void read_elu(ReadCtx& c) {
  c.set(0, c.emit(OpId::kElu, EluAttrs{c.attr_float("alpha", 1)}, {c.in(0)}));
}
void read_hard_sigmoid(ReadCtx& c) {
  HardSigmoidAttrs a{c.attr_float("alpha", 0.2f), c.attr_float("beta", 0.5)};
  c.set(0, c.emit(OpId::kHardSigmoid, a, {c.in(0)}));
}
void read_clip(ReadCtx& c) {
  if (c.opset < 11) {
    ValueId x = c.in(0);
    auto bound = [&](const char* name) {
      return c.attr(name) == nullptr ? kNoValue : c.scalar(x, c.attr_float(name, 0), name);
    };
    return c.set(0, c.emit(OpId::kClip, ClipAttrs{}, {x, bound("min"), bound("max")}));
  }
  c.set(0, c.emit(OpId::kClip, ClipAttrs{}, {c.in(0), c.optional(1), c.optional(2)}));
}
void read_cast_to(ReadCtx& c, int64_t to) {
  static const std::map<std::string, RoundMode> kModes = {
      {"up", RoundMode::kUp}, {"down", RoundMode::kDown}, {"nearest", RoundMode::kNearest}};
  const std::string mode = c.attr_string("round_mode", "up");
  const auto found = kModes.find(mode);
  if (found == kModes.end()) c.fail("unknown round_mode '" + mode + "'");
  CastAttrs a{to};
  // A cast that does not depend on these attributes drops them, so that equal casts compare equal.
  const bool eight = to >= 0 && to < kDTypeCount && is_small_float(static_cast<DType>(to)) &&
                     dtype_bits(static_cast<DType>(to)) == 8;
  if (eight) a.saturate = c.attr_int("saturate", 1) != 0;
  if (to == static_cast<int64_t>(DType::kF8E8M0))
    a.round_mode = static_cast<int64_t>(found->second);
  const bool text =
      to == static_cast<int64_t>(DType::kString) || c.dtype(c.in(0)) == DType::kString;
  c.set(0, c.emit(text ? OpId::kCastString : OpId::kCast, a, {c.in(0)}));
}
void read_cast(ReadCtx& c) {
  if (c.attr("to") == nullptr) c.fail("attribute 'to' is required");
  if (c.opset >= 6) return read_cast_to(c, c.attr_int("to", 1));
  const std::string name = c.attr_string("to", "");  // opset 1 spells the dtype
  static const std::map<std::string, DType> kNames = {
      {"FLOAT", DType::kF32},    {"UINT8", DType::kU8},   {"INT8", DType::kI8},
      {"UINT16", DType::kU16},   {"INT16", DType::kI16},  {"INT32", DType::kI32},
      {"INT64", DType::kI64},    {"BOOL", DType::kBool},  {"FLOAT16", DType::kF16},
      {"DOUBLE", DType::kF64},   {"UINT32", DType::kU32}, {"UINT64", DType::kU64},
      {"STRING", DType::kString}};
  const auto to = kNames.find(name);
  if (to == kNames.end()) c.fail("cannot cast to '" + name + "'");
  read_cast_to(c, static_cast<int64_t>(to->second));
}
void read_cast_like(ReadCtx& c) { read_cast_to(c, static_cast<int64_t>(c.dtype(c.in(1)))); }

// Functions that are short compositions.
void read_mish(ReadCtx& c) {
  ValueId x = c.in(0);
  c.set(0, c.emit(OpId::kMul, {x, c.emit(OpId::kTanh, {c.emit(OpId::kSoftplus, {x})})}));
}
void read_softsign(ReadCtx& c) {
  ValueId x = c.in(0);
  ValueId below = c.emit(OpId::kAdd, {c.emit(OpId::kAbs, {x}), c.scalar(x, 1)});
  c.set(0, c.emit(OpId::kDiv, {x, below}));
}
void read_selu(ReadCtx& c) {
  double alpha = c.attr_float("alpha", 1.67326319217681884765625f),
         gamma = c.attr_float("gamma", 1.05070102214813232421875f);
  ValueId x = c.emit(OpId::kElu, EluAttrs{alpha}, {c.in(0)});
  c.set(0, c.emit(OpId::kMul, {x, c.scalar(x, gamma, "gamma")}));
}
void read_celu(ReadCtx& c) {  // alpha * elu(x / alpha)
  double alpha = c.attr_float("alpha", 1);
  ValueId x = c.in(0), a = c.scalar(x, alpha, "alpha");
  ValueId inner = c.emit(OpId::kElu, EluAttrs{1}, {c.emit(OpId::kDiv, {x, a})});
  c.set(0, c.emit(OpId::kMul, {inner, a}));
}
void read_thresholded_relu(ReadCtx& c) {
  ValueId x = c.in(0), alpha = c.scalar(x, c.attr_float("alpha", 1), "alpha");
  c.set(0, c.emit(OpId::kWhere, {c.emit(OpId::kGreater, {x, alpha}), x, c.scalar(x, 0)}));
}
void read_shrink(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  // Integers are computed as reals: the bounds need not be whole, nor need the lower one be
  // representable.
  ValueId x = is_int(dtype) ? cast(c, c.in(0), DType::kF64) : c.in(0);
  double lambd = c.attr_float("lambd", 0.5);
  ValueId bias = c.scalar(x, c.attr_float("bias", 0));
  ValueId up = c.emit(OpId::kWhere, {c.emit(OpId::kGreater, {x, c.scalar(x, lambd)}),
                                     c.emit(OpId::kSub, {x, bias}), c.scalar(x, 0)});
  ValueId y = c.emit(OpId::kWhere, {c.emit(OpId::kLess, {x, c.scalar(x, -lambd)}),
                                    c.emit(OpId::kAdd, {x, bias}), up});
  c.set(0, cast(c, y, dtype));
}
void read_prelu(ReadCtx& c) {
  ValueId x = c.in(0), slope = c.in(1);
  // Before opset 7 a slope had one value per channel and was not broadcast from the last dim.
  if (c.opset < 7 && c.rank(slope) == 1 && c.rank(x) > 2) {
    std::vector<int64_t> behind;
    for (int i = 1; i + 1 < c.rank(x); ++i) behind.push_back(i);
    slope = unsqueeze(c, slope, behind);
  }
  c.set(0, c.emit(OpId::kPRelu, {x, slope}));
}
ValueId f32_scalar(ReadCtx& c, double v) {
  return c.constant(HostTensor::of<float>({}, {static_cast<float>(v)}));
}
// From opset 12 on training is an input. Before, the op of an inference model (opset 6: is_test)
// drops nothing.
void read_dropout(ReadCtx& c) {
  ValueId x = c.in(0);
  auto constant = [&](int k) -> std::optional<double> {
    if (!c.has(k)) return std::nullopt;
    const Value& v = c.g.value(c.in(k));
    if (v.origin != ValueOrigin::kConstant || v.constant.numel() != 1) return std::nullopt;
    return element_as_double(v.constant, 0);
  };
  if (TrainingScope::on()) {
    std::vector<ValueId> in = {x};
    if (c.opset < 12) in.push_back(c.scalar(x, c.attr_float("ratio", 0.5)));
    if (c.opset >= 12 && c.has(1)) in.push_back(c.in(1));
    return c.emit_all(OpId::kDropout, NoAttrs{}, std::move(in), 2);
  }
  const auto ratio = constant(1), training = constant(2);
  const bool early =
      c.opset < 7 && c.attr_int("is_test", 0) == 0 && c.attr_float("ratio", 0.5) != 0;
  if (early || (c.has(2) && training && training != 0.0 && ratio != 0.0)) {
    const double rate = c.opset < 12 ? c.attr_float("ratio", 0.5) : 0.5;
    const Dropped d = drop_out(c, x, c.has(1) ? reshape(c, c.in(1), {}) : f32_scalar(c, rate));
    c.set(0, d.y);
    return c.set(1, c.opset < 10 && c.wants(1) ? cast(c, d.kept, c.dtype(x)) : d.kept);
  }
  if (c.has(2) && training != 0.0 && ratio != 0.0) {
    ValueId rate = c.optional(1);
    if (rate != kNoValue && is_small(c.dtype(rate))) rate = cast(c, rate, DType::kF32);
    return c.emit_all(OpId::kDropout, NoAttrs{}, {x, rate, c.in(2)}, 2);
  }
  c.set(0, c.emit(OpId::kIdentity, {x}));
  if (!c.wants(1)) return;
  // From opset 12 on the mask says that everything is kept; before, ONNX does not define it in
  // inference, and it is ONNX Runtime's: 0.
  HostTensor all(DType::kBool, Shape{});
  *all.as<uint8_t>() = c.opset < 12 ? 0 : 1;
  ValueId shape = c.emit(OpId::kShape, ShapeOpAttrs{}, {x});
  ValueId one = c.opset < 10 ? c.scalar(x, 0) : c.constant(all);
  c.set(1, c.emit(OpId::kExpand, ShapeAttrs{}, {one, shape}));
}

// Identity passes a sequence through: what is known of it stays known.
void read_identity(ReadCtx& c) {
  ValueId x = c.in(0);
  c.set(0, is_container(c.dtype(x)) ? x : c.emit(OpId::kIdentity, {x}));
}

}  // namespace

WICK_READ(Identity, read_identity);
WICK_READ(Relu, read_plain<OpId::kRelu>);
WICK_READ(LeakyRelu, read_leaky_relu);
WICK_READ(Elu, read_elu);
WICK_READ(Sigmoid, read_plain<OpId::kSigmoid>);
WICK_READ(Tanh, read_plain<OpId::kTanh>);
WICK_READ(HardSwish, read_plain<OpId::kHardSwish>);
WICK_READ(HardSigmoid, read_hard_sigmoid);
WICK_READ(Softplus, read_plain<OpId::kSoftplus>);
WICK_READ(Exp, read_plain<OpId::kExp>);
WICK_READ(Log, read_plain<OpId::kLog>);
WICK_READ(Sqrt, read_plain<OpId::kSqrt>);
WICK_READ(Reciprocal, read_plain<OpId::kReciprocal>);
WICK_READ(Erf, read_erf);
WICK_READ(Sin, read_plain<OpId::kSin>);
WICK_READ(Cos, read_plain<OpId::kCos>);
WICK_READ(Tan, read_plain<OpId::kTan>);
WICK_READ(Asin, read_plain<OpId::kAsin>);
WICK_READ(Acos, read_plain<OpId::kAcos>);
WICK_READ(Atan, read_plain<OpId::kAtan>);
WICK_READ(Sinh, read_plain<OpId::kSinh>);
WICK_READ(Cosh, read_plain<OpId::kCosh>);
WICK_READ(Asinh, read_plain<OpId::kAsinh>);
WICK_READ(Acosh, read_plain<OpId::kAcosh>);
WICK_READ(Atanh, read_plain<OpId::kAtanh>);
WICK_READ(Neg, read_plain<OpId::kNeg>);
WICK_READ(Abs, read_plain<OpId::kAbs>);
WICK_READ(Floor, read_plain<OpId::kFloor>);
WICK_READ(Ceil, read_plain<OpId::kCeil>);
WICK_READ(Round, read_plain<OpId::kRound>);
WICK_READ(Sign, read_plain<OpId::kSign>);
WICK_READ(Not, read_plain<OpId::kNot>);
WICK_READ(Clip, read_clip);
WICK_READ(Cast, read_cast);
WICK_READ(CastLike, read_cast_like);
WICK_READ(Mish, read_mish);
WICK_READ(Softsign, read_softsign);
WICK_READ(Selu, read_selu);
WICK_READ(Celu, read_celu);
WICK_READ(ThresholdedRelu, read_thresholded_relu);
WICK_READ(Shrink, read_shrink);
WICK_READ(PRelu, read_prelu);
WICK_READ(Dropout, read_dropout);

WICK_ONNX_PLAIN(Identity);
WICK_ONNX_PLAIN(Relu);
WICK_ONNX_PLAIN(Sigmoid);
WICK_ONNX_PLAIN(Tanh);
WICK_ONNX_PLAIN(HardSwish);
WICK_ONNX_PLAIN(Softplus);
WICK_ONNX_PLAIN(Exp);
WICK_ONNX_PLAIN(Log);
WICK_ONNX_PLAIN(Sqrt);
WICK_ONNX_PLAIN(Reciprocal);
WICK_ONNX_PLAIN(Erf);
WICK_ONNX_PLAIN(Sin);
WICK_ONNX_PLAIN(Cos);
WICK_ONNX_PLAIN(Tan);
WICK_ONNX_PLAIN(Asin);
WICK_ONNX_PLAIN(Acos);
WICK_ONNX_PLAIN(Atan);
WICK_ONNX_PLAIN(Sinh);
WICK_ONNX_PLAIN(Cosh);
WICK_ONNX_PLAIN(Asinh);
WICK_ONNX_PLAIN(Acosh);
WICK_ONNX_PLAIN(Atanh);
WICK_ONNX_PLAIN(Neg);
WICK_ONNX_PLAIN(Abs);
WICK_ONNX_PLAIN(Floor);
WICK_ONNX_PLAIN(Ceil);
WICK_ONNX_PLAIN(Round);
WICK_ONNX_PLAIN(Sign);
WICK_ONNX_PLAIN(Not);
WICK_ONNX_PLAIN(PRelu);
WICK_ONNX_ROW(LeakyRelu, [](WriteCtx& c) {
  set_float(c.same("LeakyRelu"), "alpha", c.as<LeakyReluAttrs>().alpha);
});
WICK_ONNX_ROW(Elu, [](WriteCtx& c) { set_float(c.same("Elu"), "alpha", c.as<EluAttrs>().alpha); });
WICK_ONNX_ROW(HardSigmoid, [](WriteCtx& c) {
  NodeProto& n = c.same("HardSigmoid");
  set_float(n, "alpha", c.as<HardSigmoidAttrs>().alpha);
  set_float(n, "beta", c.as<HardSigmoidAttrs>().beta);
});
WICK_ONNX_ROW(Clip, [](WriteCtx& c) {
  const auto& a = c.as<ClipAttrs>();
  DType t = c.g.value(c.node.inputs[0]).dtype;
  std::string lo = c.has(1) ? c.in(1) : std::isinf(a.min) ? "" : c.scalar(t, a.min);
  std::string hi = c.has(2) ? c.in(2) : std::isinf(a.max) ? "" : c.scalar(t, a.max);
  c.add("Clip", {c.in(0), lo, hi}, {c.out(0)});
});
void write_cast(WriteCtx& c) {
  const auto& a = c.as<CastAttrs>();
  NodeProto& n = c.same("Cast");
  set_int(n, "to", a.to);
  const char* kModes[] = {"up", "down", "nearest"};
  if (a.saturate == 0) set_int(n, "saturate", 0);
  if (a.round_mode != 0) set_string(n, "round_mode", kModes[a.round_mode]);
}
WICK_ONNX_ROW(Cast, [](WriteCtx& c) { write_cast(c); });

}  // namespace wick::onnx
