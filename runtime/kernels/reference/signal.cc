// The discrete Fourier transform, in double for every dtype and rounded once at the end. Lengths
// that are powers of two: radix 2, decimation in time, stages ascending. Others up to 64: the sum,
// n ascending. Longer ones: Bluestein's convolution over the next power of two >= 2 n - 1. The
// roots of unity are computed by a polynomial over the first octant, hence the same bits
// everywhere.
#include <bit>
#include <cmath>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/reference/indices.h"
#include "runtime/kernels/reference/rows.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

struct Complex {
  double re, im;
};
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) {
  return {std::fma(a.re, b.re, -(a.im * b.im)), std::fma(a.re, b.im, a.im * b.re)};
}
Complex conj(Complex a) { return {a.re, -a.im}; }

// Returns sin and cos of 2 pi k / n for 8 k <= n: Taylor's series at an angle <= pi / 4, up to the
// last term that affects a double.
Complex octant_root(int64_t k, int64_t n) {
  constexpr double kTwoPi = 6.283185307179586476925;
  const double x = kTwoPi * (static_cast<double>(k) / static_cast<double>(n)), z = x * x;
  double s = 0, c = 0;
  for (int i = 9; i >= 1; --i) {
    s = (1 + s) * (-z / ((2 * i) * (2 * i + 1)));
    c = (1 + c) * (-z / ((2 * i - 1) * (2 * i)));
  }
  return {1 + c, std::fma(x, s, x)};
}

// Returns e^(2 pi i k / n), 0 <= k < n: by symmetry from the first octant.
Complex root(int64_t k, int64_t n) {
  if (2 * k > n) return conj(root(n - k, n));
  if (4 * k > n) {  // second quadrant: mirrored at the imaginary axis
    const Complex c = root(n - 2 * k, 2 * n);
    return {-c.re, c.im};
  }
  if (8 * k > n) {  // mirrored at the diagonal
    const Complex c = octant_root(n - 4 * k, 4 * n);
    return {c.im, c.re};
  }
  return octant_root(k, n);
}

constexpr int64_t kPlainLength = 64;  // plain sum, where n is not a power of two

// The layout of scratch for a length: roots of its (or Bluestein's) power of two, the chirp and the
// transform of its filter; then one buffer per thread.
struct Plan {
  int64_t n;  // length of the transform
  int64_t m;  // length of the radix-2 transforms; 0: the plain sum
  bool bluestein;
  explicit Plan(int64_t length) : n(length), m(0), bluestein(false) {
    const auto size = static_cast<uint64_t>(length);
    if (std::has_single_bit(size)) {
      m = length;
    } else if (length > kPlainLength) {
      bluestein = true;
      m = static_cast<int64_t>(std::bit_ceil(2 * size - 1));
    }
  }
  int64_t roots() const { return m == 0 ? n : m / 2; }
  int64_t tables() const { return roots() + (bluestein ? n + m : 0); }
  int64_t buffer() const { return m == 0 ? 2 * n : m; }
};

// Computes y = sum over t of x[t] e^(-2 pi i k t / m) in place; `roots`: e^(2 pi i k / m), k < m /
// 2.
void radix2(Complex* x, int64_t m, const Complex* roots, Poll& poll) {
  for (int64_t i = 1, j = 0; i < m; ++i) {  // bit reversal
    if (poll(8)) return;
    int64_t bit = m >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const Complex t = x[i];
      x[i] = x[j];
      x[j] = t;
    }
  }
  for (int64_t half = 1; half < m; half *= 2) {
    const int64_t step = m / (2 * half);
    for (int64_t start = 0; start < m; start += 2 * half) {
      if (poll(half)) return;
      for (int64_t k = 0; k < half; ++k) {
        const Complex a = x[start + k], b = x[start + k + half] * conj(roots[k * step]);
        x[start + k] = a + b;
        x[start + k + half] = a - b;
      }
    }
  }
}

void make_tables(const Plan& p, Complex* table, Poll& poll) {
  const int64_t of = p.m == 0 ? p.n : p.m;
  for (int64_t k = 0; k < p.roots() && !poll(32); ++k) table[k] = root(k, of);
  if (!p.bluestein) return;
  // chirp[k] = e^(pi i k^2 / n), and the transform of its circular filter of length m
  Complex *chirp = table + p.roots(), *filter = chirp + p.n;
  int64_t square = 0;  // k^2 mod 2 n
  for (int64_t k = 0; k < p.n && !poll(32); ++k) {
    chirp[k] = root(square, 2 * p.n);
    square = (square + 2 * k + 1) % (2 * p.n);
  }
  for (int64_t i = 0; i < p.m && !poll(2); ++i) filter[i] = {0, 0};
  filter[0] = chirp[0];
  for (int64_t k = 1; k < p.n && !poll(4); ++k) filter[k] = filter[p.m - k] = chirp[k];
  radix2(filter, p.m, table, poll);
}

