// Rounding as in a quantized model but in floats: QuantizeLinear's arithmetic, and back.
#include "trainer/kernels/fake_quantize.h"

#include "runtime/kernels/reference/rows.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what the references share

template <class T>
Status fake_quantize(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                     const void* attrs) {
  WICK_TRY(check_fake_scales<T>(in[1]));
  const FakeLines lines(in[0], in[1], in[2], *static_cast<const FakeQuantizeAttrs*>(attrs));
  lines.for_each<T>(ctx.pool, [&](int64_t first, int64_t n, const FakeRange<T>& r) {
    for (int64_t i = first; i < first + n; ++i) {
      T q = std::nearbyint(in[0].as<T>()[i] / r.scale);
      q = q == q ? q : T(0);  // NaN becomes 0, as in QuantizeLinear
      q = q < r.lo ? r.lo : q > r.hi ? r.hi : q;
      out[0].as<T>()[i] = (q + T(0)) * r.scale;  // integers have no -0
    }
  });
  return {};
}

// The rounding passes gradients unchanged. With respect to x: 1 inside of the range, 0 outside.
// With respect to the scale: round(x / s) - x / s inside, the bound outside (Esser et al. 2020,
// equation 3). With respect to the zero point: 0 inside, -s outside.
template <class T>
Status grad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
            const void* attrs) {
  const auto& a = *static_cast<const FakeQuantizeAttrs*>(attrs);
  const FakeLines lines(in[1], in[2], in[3], a);
  lines.for_each<T>(ctx.pool, [&](int64_t first, int64_t n, const FakeRange<T>& r) {
    for (int64_t i = first; i < first + n; ++i) {
      const T g = in[0].as<T>()[i], v = in[1].as<T>()[i] / r.scale;
      T q = std::nearbyint(v);
      q = q == q ? q : T(0);
      const bool low = q<r.lo, high = q> r.hi, outside = low || high;
      T d = outside ? T(0) : T(1);
      if (a.of == 1) d = low ? r.lo : high ? r.hi : q - v;
      if (a.of == 2) d = outside ? -r.scale : T(0);
      out[0].as<T>()[i] = g * d;
    }
  });
  return {};
}

// y[N, C, ...] + bias[C]
template <class T>
Status add_bias(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void*) {
  const int64_t channels = in[0].shape[1];
  int64_t inner = 1;
  for (int d = 2; d < in[0].rank(); ++d) inner *= in[0].shape[d];
  parallel_items(ctx.pool, in[0].shape[0] * channels, inner, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const auto bias = static_cast<Compute<T>>(in[1].as<T>()[line % channels]);
      for (int64_t i = line * inner; i < (line + 1) * inner; ++i)
        out[0].as<T>()[i] = static_cast<T>(static_cast<Compute<T>>(in[0].as<T>()[i]) + bias);
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(FakeQuantize,
              {"fake_quantize.f32.ref", kContiguous, match<float>, nullptr, nullptr,
               fake_quantize<float>},
              {"fake_quantize.f64.ref", kContiguous, match<double>, nullptr, nullptr,
               fake_quantize<double>});
WICK_REF_ROWS(FakeQuantizeGrad,
              {"fake_quantize_grad.f32.ref", kContiguous, match<float>, nullptr, nullptr,
               grad<float>},
              {"fake_quantize_grad.f64.ref", kContiguous, match<double>, nullptr, nullptr,
               grad<double>});
WICK_REF_ROWS(FoldedBatchNorm,
              WICK_FLOAT_ROWS("folded_batch_norm", kContiguous, match<T>, add_bias<T>));
// GraphModule calls Add for the sum.
WICK_NO_CPU_ROWS(FoldedBatchNorm);

}  // namespace wick
