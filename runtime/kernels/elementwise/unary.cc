#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/unary.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise/chain.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/half_rows.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_UNARY_BODY_
#define WICK_KERNELS_UNARY_BODY_
// X(kind, value of v with parameters a and b). CopySign: rounding to zero keeps the sign on every
// target.
#define WICK_UNARY_OP_BODIES(X)                          \
  X(LeakyRelu, simd_math::leaky_relu(v, F(a)))           \
  X(Elu, simd_math::elu(v, F(a)))                        \
  X(HardSwish, simd_math::hard_swish(v))                 \
  X(HardSigmoid, simd_math::hard_sigmoid(v, F(a), F(b))) \
  X(Softplus, simd_math::softplus(v))                    \
  X(Log, simd_math::log(v))                              \
  X(Sqrt, simd_math::sqrt(v))                            \
  X(Reciprocal, F(1.0f) / v)                             \
  X(Erf, simd_math::erf(v))                              \
  X(Sin, simd_math::sin(v))                              \
  X(Cos, simd_math::cos(v))                              \
  X(Tan, simd_math::tan(v))                              \
  X(Asin, simd_math::asin(v))                            \
  X(Acos, simd_math::acos(v))                            \
  X(Atan, simd_math::atan(v))                            \
  X(Sinh, simd_math::sinh(v))                            \
  X(Cosh, simd_math::cosh(v))                            \
  X(Asinh, simd_math::asinh(v))                          \
  X(Acosh, simd_math::acosh(v))                          \
  X(Atanh, simd_math::atanh(v))                          \
  X(Neg, -v)                                             \
  X(Abs, simd_math::abs(v))                              \
  X(Floor, F(hn::CopySign(hn::Floor(v.v), v.v)))         \
  X(Ceil, F(hn::CopySign(hn::Ceil(v.v), v.v)))           \
  X(Round, F(hn::CopySign(hn::Round(v.v), v.v)))         \
  X(Log1p, simd_math::log1p(v))                          \
  X(Expm1, simd_math::expm1(v))                          \
  X(Log2, simd_math::log2(v))                            \
  X(Log10, simd_math::log10(v))                          \
  X(Erfc, simd_math::erfc(v))                            \
  X(Sign, sign(v))                                       \
  X(Clip, simd_math::clip(v, F(a), F(b)))
// The same for ops whose body depends on the edition.
#define WICK_UNARY_OP_BODIES_BY_EDITION(X)      \
  X(Sigmoid, simd_math::sigmoid_in<edition>(v)) \
  X(Tanh, simd_math::tanh_in<edition>(v))       \
  X(Silu, simd_math::silu_in<edition>(v))       \
  X(Exp, simd_math::exp_in<edition>(v))
#define WICK_UNARY_BODIES(X) \
  WICK_UNARY_OP_BODIES(X)    \
  X(GeluErf, simd_math::gelu(v))
#define WICK_UNARY_BODIES_BY_EDITION(X) \
  WICK_UNARY_OP_BODIES_BY_EDITION(X)    \
  X(GeluTanh, simd_math::gelu_tanh_in<edition>(v))
#endif

#include "runtime/kernels/elementwise/unary-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

// The two parameters of a body, from the attributes.
struct Params {
  double a = 0, b = 0;
};
using GetParams = Params (*)(const void* attrs);

bool match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

// One dispatch table and one plan function per op: a program links the bodies of its own ops only.
#define X(Name, value)                                      \
  HWY_EXPORT(find_##Name);                                  \
  Status plan_##Name(const KernelQuery& q, KernelPlan* p) { \
    p->keep(HWY_DYNAMIC_DISPATCH(find_##Name)(q.edition));  \
    return {};                                              \
  }
WICK_UNARY_BODIES(X)
WICK_UNARY_BODIES_BY_EDITION(X)
#undef X

HWY_EXPORT(find_unary);

Status plan_Gelu(const KernelQuery& q, KernelPlan* p) {
  return q.as<GeluAttrs>().tanh != 0 ? plan_GeluTanh(q, p) : plan_GeluErf(q, p);
}

void run_body(const KernelCtx& ctx, const TensorView& in, const TensorView& out, float a, float b) {
  auto body = ctx.plan->kept<UnaryBody>();
  const float* x = in.as<float>();
  float* y = out.as<float>();
  ElementLoop<1> loop(out, &in);
  const int64_t step = loop.stride[0][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const float* row = x + offset[0];
    if (step == 1 || n == 1) {
      body(row, y + at, static_cast<size_t>(n), a, b);
      return;
    }
    for (int64_t i = 0; i < n; ++i) y[at + i] = row[i * step];
    body(y + at, y + at, static_cast<size_t>(n), a, b);
  });
}

Status run_half(const KernelCtx& ctx, const TensorView& in, const TensorView& out, float a,
                float b) {
  auto body = ctx.plan->kept<UnaryBody>();
  unary_in_blocks(ctx.pool, in, out, [&](float* block, size_t n) { body(block, block, n, a, b); });
  return {};
}

template <GetParams get>
Status run_16(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
              const void* attrs) {
  const Params p = get(attrs);
  return run_half(ctx, in[0], out[0], static_cast<float>(p.a), static_cast<float>(p.b));
}

template <GetParams get>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  Params p = get(attrs);
  run_body(ctx, in[0], out[0], static_cast<float>(p.a), static_cast<float>(p.b));
  return {};
}

