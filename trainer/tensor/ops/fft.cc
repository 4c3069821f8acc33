#include "trainer/tensor/ops/fft.h"

#include <cmath>
#include <numbers>

#include "trainer/tensor/call.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick {
namespace {

void need_pairs(const char* op, const Arg& z) {
  if (z.tensor.rank(z.where) >= 1 && dim_of(z.tensor, -1) == 2) return;
  bad_shape(op,
            "needs complex numbers as pairs, [..., 2] (complex(real, imag) makes them), got " +
                text(z.tensor),
            z.where);
}

void need_floats(const char* op, const Arg& x) {
  const DType t = x.tensor.dtype(x.where);
  if (t == DType::kF32 || t == DType::kF64) return;
  throw_error(op, std::string("needs float32 or float64, got ") + dtype_name(t), x.where,
              Code::kTypeMismatch);
}

struct Transform {
  const char* op;
  bool inverse, onesided;
  const std::string& norm;

  // x has a pair as its last dim, or one number.
  Tensor operator()(const Tensor& x, std::optional<int64_t> n, int dim, const At& at) const {
    const int rank = x.rank() - 1, axis = dim < 0 ? dim + rank : dim;
    if (axis < 0 || axis >= rank) {
      throw_error(op,
                  "there is no dim " + std::to_string(dim) + " in " + text(x) +
                      ", whose last dim is the pair's",
                  at.where, Code::kInvalidArgument);
    }
    const int64_t size = dim_of(x, axis);
    const int64_t length = n ? *n : inverse && onesided ? 2 * (size - 1) : size;
    if (length < 1) {
      throw_error(op,
                  "the length of the transform must be at least 1, got " + std::to_string(length) +
                      " for " + text(x),
                  at.where, Code::kInvalidArgument);
    }
    const Tensor y = call(
        OpId::kDFT, DftAttrs{axis, n ? length : 0, inverse ? 1 : 0, onesided ? 1 : 0}, {at(x)});
    const double factor = scale(static_cast<double>(length), at);
    return factor == 1 ? y : at(y) * factor;
  }

 private:
  // The op divides the inverse by n.
  double scale(double n, const At& at) const {
    if (norm == "backward") return 1;
    if (norm == "ortho") return inverse ? std::sqrt(n) : 1 / std::sqrt(n);
    if (norm == "forward") return inverse ? n : 1 / n;
    throw_error(op, R"(norm must be "backward", "forward" or "ortho", got ")" + norm + '"',
                at.where, Code::kInvalidArgument);
  }
};

// The dims that are transformed, and their sizes; -1: as they are.
struct Axes {
  std::vector<int> dims;
  std::vector<std::optional<int64_t>> sizes;

  Axes(const char* op, int rank, const Shape& s, const Dims& dim, const At& at) {
    for (int64_t i = 0; i < dim.count; ++i) dims.push_back(static_cast<int>(dim[i]));
    if (dim.count == 0) {
      const int count = s.rank() == 0 ? rank : s.rank();
      for (int i = rank - count; i < rank; ++i) dims.push_back(i);
    }
    if (s.rank() != 0 && static_cast<size_t>(s.rank()) != dims.size()) {
      throw_error(op,
                  std::to_string(s.rank()) + " sizes for " + std::to_string(dims.size()) + " dims",
                  at.where, Code::kInvalidArgument);
    }
    if (dims.empty()) throw_error(op, "there is no dim", at.where, Code::kInvalidArgument);
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t n = s.rank() == 0 ? -1 : s[static_cast<int>(i)];
      sizes.push_back(n == -1 ? std::nullopt : std::optional(n));
    }
  }
};

Tensor several(const char* op, bool inverse, const Arg& z, const Shape& s, const Dims& dim,
               const std::string& norm) {
  need_floats(op, z);
  need_pairs(op, z);
  const At at(z);
  const Axes axes(op, z.tensor.rank() - 1, s, dim, at);
  Tensor y = z.tensor;
  for (size_t i = axes.dims.size(); i-- > 0;)
    y = Transform{op, inverse, false, norm}(y, axes.sizes[i], axes.dims[i], at);
  return y;
}

Tensor several_to_half(const char* op, const Arg& x, const Shape& s, const Dims& dim,
                       const std::string& norm) {
  need_floats(op, x);
  const At at(x);
  const Axes axes(op, x.tensor.rank(), s, dim, at);
  Tensor y = Transform{op, false, true, norm}(x.tensor.unsqueeze(-1, x.where), axes.sizes.back(),
                                              axes.dims.back(), at);
  for (size_t i = axes.dims.size() - 1; i-- > 0;)
    y = Transform{op, false, false, norm}(y, axes.sizes[i], axes.dims[i], at);
  return y;
}

