// torch.fft, and the short-time transform. A complex tensor is a float tensor whose last dim holds
// the real and the imaginary part, [..., 2], as torch.view_as_real() shows PyTorch's. `dim` counts
// the other dims: -1 is the one before the pair. float32 and float64; values are computed in
// double. Differentiable to any order.
#pragma once

#include <string>

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- complex numbers as pairs
Tensor complex(const Arg& real, const Arg& imag);  // [...], [...] -> [..., 2]
Tensor polar(const Arg& abs, const Arg& angle);    // abs (cos angle + i sin angle)
Tensor real(const Arg& z);                         // [..., 2] -> [...]
Tensor imag(const Arg& z);                         // [..., 2] -> [...]
Tensor angle(const Arg& z);                        // of pairs: atan2(imag, real)
Tensor complex_abs(const Arg& z);                  // |z|; its gradient at 0 is 0
Tensor complex_mul(const Arg& a, const Arg& b);    // the product of complex numbers; they broadcast
Tensor conj(const Arg& z);                         // the imaginary parts' signs are changed

namespace fft {

// norm: the factor of the forward transform is 1 ("backward"), 1 / n ("forward") or 1 / sqrt(n)
// ("ortho"); the inverse's makes the two inverse to each other. n: the signal is cut, or filled up
// with zeros, to this length.

// -- complex to complex: [..., n, ..., 2]
// Transform one dim: sums of z[t] e^(-2 pi i k t / n), and the inverse.
Tensor fft(const Arg& z, std::optional<int64_t> n = {}, int dim = -1,
           const std::string& norm = "backward");
Tensor ifft(const Arg& z, std::optional<int64_t> n = {}, int dim = -1,
            const std::string& norm = "backward");
// Transform two dims.
Tensor fft2(const Arg& z, const Shape& s = {}, Dims dim = {-2, -1},
            const std::string& norm = "backward");
Tensor ifft2(const Arg& z, const Shape& s = {}, Dims dim = {-2, -1},
             const std::string& norm = "backward");
// Transform several dims. Without dims, all of them, or the last ones that s has sizes for.
Tensor fftn(const Arg& z, const Shape& s = {}, Dims dim = {}, const std::string& norm = "backward");
Tensor ifftn(const Arg& z, const Shape& s = {}, Dims dim = {},
             const std::string& norm = "backward");

// -- real to half of the spectrum
// [..., n, ...] -> [..., n / 2 + 1, ..., 2], and back. Without n,
// irfft returns 2 (bins - 1) numbers. The imaginary parts of the first bin, and of the last one of
// an even length, are not read.
Tensor rfft(const Arg& x, std::optional<int64_t> n = {}, int dim = -1,
            const std::string& norm = "backward");
Tensor irfft(const Arg& z, std::optional<int64_t> n = {}, int dim = -1,
             const std::string& norm = "backward");
// The same of several dims, of which the last one is halved.
Tensor rfft2(const Arg& x, const Shape& s = {}, Dims dim = {-2, -1},
             const std::string& norm = "backward");
Tensor irfft2(const Arg& z, const Shape& s = {}, Dims dim = {-2, -1},
              const std::string& norm = "backward");
Tensor rfftn(const Arg& x, const Shape& s = {}, Dims dim = {},
             const std::string& norm = "backward");
Tensor irfftn(const Arg& z, const Shape& s = {}, Dims dim = {},
              const std::string& norm = "backward");

// -- frequencies, order
// The frequencies of the bins, k / (n d): of the whole spectrum, and of its half.
Tensor fftfreq(int64_t n, double d = 1, DType dtype = DType::kF32, Where where = Where::current());
Tensor rfftfreq(int64_t n, double d = 1, DType dtype = DType::kF32, Where where = Where::current());
// Moves the zero frequency to the middle of these dims, which count all dims of x; ifftshift()
// moves it back. Of a complex tensor, do not name the last one.
Tensor fftshift(const Arg& x, Dims dims);
Tensor ifftshift(const Arg& x, Dims dims);

}  // namespace fft

// -- windows
// Windows [n]; periodic: of length n + 1 without the last number, as transforms need them.
Tensor hann_window(int64_t n, bool periodic = true, DType dtype = DType::kF32,
                   Where where = Where::current());
Tensor hamming_window(int64_t n, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                      DType dtype = DType::kF32, Where where = Where::current());
Tensor blackman_window(int64_t n, bool periodic = true, DType dtype = DType::kF32,
                       Where where = Where::current());
Tensor bartlett_window(int64_t n, bool periodic = true, DType dtype = DType::kF32,
                       Where where = Where::current());

// Options of stft() and istft().
struct StftOptions {
  int64_t n_fft = 0;       // the length of a frame
  int64_t hop_length = 0;  // 0: n_fft / 4
  int64_t win_length = 0;  // 0: n_fft; the window is put into the middle of a frame
  Tensor window = {};      // [win_length]; undefined: ones
  bool center = true;      // pads the signal, so that frame t is around sample t hop_length
  std::string pad_mode = "reflect";  // of pad()
  bool normalized = false;           // divides by sqrt(n_fft)
  bool onesided = true;              // returns the half of the spectrum that determines the rest
};
// torch.stft with return_complex = false. x[L] or [B, L]; returns [B, bins, frames, 2], where bins
// = n_fft / 2 + 1 (n_fft without onesided) and frames = 1 + (L - n_fft) / hop_length, of the signal
// that `center` padded by n_fft / 2 on both sides.
Tensor stft(const Arg& x, const StftOptions& options);
// The least squares estimate of the signal; length 0: as long as the frames reach. A place where
// the squares of the windows add up to less than 1e-11 is an Error.
Tensor istft(const Arg& z, const StftOptions& options, int64_t length = 0);

}  // namespace wick