// The forward transform of the first n of `x`, in place (x has p.buffer() elements).
void transform(const Plan& p, const Complex* table, Complex* x, Poll& poll) {
  if (p.bluestein) {
    const Complex *chirp = table + p.roots(), *filter = chirp + p.n;
    const double scale = 1.0 / static_cast<double>(p.m);  // a power of two: exact
    for (int64_t k = 0; k < p.n && !poll(4); ++k) x[k] = x[k] * conj(chirp[k]);
    for (int64_t k = p.n; k < p.m && !poll(2); ++k) x[k] = {0, 0};
    radix2(x, p.m, table, poll);
    for (int64_t k = 0; k < p.m && !poll(4); ++k) x[k] = conj(x[k] * filter[k]);
    radix2(x, p.m, table, poll);  // of the conjugate: gives the conjugate of the inverse
    for (int64_t k = 0; k < p.n && !poll(4); ++k)
      x[k] = Complex{x[k].re * scale, -x[k].im * scale} * conj(chirp[k]);
  } else if (p.m != 0) {
    radix2(x, p.m, table, poll);
  } else {
    Complex* y = x + p.n;
    for (int64_t k = 0; k < p.n; ++k) {
      Complex sum = {0, 0};
      for (int64_t t = 0, at = 0; t < p.n; ++t, at = (at + k) % p.n) {
        const Complex w = table[at];  // its conjugate is the forward root
        sum.re = std::fma(x[t].im, w.im, std::fma(x[t].re, w.re, sum.re));
        sum.im = std::fma(-x[t].re, w.im, std::fma(x[t].im, w.re, sum.im));
      }
      y[k] = sum;
    }
    for (int64_t k = 0; k < p.n; ++k) x[k] = y[k];
  }
}

int64_t scratch_of(int64_t n, int threads) {
  const Plan p(n);
  return p.tables() + threads * p.buffer();
}

Status plan_dft(const KernelQuery& q, KernelPlan* plan) {
  plan->keep(q.args->dft);
  if (q.out[0].numel() == 0) return {};
  const int64_t most = scratch_of(q.args->dft.length, q.threads > 1 ? q.threads : 1);
  plan->scratch_bytes = byte_count(static_cast<uint64_t>(most) * sizeof(Complex));
  return {};
}

// Loads one line of the input into `x` as n numbers: cropped or zero-padded; for output of reals
// the half spectrum is completed by its mirror image.
template <class T>
void load_line(const T* from, int64_t stride, int64_t size, int64_t parts, int64_t n, bool to_real,
               bool inverse, Complex* x, Poll& poll) {
  const int64_t given = to_real ? n / 2 + 1 : n;
  for (int64_t t = 0; t < given && !poll(4); ++t) {
    Complex v = {0, 0};
    if (t < size) {
      v.re = static_cast<double>(static_cast<Compute<T>>(from[t * stride]));
      if (parts == 2) v.im = static_cast<double>(static_cast<Compute<T>>(from[t * stride + 1]));
    }
    x[t] = v;
  }
  if (to_real) {
    x[0].im = 0;
    if (n % 2 == 0) x[n / 2].im = 0;
    for (int64_t k = 1; k < n - k && !poll(2); ++k) x[n - k] = conj(x[k]);
  }
  // The inverse is the conjugate of the conjugate's transform.
  for (int64_t t = 0; inverse && t < n && !poll(2); ++t) x[t] = conj(x[t]);
}

template <class T>
Status run_dft(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
               const void* attrs) {
  const auto& a = *static_cast<const DftAttrs*>(attrs);
  const TensorView &x = in[0], &y = out[0];
  if (y.numel() == 0) return {};
  const auto& [axis, n] = ctx.plan->kept<DftLine>();
  const int rank = x.rank();
  const int64_t size = x.shape[axis], parts = x.shape[rank - 1];
  const int64_t kept = y.shape[axis], out_parts = y.shape[rank - 1];
  const bool inverse = a.inverse != 0, to_real = inverse && a.onesided != 0;
  const int threads = ctx.pool == nullptr ? 1 : ctx.pool->threads();
  const Plan p(n);
  if (static_cast<size_t>(scratch_of(n, threads)) * sizeof(Complex) > ctx.plan->scratch_bytes)
    return Status(Code::kInternal, "planned for another length");
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.shape[i];
  for (int i = axis + 1; i < rank - 1; ++i) inner *= x.shape[i];
  auto* table = static_cast<Complex*>(ctx.scratch);
  Poll poll;
  make_tables(p, table, poll);
  Complex* buffers = table + p.tables();
  const double count = static_cast<double>(n);
  parallel_for(ctx.pool, outer * inner, [&](int64_t line, int worker) {
    Complex* v = buffers + worker * p.buffer();
    Poll mine;
    const int64_t o = line / inner, i = line % inner;
    const T* from = x.as<T>() + (o * size * inner + i) * parts;
    load_line(from, inner * parts, size, parts, n, to_real, inverse, v, mine);
    transform(p, table, v, mine);
    T* to = y.as<T>() + (o * kept * inner + i) * out_parts;
    for (int64_t k = 0; k < kept && !mine(4); ++k, to += inner * out_parts) {
      const Complex r = inverse ? Complex{v[k].re / count, -v[k].im / count} : v[k];
      to[0] = static_cast<T>(static_cast<Compute<T>>(r.re));
      if (out_parts == 2) to[1] = static_cast<T>(static_cast<Compute<T>>(r.im));
    }
  });
  return {};
}

}  // namespace

#define DFT_ROW(T, dtype) \
  {"dft." dtype ".ref", kContiguous, match<T>, plan_dft, nullptr, run_dft<T>},
WICK_REF_ROWS(DFT, WICK_FLOAT_TYPES(DFT_ROW));
WICK_NO_CPU_ROWS(DFT);

}  // namespace wick