Tensor several_from_half(const char* op, const Arg& z, const Shape& s, const Dims& dim,
                         const std::string& norm) {
  need_floats(op, z);
  need_pairs(op, z);
  const At at(z);
  const Axes axes(op, z.tensor.rank() - 1, s, dim, at);
  Tensor y = z.tensor;
  for (size_t i = 0; i + 1 < axes.dims.size(); ++i)
    y = Transform{op, true, false, norm}(y, axes.sizes[i], axes.dims[i], at);
  y = Transform{op, true, true, norm}(y, axes.sizes.back(), axes.dims.back(), at);
  return y.squeeze(-1, z.where);
}

Tensor part(const char* op, const Arg& z, int64_t which) {
  need_pairs(op, z);
  return z.tensor.select(-1, which, z.where);
}

Tensor shifted(const Arg& x, const Dims& dims, bool back) {
  Dims by;
  for (int64_t i = 0; i < dims.count; ++i) {
    const int64_t n = x.tensor.size(static_cast<int>(dims[i]), x.where).peek();
    by.values[by.count++] = back ? (n + 1) / 2 : n / 2;
  }
  return roll(x, by, dims);
}

// The sum of a[k] cos(2 pi k i / (n - 1)), whose ends meet where it is periodic.
Tensor cosines(const char* op, int64_t n, bool periodic, std::initializer_list<double> a,
               DType dtype, const Where& where) {
  if (n < 0) throw_error(op, "the length must be at least 0, got " + std::to_string(n), where);
  std::vector<double> w(static_cast<size_t>(n), 1);
  const auto steps = static_cast<double>(periodic ? n : n - 1);
  for (size_t i = 0; n > 1 && i < w.size(); ++i) {
    w[i] = 0;
    int k = 0;
    for (const double factor : a)
      w[i] += factor * std::cos(2 * std::numbers::pi * k++ * static_cast<double>(i) / steps);
  }
  return tensor(w, {dtype, where});
}

}  // namespace

Tensor complex(const Arg& real, const Arg& imag) {
  const At at(real);
  const Tensor sum = at(real.tensor) * 0 + imag;  // for the shape and the dtype of both
  const Shape& shape = sum.raw_shape();
  return stack(
      {real.tensor.to(sum.dtype()).expand(shape), imag.tensor.to(sum.dtype()).expand(shape)}, -1,
      real.where);
}
Tensor polar(const Arg& abs, const Arg& angle) {
  const At at(abs);
  return complex(at(abs * at(cos(angle))), at(abs * at(sin(angle))));
}
Tensor real(const Arg& z) { return part("real", z, 0); }
Tensor imag(const Arg& z) { return part("imag", z, 1); }
Tensor angle(const Arg& z) {
  const At at(z);
  return atan2(at(part("angle", z, 1)), at(part("angle", z, 0)));
}
Tensor complex_abs(const Arg& z) {
  const At at(z);
  const Tensor re = part("complex_abs", z, 0), im = part("complex_abs", z, 1);
  const Tensor none = logical_and(at(eq(at(re), 0)), at(eq(at(im), 0)));
  const Tensor one = full({}, 1, re.dtype()), zero = full({}, 0, re.dtype());
  return where(at(none), at(zero), at(hypot(at(where(at(none), at(one), at(re))), at(im))));
}
Tensor complex_mul(const Arg& a, const Arg& b) {
  const At at(a);
  const Tensor ar = part("complex_mul", a, 0), ai = part("complex_mul", a, 1);
  const Tensor br = part("complex_mul", b, 0), bi = part("complex_mul", b, 1);
  return complex(at(at(at(ar) * at(br)) - at(at(ai) * at(bi))),
                 at(at(at(ar) * at(bi)) + at(at(ai) * at(br))));
}
Tensor conj(const Arg& z) {
  const At at(z);
  return complex(at(part("conj", z, 0)), at(neg(at(part("conj", z, 1)))));
}