Params plain(const void*) { return {}; }
template <class A>
Params with_alpha(const void* attrs) {
  return {static_cast<const A*>(attrs)->alpha};
}
Params hard_sigmoid(const void* attrs) {
  auto* a = static_cast<const HardSigmoidAttrs*>(attrs);
  return {a->alpha, a->beta};
}
Params clip(const void* attrs) {
  auto* a = static_cast<const ClipAttrs*>(attrs);
  return {a->min, a->max};
}
Status run_clip(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  Params p = clip(attrs);
  float lo = static_cast<float>(p.a), hi = static_cast<float>(p.b);
  if (in.size() > 1 && in[1].present()) lo = *in[1].as<float>();
  if (in.size() > 2 && in[2].present()) hi = *in[2].as<float>();
  run_body(ctx, in[0], out[0], lo, hi);
  return {};
}

Status run_clip_16(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const Params p = clip(attrs);
  float bounds[2] = {static_cast<float>(p.a), static_cast<float>(p.b)};
  by_half(in[0].dtype, [&](auto kind) {
    for (size_t i = 1; i < in.size(); ++i) {
      if (in[i].present()) bounds[i - 1] = static_cast<float>(*in[i].as<decltype(kind)>());
    }
  });
  return run_half(ctx, in[0], out[0], bounds[0], bounds[1]);
}

constexpr uint32_t kFlags = kStridedInputs | kInPlace;

}  // namespace

FindUnary unary_bodies() { return HWY_DYNAMIC_DISPATCH(find_unary)(); }

#define WICK_UNARY_ROW(Name, text, get)                                                   \
  WICK_CPU_ROWS(Name, {text ".f32.simd", kFlags, match, plan_##Name, nullptr, run<get>}); \
  WICK_HALF_ROWS(Name,                                                                    \
                 {text ".16.simd", kFlags, WidenedCall::fits, plan_##Name, nullptr, run_16<get>})
#define WICK_PLAIN_ROW(Name, text) WICK_UNARY_ROW(Name, text, plain)

WICK_UNARY_ROW(LeakyRelu, "leaky_relu", with_alpha<LeakyReluAttrs>);
WICK_UNARY_ROW(Elu, "elu", with_alpha<EluAttrs>);
WICK_UNARY_ROW(HardSigmoid, "hard_sigmoid", hard_sigmoid);
WICK_PLAIN_ROW(Gelu, "gelu");
WICK_CPU_ROWS(Clip, {"clip.f32.simd", kFlags, match, plan_Clip, nullptr, run_clip});
WICK_HALF_ROWS(Clip, {"clip.16.simd", kFlags, WidenedCall::fits, plan_Clip, nullptr, run_clip_16});
WICK_PLAIN_ROW(Sigmoid, "sigmoid");
WICK_PLAIN_ROW(Tanh, "tanh");
WICK_PLAIN_ROW(Silu, "silu");
WICK_PLAIN_ROW(HardSwish, "hard_swish");
WICK_PLAIN_ROW(Softplus, "softplus");
WICK_PLAIN_ROW(Exp, "exp");
WICK_PLAIN_ROW(Log, "log");
WICK_PLAIN_ROW(Sqrt, "sqrt");
WICK_PLAIN_ROW(Reciprocal, "reciprocal");
WICK_PLAIN_ROW(Erf, "erf");
WICK_PLAIN_ROW(Sin, "sin");
WICK_PLAIN_ROW(Cos, "cos");
WICK_PLAIN_ROW(Tan, "tan");
WICK_PLAIN_ROW(Asin, "asin");
WICK_PLAIN_ROW(Acos, "acos");
WICK_PLAIN_ROW(Atan, "atan");
WICK_PLAIN_ROW(Sinh, "sinh");
WICK_PLAIN_ROW(Cosh, "cosh");
WICK_PLAIN_ROW(Asinh, "asinh");
WICK_PLAIN_ROW(Acosh, "acosh");
WICK_PLAIN_ROW(Atanh, "atanh");
WICK_PLAIN_ROW(Neg, "neg");
WICK_PLAIN_ROW(Abs, "abs");
WICK_PLAIN_ROW(Floor, "floor");
WICK_PLAIN_ROW(Ceil, "ceil");
WICK_PLAIN_ROW(Round, "round");
WICK_PLAIN_ROW(Sign, "sign");
WICK_PLAIN_ROW(Log1p, "log1p");
WICK_PLAIN_ROW(Expm1, "expm1");
WICK_PLAIN_ROW(Log2, "log2");
WICK_PLAIN_ROW(Log10, "log10");
WICK_PLAIN_ROW(Erfc, "erfc");

}  // namespace wick
#endif
