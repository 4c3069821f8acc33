// The Fourier transform is linear, so its gradient is a transform, too: of y[k] = sum of
// x[t] e^(-2 pi i k t / n) it is the sum of g[k] e^(2 pi i k t / n), with complex numbers as pairs.
#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"

namespace wick {
namespace {

// Cuts a dim, or fills it up with zeros.
Tensor fit(const Tensor& t, int axis, int64_t size) {
  const int64_t had = t.raw_shape()[axis];
  if (had >= size) return had == size ? t : t.slice(axis, 0, size);
  Shape rest = t.raw_shape();
  rest[axis] = size - had;
  return cat({t, t.new_zeros(rest)}, axis);
}

Tensor transform(const Tensor& t, int axis, bool inverse, bool onesided = false) {
  return call(OpId::kDFT, DftAttrs{axis, 0, inverse ? 1 : 0, onesided ? 1 : 0}, {t});
}

// Returns how often each bin of a half spectrum occurs in the whole one, as the factors of its real
// and imaginary parts: [1, bins, 1, .., 2]. The first bin, and the last one of an even length,
// occur once, and their imaginary parts are not read.
Tensor multiplicity(const Tensor& like, int axis, int64_t bins, int64_t n) {
  std::vector<double> factors(static_cast<size_t>(2 * bins), 2);
  factors[0] = 1;
  factors[1] = 0;
  if (n % 2 == 0) {
    factors[static_cast<size_t>(2 * bins - 2)] = 1;
    factors[static_cast<size_t>(2 * bins - 1)] = 0;
  }
  Shape shape;
  for (int i = 0; i < like.rank(); ++i) shape.push_back(1);
  shape[axis] = bins;
  shape[like.rank() - 1] = 2;
  return tensor(factors).to(like.dtype()).reshape(shape);
}

}  // namespace

WICK_GRAD(DFT, 4, 0, 6, [](GradCtx& c) {
  const auto& a = c.attrs<DftAttrs>();
  const Shape x = c.in_shape(0), y = c.out_shape(0);
  int64_t at = c.has(2) ? c.in(2).item_int() : a.axis;
  const int axis = static_cast<int>(at < 0 ? at + x.rank() : at), last = x.rank() - 1;
  const int64_t size = x[axis];
  // A half spectrum does not say whether its signal was of even or odd length; the attribute does,
  // or the signal itself.
  const int64_t n = a.inverse != 0 || a.onesided == 0 ? y[axis]
                    : a.dft_length != 0               ? a.dft_length
                                                      : size;
  const auto count = static_cast<double>(n);
  if (c.has(1) && a.onesided != 0 && a.inverse == 0 && y[axis] != n / 2 + 1)
    throw_error("dft", "no gradient where the length is an input that cuts or fills the signal",
                c.where(), Code::kUnsupported);
  Tensor g = c.g();
  if (a.inverse != 0 && a.onesided != 0) {
    Tensor half = transform(g, axis, false, true);
    g = half * multiplicity(half, axis, n / 2 + 1, n) * (1 / count);
  } else if (a.inverse != 0) {
    g = transform(g, axis, false) * (1 / count);
  } else {
    g = transform(fit(g, axis, n), axis, true) * count;
  }
  g = fit(g, axis, size);
  c.set(0, x[last] == 1 ? g.slice(last, 0, 1) : g);
});

}  // namespace wick
