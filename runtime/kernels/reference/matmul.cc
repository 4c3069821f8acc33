#include "runtime/kernels/gemm/pairs.h"
#include "runtime/kernels/reference/real.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

template <class T>
T dot(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t k, Poll& poll) {
  if constexpr (std::is_integral_v<T>) {
    uint64_t sum = 0;  // wraps
    in_pieces(poll, k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sum += static_cast<uint64_t>(a[i * a_step]) * static_cast<uint64_t>(b[i * b_step]);
    });
    return static_cast<T>(sum);
  } else {
    Real<T> sum = 0;
    in_pieces(poll, k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sum = std::fma(load(a[i * a_step]), load(b[i * b_step]), sum);
    });
    return static_cast<T>(sum);
  }
}

// The same of f32 by pairs.h.
float pairs(const float* a, const float* b, int64_t b_step, int64_t k, Poll& poll) {
  float sum = 0;
  for (int64_t i = 0; i < k && !poll(2); i += 2) {
    const bool whole = i + 1 < k;
    sum = pair_add(whole ? pair_operand(a[i + 1]) : 0,
                   whole ? pair_operand(b[(i + 1) * b_step]) : 0, sum);
    sum = pair_add(pair_operand(a[i]), pair_operand(b[i * b_step]), sum);
  }
  return sum;
}

template <class T>
Status matmul(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const TensorView &a = in[0], &b = in[1];
  const int ra = a.rank(), rb = b.rank(), ro = out[0].rank();
  const bool rows = ra > 1, cols = rb > 1;
  const int batch_rank = ro - (rows ? 1 : 0) - (cols ? 1 : 0);
  const int64_t k = a.dim(ra - 1);
  const int64_t b_step = b.strides[cols ? rb - 2 : 0];
  T* y = out[0].as<T>();
  Poll poll;
  for (int64_t i = 0, n = out[0].numel(); i < n && !poll(8); ++i) {
    const T *pa = a.as<T>(), *pb = b.as<T>();
    int64_t rest = i;
    for (int d = ro - 1; d >= 0; --d) {
      const int64_t at = rest % out[0].dim(d);
      rest /= out[0].dim(d);
      if (d >= batch_rank) {  // the row of A or the column of B
        if (cols && d == ro - 1) {
          pb += at * b.strides[rb - 1];
        } else {
          pa += at * a.strides[ra - 2];
        }
        continue;
      }
      const int da = d - (batch_rank - (ra - 2)), db = d - (batch_rank - (rb - 2));
      if (ra > 2 && da >= 0 && a.dim(da) != 1) pa += at * a.strides[da];
      if (rb > 2 && db >= 0 && b.dim(db) != 1) pb += at * b.strides[db];
    }
    y[i] = dot(pa, a.strides[ra - 1], pb, b_step, k, poll);
  }
  return {};
}

// The weight's rows are the outputs, or its columns, as in MatMul.
template <class T>
Status linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
              const EpilogueAttrs* attrs, bool columns = false) {
  const Tail<T> tail(ctx, in, attrs);
  const int64_t n = in[1].dim(columns ? 1 : 0), k = in[1].dim(columns ? 0 : 1);
  const int64_t w_row = columns ? 1 : k, w_step = columns ? n : 1;
  const T *x = in[0].as<T>(), *w = in[1].as<T>();
  T* y = out[0].as<T>();
  Poll poll;
  if constexpr (std::is_same_v<T, float>) {
    if (attrs != nullptr && takes_pairs(DType::kF32, *attrs)) {
      for (int64_t i = 0, total = out[0].numel(); i < total && !poll(); ++i)
        y[i] = tail(pairs(x + i / n * k, w + i % n * w_row, w_step, k, poll), i % n, i);
      return {};
    }
  }
  for (int64_t i = 0, total = out[0].numel(); i < total && !poll(); ++i) {
    Real<T> sum = 0;
    in_pieces(poll, k, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j)
        sum = std::fma(load(x[i / n * k + j]), load(w[i % n * w_row + j * w_step]), sum);
    });
    y[i] = tail(sum, i % n, i);
  }
  return {};
}

template <class T>
Status plain_linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void*) {
  return linear<T>(ctx, in, out, nullptr);
}
template <class T>
Status fused_linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
  return linear<T>(ctx, in, out, static_cast<const EpilogueAttrs*>(attrs));
}
template <class T>
Status fused_matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
  return linear<T>(ctx, in, out, static_cast<const EpilogueAttrs*>(attrs), true);
}

}  // namespace

WICK_REF_ROWS(MatMul, WICK_NUMBER_ROWS("matmul", kStridedInputs, match<T>, matmul<T>));
WICK_REF_ROWS(Linear, WICK_FLOAT_ROWS("linear", kContiguous, match<T>, plain_linear<T>));
WICK_REF_ROWS(FusedLinear, WICK_FLOAT_ROWS("fused_linear", kContiguous, match<T>, fused_linear<T>));
WICK_REF_ROWS(FusedMatMul, WICK_FLOAT_ROWS("fused_matmul", kContiguous, match<T>, fused_matmul<T>));

}  // namespace wick
