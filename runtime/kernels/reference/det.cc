// Determinants: LU decomposition in double with the largest pivot of each column (the first of
// equal ones), then the product of the pivots in order.
#include <cmath>
#include <utility>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

using reference::match;

double determinant(double* a, int64_t n, Poll& poll) {
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    if (poll(n - k)) return product;
    int64_t best = k;
    for (int64_t i = k; i < n; ++i) {
      if (std::fabs(a[i * n + k]) > std::fabs(a[best * n + k])) best = i;
    }
    const double pivot = a[best * n + k];
    product *= best == k ? pivot : -pivot;
    if (pivot == 0) return product;
    for (int64_t j = k; j < n && best != k; ++j) std::swap(a[k * n + j], a[best * n + j]);
    for (int64_t i = k + 1; i < n; ++i) {
      if (poll(n - k)) return product;
      const double factor = a[i * n + k] / pivot;
      for (int64_t j = k + 1; j < n; ++j)
        a[i * n + j] = std::fma(-factor, a[k * n + j], a[i * n + j]);
    }
  }
  return product;
}

template <class T>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const int64_t n = in[0].dim(in[0].rank() - 1);
  auto* work = static_cast<double*>(ctx.scratch);
  Poll poll;
  for (int64_t b = 0, count = out[0].numel(); b < count && !poll(); ++b) {
    const T* x = in[0].as<T>() + b * n * n;
    in_pieces(poll, n * n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        work[i] = static_cast<double>(static_cast<reference::Compute<T>>(x[i]));
    });
    const double d = determinant(work, n, poll);
    if constexpr (reference::kIs16<T>) {
      out[0].as<T>()[b] = T(static_cast<float>(d));
    } else {
      out[0].as<T>()[b] = static_cast<T>(d);
    }
  }
  return {};
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const int64_t n = q.in[0].dim(q.in[0].rank() - 1);
  p->scratch_bytes =
      q.out[0].numel() == 0 ? 0 : byte_count(static_cast<uint64_t>(n * n) * sizeof(double));
  return {};
}

template <class T>
constexpr KernelRow row(const char* name) {
  return {name, kContiguous, match<T>, plan, nullptr, run<T>};
}

}  // namespace

WICK_REF_ROWS(Det, row<float>("det.f32.ref"), row<double>("det.f64.ref"), row<Half>("det.f16.ref"),
              row<BFloat16>("det.bf16.ref"));
WICK_NO_CPU_ROWS(Det);

}  // namespace wick
