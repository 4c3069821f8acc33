#include <cmath>
#include <type_traits>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reference/rows.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what the references share

// [N, C, inner]; the elements of a channel are ordered by n, then by the inner index.
struct Channels {
  int64_t n, channels, inner;
  explicit Channels(const TensorView& x) : n(x.shape[0]), channels(x.shape[1]), inner(1) {
    for (int i = 2; i < x.rank(); ++i) inner *= x.shape[i];
    if (inner == 0) n = 0;
  }
  template <class F>
  void elements(int64_t c, F&& f) const {
    for (int64_t b = 0; b < n; ++b) {
      for (int64_t i = 0; i < inner; ++i) f((b * channels + c) * inner + i);
    }
  }
};

// mean = sum / count, var = sum of (x - mean)^2 / count, y = fma(x, scale, shift) as in the eval
// form
template <class T>
Status train(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
             const void* attrs) {
  using C = Compute<T>;
  const C epsilon = static_cast<C>(static_cast<const BatchNormAttrs*>(attrs)->epsilon);
  const Channels s(in[0]);
  const T* x = in[0].as<T>();
  const C count = static_cast<C>(s.n * s.inner);
  parallel_items(ctx.pool, s.channels, s.n * s.inner, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      LaneSum<C> sum, squares;
      s.elements(c, [&](int64_t i) { sum.add(static_cast<C>(x[i])); });
      const C mean = sum.finish() / count;
      s.elements(c, [&](int64_t i) {
        C d = static_cast<C>(x[i]) - mean;
        squares.add_product(d, d);
      });
      const C var = squares.finish() / count;
      const C scale = static_cast<C>(in[1].as<T>()[c]) / std::sqrt(var + epsilon);
      const C shift = std::fma(-mean, scale, static_cast<C>(in[2].as<T>()[c]));
      s.elements(c, [&](int64_t i) {
        out[0].as<T>()[i] = static_cast<T>(std::fma(static_cast<C>(x[i]), scale, shift));
      });
      out[1].as<T>()[c] = static_cast<T>(mean);
      out[2].as<T>()[c] = static_cast<T>(var);
    }
  });
  return {};
}

// With h = (x - mean) / sqrt(var + eps): grad_beta = sum g, grad_gamma = sum g h,
// grad_x = gamma / sqrt(var + eps) * (g - grad_beta / count - h * grad_gamma / count)
template <class T>
Status grad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
            const void* attrs) {
  using C = Compute<T>;
  const C epsilon = static_cast<C>(static_cast<const BatchNormAttrs*>(attrs)->epsilon);
  const Channels s(in[1]);
  const T* g = in[0].as<T>();
  const T* x = in[1].as<T>();
  const C count = static_cast<C>(s.n * s.inner);
  parallel_items(ctx.pool, s.channels, s.n * s.inner, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const C mean = static_cast<C>(in[3].as<T>()[c]);
      const C inverse = C(1) / std::sqrt(static_cast<C>(in[4].as<T>()[c]) + epsilon);
      auto normal = [&](int64_t i) { return (static_cast<C>(x[i]) - mean) * inverse; };
      LaneSum<C> beta, gamma;
      s.elements(c, [&](int64_t i) {
        beta.add(static_cast<C>(g[i]));
        gamma.add_product(static_cast<C>(g[i]), normal(i));
      });
      const C grad_beta = beta.finish(), grad_gamma = gamma.finish();
      const C scale = static_cast<C>(in[2].as<T>()[c]) * inverse;
      const C a = grad_beta / count, b = grad_gamma / count;
      s.elements(c, [&](int64_t i) {
        out[0].as<T>()[i] =
            static_cast<T>(scale * std::fma(-normal(i), b, static_cast<C>(g[i]) - a));
      });
      out[1].as<T>()[c] = static_cast<T>(grad_gamma);
      out[2].as<T>()[c] = static_cast<T>(grad_beta);
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(BatchNormTrain, WICK_FLOAT_ROWS("batch_norm_train", kContiguous, match<T>, train<T>));
WICK_REF_ROWS(BatchNormGrad, WICK_FLOAT_ROWS("batch_norm_grad", kContiguous, match<T>, grad<T>));

}  // namespace wick
