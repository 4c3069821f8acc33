// Batch norm's training forward and its backward with SIMD, for [N, C, inner] with inner > 1.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/batch_norm.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/math/math-inl.h"
#include "runtime/kernels/reduce/reduce-inl.h"
#include "trainer/kernels/kernel_set.h"

#ifndef WICK_TRAINER_BATCH_NORM_BODY_
#define WICK_TRAINER_BATCH_NORM_BODY_
namespace wick {
struct BatchNormCall {
  int64_t n, channels, inner;
  float epsilon;
  Span<const TensorView> in;
  Span<TensorView> out;
};
// Computes channels [begin, end).
using BatchNormBody = void (*)(const BatchNormCall& s, int64_t begin, int64_t end);
}  // namespace wick
#endif

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace batch_norm {

using reduce::D16;
using reduce::V16;
using reduce::VectorSum;
using simd_math::F;

HWY_INLINE float one(F v) { return hn::GetLane(v.v); }
HWY_INLINE float fma_one(float a, float b, float c) {
  return one(simd_math::fma(F(a), F(b), F(c)));
}
HWY_INLINE float sqrt_one(float a) { return one(simd_math::sqrt(F(a))); }

// Sets y[i] = f(i), in vectors and for the single elements at the end.
template <class Fn, class FnOne>
HWY_INLINE void fill(float* y, int64_t n, Fn f, FnOne f_one) {
  int64_t i = 0;
  for (; i + reduce::kWidth <= n; i += reduce::kWidth) hn::StoreU(f(i), D16(), y + i);
  for (; i < n; ++i) y[i] = f_one(i);
}
HWY_INLINE V16 load(const float* p) { return hn::LoadU(D16(), p); }
HWY_INLINE V16 all(float v) { return hn::Set(D16(), v); }
HWY_INLINE V16 multiply_add(V16 a, V16 b, V16 c) {
#if HWY_TARGET == HWY_SCALAR  // its MulAdd is not fused
  return hn::Set(D16(), std::fma(a.raw, b.raw, c.raw));
#else
  return hn::MulAdd(a, b, c);
#endif
}

static void train(const BatchNormCall& s, int64_t begin, int64_t end) {
  const float count = static_cast<float>(s.n * s.inner);
  const int64_t step = s.channels * s.inner;
  for (int64_t c = begin; c < end; ++c) {
    const float* x = s.in[0].as<float>() + c * s.inner;
    float* y = s.out[0].as<float>() + c * s.inner;
    VectorSum sum, squares;
    for (int64_t b = 0; b < s.n; ++b) sum.add(x + b * step, s.inner);
    const float mean = sum.finish() / count;
    for (int64_t b = 0; b < s.n; ++b) {
      const float* p = x + b * step;
      squares.add_run(
          s.inner,
          [p, mean](V16 acc, int64_t i) HWY_ATTR {
            V16 d = hn::Sub(load(p + i), all(mean));
            return multiply_add(d, d, acc);
          },
          [p, mean](float acc, int64_t i)
              HWY_ATTR { return fma_one(p[i] - mean, p[i] - mean, acc); });
    }
    const float var = squares.finish() / count;
    const float scale = s.in[1].as<float>()[c] / sqrt_one(var + s.epsilon);
    const float shift = fma_one(-mean, scale, s.in[2].as<float>()[c]);
    for (int64_t b = 0; b < s.n; ++b) {
      const float* p = x + b * step;
      fill(
          y + b * step, s.inner,
          [=](int64_t i) HWY_ATTR { return multiply_add(load(p + i), all(scale), all(shift)); },
          [=](int64_t i) HWY_ATTR { return fma_one(p[i], scale, shift); });
    }
    s.out[1].as<float>()[c] = mean;
    s.out[2].as<float>()[c] = var;
  }
}

static void grad(const BatchNormCall& s, int64_t begin, int64_t end) {
  const float count = static_cast<float>(s.n * s.inner);
  const int64_t step = s.channels * s.inner;
  for (int64_t c = begin; c < end; ++c) {
    const float* g = s.in[0].as<float>() + c * s.inner;
    const float* x = s.in[1].as<float>() + c * s.inner;
    float* y = s.out[0].as<float>() + c * s.inner;
    const float mean = s.in[3].as<float>()[c];
    const float inverse = 1.0f / sqrt_one(s.in[4].as<float>()[c] + s.epsilon);
    VectorSum beta, gamma;
    for (int64_t b = 0; b < s.n; ++b) {
      const float* gp = g + b * step;
      const float* xp = x + b * step;
      beta.add(gp, s.inner);
      gamma.add_run(
          s.inner,
          [=](V16 acc, int64_t i) HWY_ATTR {
            V16 h = hn::Mul(hn::Sub(load(xp + i), all(mean)), all(inverse));
            return multiply_add(load(gp + i), h, acc);
          },
          [=](float acc, int64_t i)
              HWY_ATTR { return fma_one(gp[i], (xp[i] - mean) * inverse, acc); });
    }
    const float grad_beta = beta.finish(), grad_gamma = gamma.finish();
    const float scale = s.in[2].as<float>()[c] * inverse;
    const float from_beta = grad_beta / count, from_gamma = grad_gamma / count;
    for (int64_t b = 0; b < s.n; ++b) {
      const float* gp = g + b * step;
      const float* xp = x + b * step;
      fill(
          y + b * step, s.inner,
          [=](int64_t i) HWY_ATTR {
            V16 h = hn::Mul(hn::Sub(load(xp + i), all(mean)), all(inverse));
            V16 rest = hn::Sub(load(gp + i), all(from_beta));
            return hn::Mul(all(scale), multiply_add(hn::Neg(h), all(from_gamma), rest));
          },
          [=](int64_t i) HWY_ATTR {
            return scale * fma_one(-((xp[i] - mean) * inverse), from_gamma, gp[i] - from_beta);
          });
    }
    s.out[1].as<float>()[c] = grad_gamma;
    s.out[2].as<float>()[c] = grad_beta;
  }
}

}  // namespace batch_norm

static BatchNormBody find_batch_norm(bool backward) {
  return backward ? batch_norm::grad : batch_norm::train;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_batch_norm);

// With one element per channel (after Linear) the reference loops are used.
bool match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32) return false;
  int64_t inner = 1;
  for (int i = 2; i < q.in[0].rank(); ++i) inner *= q.in[0].shape[i];
  return inner > 1;
}

template <bool backward>
Status plan(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_batch_norm)(backward));
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  auto body = ctx.plan->kept<BatchNormBody>();
  BatchNormCall s{in[0].shape[0], in[0].shape[1], 1, 0, in, out};
  for (int i = 2; i < in[0].rank(); ++i) s.inner *= in[0].shape[i];
  if (s.inner == 0) s.n = 0;  // images without elements are skipped
  s.epsilon = static_cast<float>(static_cast<const BatchNormAttrs*>(attrs)->epsilon);
  parallel_items(ctx.pool, s.channels, s.n * s.inner,
                 [&](int64_t begin, int64_t end) { body(s, begin, end); });
  return {};
}

}  // namespace

WICK_CPU_ROWS(BatchNormTrain,
              {"batch_norm_train.f32.simd", kContiguous, match, plan<false>, nullptr, run});
WICK_CPU_ROWS(BatchNormGrad,
              {"batch_norm_grad.f32.simd", kContiguous, match, plan<true>, nullptr, run});

}  // namespace wick
#endif
