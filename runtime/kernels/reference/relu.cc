#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// NaN stays NaN; -0 becomes +0 (max(x, +0) with +0 > -0).
template <class T>
Status run(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  Poll poll;
  in_pieces(poll, out[0].numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = static_cast<Compute<T>>(x[i]) <= 0 ? T() : x[i];
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(Relu, WICK_NUMBER_ROWS("relu", kInPlace, match<T>, run<T>));

}  // namespace wick
