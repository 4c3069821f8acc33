#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reference/real.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// y = fma(x, scale, shift); scale = gamma / sqrt(var + eps), shift = fma(-mean, scale, beta)
template <class T>
Status batch_norm(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  using C = Compute<T>;
  const C epsilon = static_cast<C>(static_cast<const BatchNormAttrs*>(attrs)->epsilon);
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  const int64_t channels = in[0].shape[1];
  int64_t inner = 1;
  for (int i = 2; i < in[0].rank(); ++i) inner *= in[0].shape[i];
  Poll poll;
  for (int64_t row = 0; row < in[0].shape[0] * channels; ++row) {
    if (poll()) return {};
    auto channel = [&](size_t k) { return static_cast<C>(in[k].as<T>()[row % channels]); };
    C scale = channel(1) / std::sqrt(channel(4) + epsilon);
    C shift = std::fma(-channel(3), scale, channel(2));
    in_pieces(poll, inner, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[row * inner + i] =
            static_cast<T>(std::fma(static_cast<C>(x[row * inner + i]), scale, shift));
      }
    });
  }
  return {};
}

float log_of(float x) { return scalar_math::log(scalar_math::F(x)).v; }
double log_of(double x) { return std::log(x); }

// With m the largest of the row: e^(x - m) / sum, or (x - m) - log(sum). The sum adds the rounded
// exponentials in the contract's order.
template <class T, bool log_form>
Status softmax(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  using C = Compute<T>;
  const TensorView& x = in[0];
  int64_t axis = static_cast<const AxisAttrs*>(attrs)->axis;
  if (axis < 0) axis += x.rank();
  const int64_t n = x.rank() == 0 ? 1 : x.shape[static_cast<int>(axis)];
  int64_t inner = 1;
  for (int i = static_cast<int>(axis) + 1; i < x.rank(); ++i) inner *= x.shape[i];
  const int64_t rows = n == 0 ? 0 : x.numel() / n;
  parallel_items(ctx.pool, rows, n, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t base = r / inner * n * inner + r % inner;
      const T* p = x.as<T>() + base;
      T* q = out[0].as<T>() + base;
      C largest = -std::numeric_limits<C>::infinity();
      for (int64_t i = 0; i < n && !poll(); ++i) {
        C v = static_cast<C>(p[i * inner]);
        if (v > largest || v != v) largest = v;
        if (largest != largest) break;
      }
      LaneSum<C> sum;
      for (int64_t i = 0; i < n && !poll(); ++i)
        sum.add(exp_of(ctx.edition, static_cast<C>(p[i * inner]) - largest));
      C total = sum.finish();
      C log_total = log_form ? log_of(total) : C(0);
      for (int64_t i = 0; i < n && !poll(); ++i) {
        C v = static_cast<C>(p[i * inner]) - largest;
        q[i * inner] = static_cast<T>(log_form ? v - log_total : exp_of(ctx.edition, v) / total);
      }
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(BatchNorm, WICK_FLOAT_ROWS("batch_norm", kContiguous, match<T>, batch_norm<T>));
WICK_REF_ROWS(Softmax, WICK_FLOAT_ROWS("softmax", kContiguous, match<T>, softmax<T, false>));
WICK_REF_ROWS(LogSoftmax, WICK_FLOAT_ROWS("log_softmax", kContiguous, match<T>, softmax<T, true>));

}  // namespace wick
