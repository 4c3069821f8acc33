#include <algorithm>
#include <cmath>

#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/core/half.h"

namespace wick::vulkan {
namespace {

// What float16 computes to the bits of float32 rounded once, where its arithmetic is IEEE's. A sum,
// a difference or a product in 24 digits, of which 11 are kept, rounds as if it were exact: 24 >= 2
// * 11 + 2. The others choose, round to integers or take signs, and make no digits. Not here:
// quotients and roots, which Vulkan does not round correctly in any format, and what is more than
// one step.
constexpr uint32_t kUnaryInF16[] = {WICK_FN_RELU, WICK_FN_LEAKY_RELU, WICK_FN_CLIP,
                                    WICK_FN_NEG,  WICK_FN_ABS,        WICK_FN_FLOOR,
                                    WICK_FN_CEIL, WICK_FN_ROUND,      WICK_FN_SIGN};
constexpr int kBinaryInF16[] = {WICK_BINARY_ADD, WICK_BINARY_SUB, WICK_BINARY_MUL, WICK_BINARY_MAX,
                                WICK_BINARY_MIN};

template <class T, size_t kCount>
bool holds(const T (&list)[kCount], T what) {
  return std::find(list, list + kCount, what) != list + kCount;
}

struct Unary {
  uint32_t function = WICK_FN_NONE;
  float alpha = 0, beta = 0;
};

template <class A>
const A& attrs_of(const OpCall& call) {
  return *static_cast<const A*>(call.attrs);
}

Result<Unary> unary_of(const OpCall& call) {
  auto plain = [](uint32_t function) { return Unary{function, 0, 0}; };
  switch (call.op) {
    case OpId::kRelu: return plain(WICK_FN_RELU);
    case OpId::kLeakyRelu:
      return Unary{WICK_FN_LEAKY_RELU, static_cast<float>(attrs_of<LeakyReluAttrs>(call).alpha), 0};
    case OpId::kSigmoid: return plain(WICK_FN_SIGMOID);
    case OpId::kTanh: return plain(WICK_FN_TANH);
    case OpId::kGelu:
      return plain(attrs_of<GeluAttrs>(call).tanh == 0 ? WICK_FN_GELU_ERF : WICK_FN_GELU_TANH);
    case OpId::kErf: return plain(WICK_FN_ERF);
    case OpId::kSilu: return plain(WICK_FN_SILU);
    case OpId::kHardSwish: return plain(WICK_FN_HARD_SWISH);
    case OpId::kHardSigmoid: {
      const auto& a = attrs_of<HardSigmoidAttrs>(call);
      return Unary{WICK_FN_HARD_SIGMOID, static_cast<float>(a.alpha), static_cast<float>(a.beta)};
    }
    case OpId::kExp: return plain(WICK_FN_EXP);
    case OpId::kLog: return plain(WICK_FN_LOG);
    case OpId::kSqrt: return plain(WICK_FN_SQRT);
    case OpId::kReciprocal: return plain(WICK_FN_RECIPROCAL);
    case OpId::kNeg: return plain(WICK_FN_NEG);
    case OpId::kAbs: return plain(WICK_FN_ABS);
    case OpId::kFloor: return plain(WICK_FN_FLOOR);
    case OpId::kCeil: return plain(WICK_FN_CEIL);
    case OpId::kRound: return plain(WICK_FN_ROUND);
    case OpId::kSign: return plain(WICK_FN_SIGN);
    case OpId::kSoftplus: return plain(WICK_FN_SOFTPLUS);
    case OpId::kSin: return plain(WICK_FN_SIN);
    case OpId::kCos: return plain(WICK_FN_COS);
    case OpId::kTan: return plain(WICK_FN_TAN);
    case OpId::kAsin: return plain(WICK_FN_ASIN);
    case OpId::kAcos: return plain(WICK_FN_ACOS);
    case OpId::kAtan: return plain(WICK_FN_ATAN);
    case OpId::kSinh: return plain(WICK_FN_SINH);
    case OpId::kCosh: return plain(WICK_FN_COSH);
    case OpId::kAsinh: return plain(WICK_FN_ASINH);
    case OpId::kAcosh: return plain(WICK_FN_ACOSH);
    case OpId::kAtanh: return plain(WICK_FN_ATANH);
    case OpId::kLog1p: return plain(WICK_FN_LOG1P);
    case OpId::kExpm1: return plain(WICK_FN_EXPM1);
    case OpId::kLog2: return plain(WICK_FN_LOG2);
    case OpId::kLog10: return plain(WICK_FN_LOG10);
    case OpId::kErfc: return plain(WICK_FN_ERFC);
    case OpId::kElu:
      return Unary{WICK_FN_ELU, static_cast<float>(attrs_of<EluAttrs>(call).alpha), 0};
    case OpId::kClip: {
      const auto& a = attrs_of<ClipAttrs>(call);
      return Unary{WICK_FN_CLIP, static_cast<float>(a.min), static_cast<float>(a.max)};
    }
    default: return unsupported("no shader for this op");
  }
}

int binary_of(const OpCall& call) {
  switch (call.op) {
    case OpId::kAdd: return WICK_BINARY_ADD;
    case OpId::kSub: return WICK_BINARY_SUB;
    case OpId::kMul: return WICK_BINARY_MUL;
    case OpId::kDiv: return WICK_BINARY_DIV;
    case OpId::kMax: return WICK_BINARY_MAX;
    case OpId::kMin: return WICK_BINARY_MIN;
    case OpId::kPow: return WICK_BINARY_POW;
    case OpId::kAtan2: return WICK_BINARY_ATAN2;
    case OpId::kMod:
      return attrs_of<ModAttrs>(call).fmod != 0 ? WICK_BINARY_FMOD : WICK_BINARY_FLOOR_MOD;
    default: return -1;
  }
}

// A parameter without rounding; a bound of Clip may also be beyond all of float16.
bool is_half(float v) { return static_cast<float>(Half(v)) == v; }
bool in_f16(const Unary& u) {
  if (!holds(kUnaryInF16, u.function)) return false;
  if (u.function == WICK_FN_LEAKY_RELU) return is_half(u.alpha);
  auto bounds = [](float v) { return is_half(v) || std::fabs(v) >= 65520; };
  return u.function != WICK_FN_CLIP || (bounds(u.alpha) && bounds(u.beta));
}
uint32_t twice(float v) { return Half(v).bits * 0x10001u; }

ShaderId shader_for(DType dtype, const Lowered& out, bool in_f16, ShaderId f32, ShaderId f16,
                    ShaderId other) {
  if (dtype == DType::kF32) return f32;
  return dtype == DType::kF16 && out.can.f16_ieee && in_f16 ? f16 : other;
}

Status lower_binary(const OpCall& call, int function, Lowered& out) {
  if (call.in[0].dtype != call.in[1].dtype) return unsupported("two dtypes");
  const Shape* shapes[] = {&call.in[0].shape, &call.in[1].shape};
  const BroadcastDims dims = broadcast_dims(call.out[0].shape, shapes);
  const DType dtype = call.out[0].dtype;
  const ShaderId shader =
      shader_for(dtype, out, holds(kBinaryInF16, function), ShaderId::k_binary_f32,
                 ShaderId::k_binary_in_f16, ShaderId::k_binary_16);
  Dispatch d = flat_dispatch(shader, words_of(dtype, call.out[0].numel()));
  add_spec(d, static_cast<uint32_t>(function));
  add_spec(d, static_cast<uint32_t>(dims.rank));
  if (shader != ShaderId::k_binary_in_f16) add_spec(d, type_number(dtype));
  add_push(d, call.out[0].numel());
  for (int64_t v : dims.dims) add_push(d, v);
  for (int64_t v : dims.strides[0]) add_push(d, v);
  for (int64_t v : dims.strides[1]) add_push(d, v);
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace

Status lower_elementwise(const OpCall& call, Lowered& out) {
  if (call.op == OpId::kClip) {
    bool tensors = !is_float(call.in[0].dtype) || call.in[0].dtype == DType::kF64;
    for (size_t i = 1; i < call.in.size(); ++i) tensors = tensors || call.in[i].present();
    if (tensors) return lower_clip(call, out);
  }
  if (is_int(call.in[0].dtype)) return lower_integer(call, out);
  if (call.in[0].dtype == DType::kF64) return lower_double(call, out);
  if (int function = binary_of(call); function >= 0) return lower_binary(call, function, out);
  WICK_ASSIGN(Unary unary, unary_of(call));
  const DType dtype = call.out[0].dtype;
  const bool trig = unary.function >= WICK_FN_FIRST_TRIG;
  const ShaderId shader =
      shader_for(dtype, out, in_f16(unary), trig ? ShaderId::k_trig_f32 : ShaderId::k_unary_f32,
                 ShaderId::k_unary_in_f16, trig ? ShaderId::k_trig_16 : ShaderId::k_unary_16);
  const bool halves = shader == ShaderId::k_unary_in_f16;
  Dispatch d = flat_dispatch(shader, words_of(dtype, call.out[0].numel()));
  add_spec(d, unary.function);
  if (!halves) add_spec(d, type_number(dtype));
  add_push(d, call.out[0].numel());
  add_push(d, halves ? twice(unary.alpha) : std::bit_cast<uint32_t>(unary.alpha));
  add_push(d, halves ? twice(unary.beta) : std::bit_cast<uint32_t>(unary.beta));
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
