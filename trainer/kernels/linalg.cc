// Kernel rows of the linalg ops: batches are spread over threads, each matrix is computed by
// trainer/kernels/linalg.h.
#include "trainer/kernels/linalg.h"

#include <new>
#include <vector>

#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

using Solver = int64_t (*)(const dense::Problem&);

// Returns an error about "the matrix" or "the matrix at batch [1,2]".
Status failed(const Shape& shape, int64_t batch, const char* what, int64_t number) {
  Shape at;
  at.set_rank(shape.rank() - 2);
  for (int i = at.rank() - 1; i >= 0; --i) {
    at[i] = batch % shape[i];
    batch /= shape[i];
  }
  const bool batched = at.rank() > 0;
  char text[96];
  snprintf(text, sizeof text, what, static_cast<int>(number));
  return error(Code::kInvalidArgument, "the matrix%s%s %s", batched ? " at batch " : "",
               batched ? to_text(at).text : "", text);
}

// Returns the elements of one matrix (or vector, or number) of a tensor with `batches` of them.
int64_t per_batch(const TensorView& v, int64_t batches) {
  return batches == 0 ? 0 : v.numel() / batches;
}

// Writes batch entry b of a result, in its dtype: integers are exact in a double.
template <class T>
void write_entry(const TensorView& v, int64_t b, const std::vector<double>& values) {
  T* y = v.as<T>() + b * static_cast<int64_t>(values.size());
  for (size_t e = 0; e < values.size(); ++e) y[e] = static_cast<T>(values[e]);
}

template <class T>
Status run_batches(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs, Solver solver, const char* what) {
  const Shape& s = in[0].shape;
  int64_t batches = 1;
  for (int i = 0; i + 2 < s.rank(); ++i) batches *= s[i];
  dense::Problem shape = {};
  shape.m = s[s.rank() - 2], shape.n = s[s.rank() - 1];
  shape.k = in.size() > 1 ? in[1].shape[s.rank() - 1] : 0;
  shape.attrs = attrs;
  std::vector<int64_t> failures(static_cast<size_t>(batches), 0);
  constexpr int64_t kOutOfMemory = -1;
  const int64_t cost = shape.m * shape.n * std::max<int64_t>(std::max(shape.n, shape.k), 1);
  parallel_items(ctx.pool, batches, cost, [&](int64_t begin, int64_t end) {
    try {
      std::vector<double> from[2], to[3];
      for (int64_t b = begin; b < end; ++b) {
        dense::Problem p = shape;
        for (size_t i = 0; i < in.size(); ++i) {
          const int64_t count = per_batch(in[i], batches);
          const T* x = in[i].as<T>() + b * count;
          from[i].assign(x, x + count);
          p.in[i] = from[i].data();
        }
        for (size_t i = 0; i < out.size(); ++i) {
          to[i].assign(static_cast<size_t>(per_batch(out[i], batches)), 0.0);
          p.out[i] = to[i].data();
        }
        failures[static_cast<size_t>(b)] = solver(p);
        for (size_t i = 0; i < out.size(); ++i) {
          if (out[i].dtype == DType::kI32) {
            write_entry<int32_t>(out[i], b, to[i]);
          } else if (out[i].dtype == DType::kI64) {
            write_entry<int64_t>(out[i], b, to[i]);
          } else {
            write_entry<T>(out[i], b, to[i]);
          }
        }
      }
    } catch (const std::bad_alloc&) {  // must not leave a worker thread
      failures[static_cast<size_t>(begin)] = kOutOfMemory;
    }
  });
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t f = failures[static_cast<size_t>(b)];
    if (f == kOutOfMemory) return Status(Code::kOutOfMemory, "no memory for the factors");
    if (f != 0) return failed(s, b, what, f);
  }
  return {};
}

template <class T>
bool is_type(const KernelQuery& q) {
  return q.in[0].dtype == dtype_of<T>;
}

constexpr char kNotPositive[] = "is not positive definite: leading minor of order %d";
constexpr char kSingular[] = "is singular: pivot %d of its LU factors is 0";
constexpr char kNotFinite[] = "has values that are not finite";
constexpr char kNoValues[] = "has values that are not finite, or its eigenvalues do not converge";

}  // namespace

#define WICK_LINALG_ROW(Type, dtype, text, solver, what)                                         \
  KernelRow {                                                                                    \
    text "." dtype ".eigen", kContiguous, is_type<Type>, nullptr, nullptr,                       \
        [](const KernelCtx& c, Span<const TensorView> in, Span<TensorView> out, const void* a) { \
          return run_batches<Type>(c, in, out, a, solver, what);                                 \
        }                                                                                        \
  }
#define WICK_LINALG_ROWS(Name, text, solver, what)                       \
  WICK_REF_ROWS(Name, WICK_LINALG_ROW(float, "f32", text, solver, what), \
                WICK_LINALG_ROW(double, "f64", text, solver, what));     \
  WICK_NO_CPU_ROWS(Name)

WICK_LINALG_ROWS(Cholesky, "cholesky", dense::cholesky, kNotPositive);
WICK_LINALG_ROWS(TriangularSolve, "triangular_solve", dense::triangular_solve, kSingular);
WICK_LINALG_ROWS(Solve, "solve", dense::solve, kSingular);
WICK_LINALG_ROWS(Inverse, "inverse", dense::inverse, kSingular);
WICK_LINALG_ROWS(SlogDet, "slogdet", dense::slogdet, kSingular);
WICK_LINALG_ROWS(Qr, "qr", dense::qr, kNotFinite);
WICK_LINALG_ROWS(Svd, "svd", dense::svd, kNotFinite);
WICK_LINALG_ROWS(Eigh, "eigh", dense::eigh, kNotFinite);
WICK_LINALG_ROWS(LuFactor, "lu_factor", dense::lu_factor, kNotFinite);
WICK_LINALG_ROWS(Eig, "eig", dense::eig, kNoValues);

}  // namespace wick
