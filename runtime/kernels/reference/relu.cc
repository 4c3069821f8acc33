#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

// NaN stays NaN; -0 becomes +0 (max(x, +0) with +0 > -0).
template <class T>
Status run(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  for (int64_t i = 0, n = out[0].numel(); i < n; ++i) y[i] = x[i] <= T(0) ? T(0) : x[i];
  return {};
}

template <class T>
bool match(const KernelQuery& q) {
  return q.in[0].dtype == dtype_of<T>;
}

}  // namespace

WICK_REF_ROWS(Relu, {"relu.f32.ref", kInPlace, match<float>, nullptr, nullptr, run<float>},
              {"relu.f64.ref", kInPlace, match<double>, nullptr, nullptr, run<double>});

}  // namespace wick