namespace fft {

Tensor fft(const Arg& z, std::optional<int64_t> n, int dim, const std::string& norm) {
  need_floats("fft", z);
  need_pairs("fft", z);
  return Transform{"fft", false, false, norm}(z.tensor, n, dim, At(z));
}
Tensor ifft(const Arg& z, std::optional<int64_t> n, int dim, const std::string& norm) {
  need_floats("ifft", z);
  need_pairs("ifft", z);
  return Transform{"ifft", true, false, norm}(z.tensor, n, dim, At(z));
}
Tensor rfft(const Arg& x, std::optional<int64_t> n, int dim, const std::string& norm) {
  need_floats("rfft", x);
  return Transform{"rfft", false, true, norm}(x.tensor.unsqueeze(-1, x.where), n, dim, At(x));
}
Tensor irfft(const Arg& z, std::optional<int64_t> n, int dim, const std::string& norm) {
  need_floats("irfft", z);
  need_pairs("irfft", z);
  return Transform{"irfft", true, true, norm}(z.tensor, n, dim, At(z)).squeeze(-1, z.where);
}

Tensor fft2(const Arg& z, const Shape& s, Dims dim, const std::string& norm) {
  return several("fft2", false, z, s, dim, norm);
}
Tensor ifft2(const Arg& z, const Shape& s, Dims dim, const std::string& norm) {
  return several("ifft2", true, z, s, dim, norm);
}
Tensor fftn(const Arg& z, const Shape& s, Dims dim, const std::string& norm) {
  return several("fftn", false, z, s, dim, norm);
}
Tensor ifftn(const Arg& z, const Shape& s, Dims dim, const std::string& norm) {
  return several("ifftn", true, z, s, dim, norm);
}
Tensor rfft2(const Arg& x, const Shape& s, Dims dim, const std::string& norm) {
  return several_to_half("rfft2", x, s, dim, norm);
}
Tensor irfft2(const Arg& z, const Shape& s, Dims dim, const std::string& norm) {
  return several_from_half("irfft2", z, s, dim, norm);
}
Tensor rfftn(const Arg& x, const Shape& s, Dims dim, const std::string& norm) {
  return several_to_half("rfftn", x, s, dim, norm);
}
Tensor irfftn(const Arg& z, const Shape& s, Dims dim, const std::string& norm) {
  return several_from_half("irfftn", z, s, dim, norm);
}

Tensor fftfreq(int64_t n, double d, DType dtype, Where where) {
  if (n < 1) throw_error("fftfreq", "n must be at least 1, got " + std::to_string(n), where);
  std::vector<double> f;
  for (int64_t i = 0; i < n; ++i)
    f.push_back(static_cast<double>(2 * i < n ? i : i - n) / (static_cast<double>(n) * d));
  return tensor(f, {dtype, where});
}
Tensor rfftfreq(int64_t n, double d, DType dtype, Where where) {
  if (n < 1) throw_error("rfftfreq", "n must be at least 1, got " + std::to_string(n), where);
  std::vector<double> f;
  for (int64_t i = 0; i <= n / 2; ++i)
    f.push_back(static_cast<double>(i) / (static_cast<double>(n) * d));
  return tensor(f, {dtype, where});
}
Tensor fftshift(const Arg& x, Dims dims) { return shifted(x, dims, false); }
Tensor ifftshift(const Arg& x, Dims dims) { return shifted(x, dims, true); }

}  // namespace fft

Tensor hann_window(int64_t n, bool periodic, DType dtype, Where where) {
  return cosines("hann_window", n, periodic, {0.5, -0.5}, dtype, where);
}
Tensor hamming_window(int64_t n, bool periodic, double alpha, double beta, DType dtype,
                      Where where) {
  return cosines("hamming_window", n, periodic, {alpha, -beta}, dtype, where);
}
Tensor blackman_window(int64_t n, bool periodic, DType dtype, Where where) {
  return cosines("blackman_window", n, periodic, {0.42, -0.5, 0.08}, dtype, where);
}
Tensor bartlett_window(int64_t n, bool periodic, DType dtype, Where where) {
  if (n < 0) throw_error("bartlett_window", "the length must be at least 0", where);
  std::vector<double> w(static_cast<size_t>(n), 1);
  const auto steps = static_cast<double>(periodic ? n : n - 1);
  for (size_t i = 0; n > 1 && i < w.size(); ++i)
    w[i] = 1 - std::abs(2 * static_cast<double>(i) / steps - 1);
  return tensor(w, {dtype, where});
}

namespace {

// The sizes and the window of a transform, checked.
struct Frames {
  int64_t length, hop;
  Tensor window;  // [length]

