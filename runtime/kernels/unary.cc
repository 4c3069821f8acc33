#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/unary.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_UNARY_KIND_
#define WICK_KERNELS_UNARY_KIND_
namespace wick {
using UnaryBody = void (*)(const float* x, float* y, size_t n, float a, float b);
// In the order of WICK_UNARY_BODIES.
enum class UnaryKind {
  kLeakyRelu,
  kElu,
  kSigmoid,
  kTanh,
  kGeluErf,
  kGeluTanh,
  kSilu,
  kHardSwish,
  kHardSigmoid,
  kSoftplus,
  kExp,
  kLog,
  kSqrt,
  kReciprocal,
  kErf,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kNeg,
  kAbs,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kClip,
};
}  // namespace wick
#endif

#include "runtime/kernels/unary-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(unary_body);

struct Params {
  UnaryKind kind;
  double a = 0, b = 0;
};
using GetParams = Params (*)(const void* attrs);

bool match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

template <GetParams get>
Status plan(const KernelQuery& q, KernelPlan* p) {
  p->fn[0] = reinterpret_cast<const void*>(HWY_DYNAMIC_DISPATCH(unary_body)(get(q.attrs).kind));
  return {};
}

void run_body(const KernelCtx& ctx, const TensorView& in, const TensorView& out, float a, float b) {
  auto body = reinterpret_cast<UnaryBody>(const_cast<void*>(ctx.plan->fn[0]));
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

template <GetParams get>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  Params p = get(attrs);
  run_body(ctx, in[0], out[0], static_cast<float>(p.a), static_cast<float>(p.b));
  return {};
}

template <UnaryKind kind>
Params plain(const void*) {
  return {kind};
}
template <UnaryKind kind, class A>
Params with_alpha(const void* attrs) {
  return {kind, static_cast<const A*>(attrs)->alpha};
}
Params hard_sigmoid(const void* attrs) {
  auto* a = static_cast<const HardSigmoidAttrs*>(attrs);
  return {UnaryKind::kHardSigmoid, a->alpha, a->beta};
}
Params gelu(const void* attrs) {
  return {static_cast<const GeluAttrs*>(attrs)->tanh != 0 ? UnaryKind::kGeluTanh
                                                          : UnaryKind::kGeluErf};
}
Params clip(const void* attrs) {
  auto* a = static_cast<const ClipAttrs*>(attrs);
  return {UnaryKind::kClip, a->min, a->max};
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

constexpr uint32_t kFlags = kStridedInputs | kInPlace;

}  // namespace

#define WICK_UNARY_ROW(Name, text, get) \
  WICK_CPU_ROWS(Name, {text ".f32.simd", kFlags, match, plan<get>, nullptr, run<get>})
#define WICK_PLAIN_ROW(Name, text) WICK_UNARY_ROW(Name, text, plain<UnaryKind::k##Name>)

WICK_CPU_ROWS(LeakyRelu, {"leaky_relu.f32.simd", kFlags, match,
                          plan<with_alpha<UnaryKind::kLeakyRelu, LeakyReluAttrs>>, nullptr,
                          run<with_alpha<UnaryKind::kLeakyRelu, LeakyReluAttrs>>});
WICK_CPU_ROWS(Elu, {"elu.f32.simd", kFlags, match, plan<with_alpha<UnaryKind::kElu, EluAttrs>>,
                    nullptr, run<with_alpha<UnaryKind::kElu, EluAttrs>>});
WICK_UNARY_ROW(HardSigmoid, "hard_sigmoid", hard_sigmoid);
WICK_UNARY_ROW(Gelu, "gelu", gelu);
WICK_CPU_ROWS(Clip, {"clip.f32.simd", kFlags, match, plan<clip>, nullptr, run_clip});
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

}  // namespace wick
#endif
