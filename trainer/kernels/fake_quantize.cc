// FakeQuantize and its gradients with SIMD: float32, with one scale or lines that are long enough.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/fake_quantize.cc"
#include "trainer/kernels/fake_quantize.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "trainer/kernels/kernel_set.h"

#ifndef WICK_TRAINER_FAKE_QUANTIZE_BODY_
#define WICK_TRAINER_FAKE_QUANTIZE_BODY_
namespace wick {
struct FakeQuantizeBodies {
  void (*forward)(const float* x, int64_t n, const FakeRange<float>& r, float* y);
  // with respect to x, the scale, the zero point
  void (*grad[3])(const float* g, const float* x, int64_t n, const FakeRange<float>& r, float* out);
};
}  // namespace wick
#endif

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace fake_quantize {

template <class D>
HWY_INLINE hn::Vec<D> whole(D, hn::Vec<D> v) {
  const auto q = hn::Round(v);
  return hn::IfThenElseZero(hn::Eq(q, q), q);
}

struct Forward {
  template <class D>
  HWY_INLINE void operator()(D d, const float* x, const FakeRange<float>& r, float* y) const {
    const auto scale = hn::Set(d, r.scale);
    auto q = whole(d, hn::Div(hn::LoadU(d, x), scale));
    q = hn::Min(hn::Max(q, hn::Set(d, r.lo)), hn::Set(d, r.hi));
    hn::StoreU(hn::Mul(hn::Add(q, hn::Zero(d)), scale), d, y);
  }
};

template <int of>
struct Grad {
  template <class D>
  HWY_INLINE void operator()(D d, const float* g, const float* x, const FakeRange<float>& r,
                             float* out) const {
    const auto scale = hn::Set(d, r.scale), lo = hn::Set(d, r.lo), hi = hn::Set(d, r.hi);
    const auto v = hn::Div(hn::LoadU(d, x), scale);
    const auto q = whole(d, v);
    const auto low = hn::Lt(q, lo), high = hn::Gt(q, hi);
    auto slope = hn::Sub(q, v);
    if constexpr (of == 0) slope = hn::IfThenZeroElse(hn::Or(low, high), hn::Set(d, 1.0f));
    if constexpr (of == 1) slope = hn::IfThenElse(low, lo, hn::IfThenElse(high, hi, slope));
    if constexpr (of == 2) slope = hn::IfThenElseZero(hn::Or(low, high), hn::Neg(scale));
    hn::StoreU(hn::Mul(hn::LoadU(d, g), slope), d, out);
  }
};

static void forward(const float* x, int64_t n, const FakeRange<float>& r, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) Forward()(d, x + i, r, y + i);
  for (; i < n; ++i) Forward()(hn::CappedTag<float, 1>(), x + i, r, y + i);
}
template <int of>
static void grad(const float* g, const float* x, int64_t n, const FakeRange<float>& r, float* out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) Grad<of>()(d, g + i, x + i, r, out + i);
  for (; i < n; ++i) Grad<of>()(hn::CappedTag<float, 1>(), g + i, x + i, r, out + i);
}

}  // namespace fake_quantize

static const FakeQuantizeBodies* fake_quantize_bodies() {
  static constexpr FakeQuantizeBodies kBodies = {
      &fake_quantize::forward,
      {&fake_quantize::grad<0>, &fake_quantize::grad<1>, &fake_quantize::grad<2>}};
  return &kBodies;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(fake_quantize_bodies);

constexpr int64_t kShortLine = 16;  // for shorter lines the plain loop is as fast

// `x` is the index of the input; the scale and the zero point are the next ones.
bool matches(const KernelQuery& q, size_t x) {
  if (q.in[x].dtype != DType::kF32) return false;
  const FakeLines lines(q.in[x], q.in[x + 1], q.in[x + 2], q.as<FakeQuantizeAttrs>());
  return q.in[x + 1].numel() == 1 || lines.length() >= kShortLine;
}
bool forward_matches(const KernelQuery& q) { return matches(q, 0); }
bool grad_matches(const KernelQuery& q) { return matches(q, 1); }

Status plan(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(fake_quantize_bodies)());
  return {};
}

Status forward(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  WICK_TRY(check_fake_scales<float>(in[1]));
  const auto& bodies = *ctx.plan->kept<const FakeQuantizeBodies*>();
  const FakeLines lines(in[0], in[1], in[2], *static_cast<const FakeQuantizeAttrs*>(attrs));
  lines.for_each<float>(ctx.pool, [&](int64_t first, int64_t n, const FakeRange<float>& r) {
    bodies.forward(in[0].as<float>() + first, n, r, out[0].as<float>() + first);
  });
  return {};
}

Status grad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
            const void* attrs) {
  const auto& a = *static_cast<const FakeQuantizeAttrs*>(attrs);
  const auto body = ctx.plan->kept<const FakeQuantizeBodies*>()->grad[a.of];
  const FakeLines lines(in[1], in[2], in[3], a);
  lines.for_each<float>(ctx.pool, [&](int64_t first, int64_t n, const FakeRange<float>& r) {
    body(in[0].as<float>() + first, in[1].as<float>() + first, n, r, out[0].as<float>() + first);
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(FakeQuantize,
              {"fake_quantize.f32.simd", kContiguous, forward_matches, plan, nullptr, forward});
WICK_CPU_ROWS(FakeQuantizeGrad,
              {"fake_quantize_grad.f32.simd", kContiguous, grad_matches, plan, nullptr, grad});

}  // namespace wick
#endif