  Frames(const char* op, const StftOptions& o, const Tensor& x, const Where& where)
      : length(o.n_fft), hop(o.hop_length == 0 ? o.n_fft / 4 : o.hop_length) {
    const int64_t taper = o.win_length == 0 ? length : o.win_length;
    const auto refuse = [&](const std::string& what) {
      throw_error(op, what, where, Code::kInvalidArgument);
    };
    if (length < 1) refuse("n_fft must be at least 1, got " + std::to_string(length));
    if (hop < 1) refuse("hop_length must be at least 1, got " + std::to_string(hop));
    if (taper < 1 || taper > length)
      refuse("win_length must be 1 to n_fft, got " + std::to_string(taper));
    if (o.window.defined() && (o.window.rank() != 1 || dim_of(o.window, 0) != taper)) {
      bad_shape(op, "the window must be [" + std::to_string(taper) + "], got " + text(o.window),
                where);
    }
    window = o.window.defined() ? o.window.to(x.dtype(), where)
                                : moved_beside(x, ones({taper}, x.dtype()), where);
    const int64_t before = (length - taper) / 2;
    if (taper < length) window = pad(Arg(window, where), {before, length - taper - before});
  }
};

Tensor with_batch(const Tensor& t, int rank, const Where& where) {
  return t.rank() == rank ? t.unsqueeze(0, where) : t;
}

}  // namespace

Tensor stft(const Arg& x, const StftOptions& o) {
  const At at(x);
  need_floats("stft", x);
  const int rank = x.tensor.rank();
  if (rank != 1 && rank != 2)
    bad_shape("stft", "needs [L] or [B, L], got " + text(x.tensor), x.where);
  const Frames f("stft", o, x.tensor, x.where);
  Tensor signal = with_batch(x.tensor, 1, x.where);
  if (o.center) {
    const int64_t by = f.length / 2;
    signal = pad(at(signal.unsqueeze(1, x.where)), {by, by}, o.pad_mode).squeeze(1, x.where);
  }
  if (dim_of(signal, 1) < f.length) {
    bad_shape(
        "stft",
        "the signal " + text(signal) + " is shorter than a frame of " + std::to_string(f.length),
        x.where);
  }
  Tensor frames = signal.unfold(1, f.length, f.hop, x.where);  // [B, frames, n_fft]
  frames = (at(frames) * at(f.window)).unsqueeze(-1, x.where);
  const std::string norm = o.normalized ? "ortho" : "backward";
  Tensor y = Transform{"stft", false, o.onesided, norm}(frames, {}, 2, at);
  y = y.transpose(1, 2, x.where);
  return rank == 1 ? y.squeeze(0, x.where) : y;
}

Tensor istft(const Arg& z, const StftOptions& o, int64_t length) {
  const At at(z);
  need_floats("istft", z);
  need_pairs("istft", z);
  const int rank = z.tensor.rank();
  const Frames f("istft", o, z.tensor, z.where);
  const Tensor bins = with_batch(z.tensor, 3, z.where);
  const int64_t expected = o.onesided ? f.length / 2 + 1 : f.length;
  if (bins.rank() != 4 || dim_of(bins, 1) != expected || dim_of(bins, 2) < 1) {
    bad_shape("istft",
              "needs [" + std::to_string(expected) + ", frames, 2] or [B, " +
                  std::to_string(expected) + ", frames, 2], got " + text(z.tensor),
              z.where);
  }
  const int64_t count = dim_of(bins, 2), all = f.length + f.hop * (count - 1);
  const std::string norm = o.normalized ? "ortho" : "backward";
  Tensor frames = Transform{"istft", true, o.onesided, norm}(
      bins.transpose(1, 2, z.where), f.length, 2, at);  // [B, frames, n_fft, 1 or 2]
  frames = at(frames.select(-1, 0, z.where)) * at(f.window);
  const auto added = [&](const Tensor& parts) {  // [B, frames, n_fft] -> [B, all]
    return fold(at(parts.transpose(1, 2, z.where)), {1, all}, {1, f.length}, 1, 0, {1, f.hop})
        .reshape({parts.raw_shape()[0], all}, z.where);
  };
  const Tensor signal = added(frames);
  const Tensor weight = added(at(square(at(f.window)))
                                  .tensor.reshape({1, 1, f.length}, z.where)
                                  .expand({1, count, f.length}, z.where)
                                  .contiguous(z.where));
  const int64_t begin = o.center ? f.length / 2 : 0;
  int64_t end = length > 0 ? begin + length : all - (o.center ? f.length / 2 : 0);
  const int64_t filled = std::max<int64_t>(0, end - all);
  end = std::min(end, all);
  const Tensor cut = weight.slice(1, begin, end, 1, z.where);
  if (end <= begin ||
      (active_tracer() == nullptr && amin(at(abs(at(cut)))).item(z.where) < 1e-11)) {
    throw_error(
        "istft",
        "the squares of the windows add up to 0 somewhere: hop_length is too large for this "
        "window, or the signal needs center",
        z.where, Code::kInvalidArgument);
  }
  Tensor y = at(signal.slice(1, begin, end, 1, z.where)) / at(cut);
  if (filled > 0) y = pad(at(y), {0, filled});
  return rank == 3 ? y.squeeze(0, z.where) : y;
}

}  // namespace wick
