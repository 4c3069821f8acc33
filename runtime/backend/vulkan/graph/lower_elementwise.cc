#include <algorithm>
#include <cmath>

#include "runtime/backend/vulkan/graph/broadcast.h"
#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/core/half.h"

namespace wick::vulkan {
namespace {

// Functions for which float16 arithmetic gives the bits of float32 rounded once, if it is IEEE. A
// sum, a difference or a product in 24 digits, rounded to 11, is rounded as if it were exact: 24 >=
// 2 * 11 + 2. The others select, round to integers or change signs, and create no digits. Quotients
// and roots are missing, as Vulkan does not round them correctly in any format, and so is
// everything of more than one step.
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

// The parameter must be exact in float16; a bound of Clip may also be beyond its range.
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

Status lower_unary(const OpCall& call, const Unary& unary, Lowered& out) {
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

}  // namespace

Status lower_arithmetic(const OpCall& call, const ShaderFunctions& functions, float alpha,
                        float beta, Lowered& out) {
  if (is_int(call.in[0].dtype)) return lower_integer(call, functions.integer, out);
  if (call.in[0].dtype == DType::kF64) return lower_double(call, functions, out);
  if (functions.binary >= 0) return lower_binary(call, functions.binary, out);
  if (functions.unary < 0) return unsupported("no shader for this op");
  return lower_unary(call, {static_cast<uint32_t>(functions.unary), alpha, beta}, out);
}

namespace {

Status lower_plain(const OpCall& call, Lowered& out) {
  return lower_arithmetic(call, vulkan_row(call.op).function, 0, 0, out);
}

template <class Attrs>
Status lower_with_alpha(const OpCall& call, Lowered& out) {
  const auto alpha = static_cast<float>(static_cast<const Attrs*>(call.attrs)->alpha);
  return lower_arithmetic(call, vulkan_row(call.op).function, alpha, 0, out);
}

Status lower_hard_sigmoid(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const HardSigmoidAttrs*>(call.attrs);
  return lower_arithmetic(call, vulkan_row(call.op).function, static_cast<float>(a.alpha),
                          static_cast<float>(a.beta), out);
}

// An attribute selects one of two functions.
Status lower_gelu(const OpCall& call, Lowered& out) {
  const bool tanh = static_cast<const GeluAttrs*>(call.attrs)->tanh != 0;
  return lower_arithmetic(call, {.unary = tanh ? WICK_FN_GELU_TANH : WICK_FN_GELU_ERF}, 0, 0, out);
}
Status lower_mod(const OpCall& call, Lowered& out) {
  const bool fmod = static_cast<const ModAttrs*>(call.attrs)->fmod != 0;
  return lower_arithmetic(call,
                          {.binary = fmod ? WICK_BINARY_FMOD : WICK_BINARY_FLOOR_MOD,
                           .integer = fmod ? WICK_INTEGER_FMOD : WICK_INTEGER_FLOOR_MOD,
                           .f64 = true},
                          0, 0, out);
}
Status lower_bit_shift(const OpCall& call, Lowered& out) {
  const bool right = static_cast<const BitShiftAttrs*>(call.attrs)->right != 0;
  return lower_arithmetic(
      call, {.integer = right ? WICK_INTEGER_SHIFT_RIGHT : WICK_INTEGER_SHIFT_LEFT}, 0, 0, out);
}

constexpr VulkanRow arithmetic(const ShaderFunctions& function,
                               Status (*lower)(const OpCall&, Lowered&) = lower_plain) {
  return {.lower = lower,
          .types = {is_arithmetic},
          .flags = kEmptyOutputs,
          .cut = cut_elementwise,
          .function = function};
}

}  // namespace

WICK_VULKAN(Relu, arithmetic({.unary = WICK_FN_RELU, .integer = WICK_INTEGER_RELU, .f64 = true}));
WICK_VULKAN(Neg, arithmetic({.unary = WICK_FN_NEG, .integer = WICK_INTEGER_NEG, .f64 = true}));
WICK_VULKAN(Abs, arithmetic({.unary = WICK_FN_ABS, .integer = WICK_INTEGER_ABS, .f64 = true}));
WICK_VULKAN(Sign, arithmetic({.unary = WICK_FN_SIGN, .integer = WICK_INTEGER_SIGN, .f64 = true}));
WICK_VULKAN(Floor, arithmetic({.unary = WICK_FN_FLOOR, .f64 = true}));
WICK_VULKAN(Ceil, arithmetic({.unary = WICK_FN_CEIL, .f64 = true}));
WICK_VULKAN(Round, arithmetic({.unary = WICK_FN_ROUND, .f64 = true}));
WICK_VULKAN(Sqrt, arithmetic({.unary = WICK_FN_SQRT, .f64 = true}));
WICK_VULKAN(Reciprocal, arithmetic({.unary = WICK_FN_RECIPROCAL, .f64 = true}));
WICK_VULKAN(Exp, arithmetic({.unary = WICK_FN_EXP, .f64 = true}));
WICK_VULKAN(Log, arithmetic({.unary = WICK_FN_LOG, .f64 = true}));
WICK_VULKAN(Sigmoid, arithmetic({.unary = WICK_FN_SIGMOID}));
WICK_VULKAN(Tanh, arithmetic({.unary = WICK_FN_TANH}));
WICK_VULKAN(Erf, arithmetic({.unary = WICK_FN_ERF}));
WICK_VULKAN(Silu, arithmetic({.unary = WICK_FN_SILU}));
WICK_VULKAN(HardSwish, arithmetic({.unary = WICK_FN_HARD_SWISH}));
WICK_VULKAN(Softplus, arithmetic({.unary = WICK_FN_SOFTPLUS}));
WICK_VULKAN(LeakyRelu, arithmetic({.unary = WICK_FN_LEAKY_RELU}, lower_with_alpha<LeakyReluAttrs>));
WICK_VULKAN(Elu, arithmetic({.unary = WICK_FN_ELU}, lower_with_alpha<EluAttrs>));
WICK_VULKAN(HardSigmoid, arithmetic({.unary = WICK_FN_HARD_SIGMOID}, lower_hard_sigmoid));
WICK_VULKAN(Gelu, arithmetic({}, lower_gelu));
WICK_VULKAN(Sin, arithmetic({.unary = WICK_FN_SIN}));
WICK_VULKAN(Cos, arithmetic({.unary = WICK_FN_COS}));
WICK_VULKAN(Tan, arithmetic({.unary = WICK_FN_TAN}));
WICK_VULKAN(Asin, arithmetic({.unary = WICK_FN_ASIN}));
WICK_VULKAN(Acos, arithmetic({.unary = WICK_FN_ACOS}));
WICK_VULKAN(Atan, arithmetic({.unary = WICK_FN_ATAN}));
WICK_VULKAN(Sinh, arithmetic({.unary = WICK_FN_SINH}));
WICK_VULKAN(Cosh, arithmetic({.unary = WICK_FN_COSH}));
WICK_VULKAN(Asinh, arithmetic({.unary = WICK_FN_ASINH}));
WICK_VULKAN(Acosh, arithmetic({.unary = WICK_FN_ACOSH}));
WICK_VULKAN(Atanh, arithmetic({.unary = WICK_FN_ATANH}));
WICK_VULKAN(Log1p, arithmetic({.unary = WICK_FN_LOG1P}));
WICK_VULKAN(Expm1, arithmetic({.unary = WICK_FN_EXPM1}));
WICK_VULKAN(Log2, arithmetic({.unary = WICK_FN_LOG2}));
WICK_VULKAN(Log10, arithmetic({.unary = WICK_FN_LOG10}));
WICK_VULKAN(Erfc, arithmetic({.unary = WICK_FN_ERFC}));

WICK_VULKAN(Add, arithmetic({.binary = WICK_BINARY_ADD, .integer = WICK_INTEGER_ADD, .f64 = true}));
WICK_VULKAN(Sub, arithmetic({.binary = WICK_BINARY_SUB, .integer = WICK_INTEGER_SUB, .f64 = true}));
WICK_VULKAN(Mul, arithmetic({.binary = WICK_BINARY_MUL, .integer = WICK_INTEGER_MUL, .f64 = true}));
WICK_VULKAN(Div, arithmetic({.binary = WICK_BINARY_DIV, .integer = WICK_INTEGER_DIV, .f64 = true}));
WICK_VULKAN(Max, arithmetic({.binary = WICK_BINARY_MAX, .integer = WICK_INTEGER_MAX, .f64 = true}));
WICK_VULKAN(Min, arithmetic({.binary = WICK_BINARY_MIN, .integer = WICK_INTEGER_MIN, .f64 = true}));
WICK_VULKAN(PRelu,
            arithmetic({.binary = WICK_BINARY_PRELU, .integer = WICK_INTEGER_PRELU, .f64 = true}));
WICK_VULKAN(Pow, arithmetic({.binary = WICK_BINARY_POW, .integer = WICK_INTEGER_POW}));
WICK_VULKAN(Atan2, arithmetic({.binary = WICK_BINARY_ATAN2}));
WICK_VULKAN(Mod, arithmetic({}, lower_mod));
WICK_VULKAN(BitwiseAnd, arithmetic({.integer = WICK_INTEGER_AND}));
WICK_VULKAN(BitwiseOr, arithmetic({.integer = WICK_INTEGER_OR}));
WICK_VULKAN(BitwiseXor, arithmetic({.integer = WICK_INTEGER_XOR}));
WICK_VULKAN(BitwiseNot, arithmetic({.integer = WICK_INTEGER_NOT}));
WICK_VULKAN(BitShift, arithmetic({}, lower_bit_shift));

}  // namespace wick::vulkan
