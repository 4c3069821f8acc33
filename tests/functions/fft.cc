// Fourier transforms. A complex tensor is one of pairs, PyTorch's view_as_real().
#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

constexpr DTypeSet kWideFloats = dtypes(DType::kF64, DType::kF32);
constexpr DTypeSet kOne = dtypes(DType::kF64);

// "torch.fft.fft(" and ")" around a complex x0; pairs() returns what is complex as pairs.
std::string of_pairs(const char* before, const char* after) {
  return std::string(before) + "torch.view_as_complex(x0)" + after;
}
std::string pairs(const char* before, const char* after) {
  return "torch.view_as_real(" + of_pairs(before, after) + ")";
}

void lines(Rows& row) {
  row("fft::fft", smooth, kWideFloats)
      .sample(pairs("torch.fft.fft(", ")"), {x({3, 5, 2})}, WICK_FN(fft::fft(x0)))
      .sample(pairs("torch.fft.fft(", ", 8, 0, 'ortho')"), {x({3, 4, 2})},
              WICK_FN(fft::fft(x0, 8, 0, "ortho")))
      .sample(pairs("torch.fft.fft(", ", 3, -2, 'forward')"), {x({4, 2, 2})},
              WICK_FN(fft::fft(x0, 3, -2, "forward")));
  row("fft::ifft", smooth, kWideFloats)
      .sample(pairs("torch.fft.ifft(", ")"), {x({3, 6, 2})}, WICK_FN(fft::ifft(x0)))
      .sample(pairs("torch.fft.ifft(", ", 7, 0, 'ortho')"), {x({3, 4, 2})},
              WICK_FN(fft::ifft(x0, 7, 0, "ortho")))
      .sample(pairs("torch.fft.ifft(", ", norm='forward')"), {x({4, 2})},
              WICK_FN(fft::ifft(x0, {}, -1, "forward")));
  row("fft::rfft", smooth, kWideFloats)
      .sample("torch.view_as_real(torch.fft.rfft(x0))", {x({3, 5})}, WICK_FN(fft::rfft(x0)))
      .sample("torch.view_as_real(torch.fft.rfft(x0, 4, 0))", {x({6, 2})},
              WICK_FN(fft::rfft(x0, 4, 0)))
      .sample("torch.view_as_real(torch.fft.rfft(x0, 9, norm='ortho'))", {x({2, 6})},
              WICK_FN(fft::rfft(x0, 9, -1, "ortho")));
  row("fft::irfft", smooth, kWideFloats)
      .sample(of_pairs("torch.fft.irfft(", ")"), {x({3, 4, 2})}, WICK_FN(fft::irfft(x0)))
      .sample(of_pairs("torch.fft.irfft(", ", 7)"), {x({2, 4, 2})}, WICK_FN(fft::irfft(x0, 7)))
      .sample(of_pairs("torch.fft.irfft(", ", 10, 0, 'ortho')"), {x({3, 2, 2})},
              WICK_FN(fft::irfft(x0, 10, 0, "ortho")));
}

void grids(Rows& row) {
  row("fft::fft2", smooth, kWideFloats)
      .sample(pairs("torch.fft.fft2(", ")"), {x({2, 3, 4, 2})}, WICK_FN(fft::fft2(x0)));
  row("fft::ifft2", smooth, kWideFloats)
      .sample(pairs("torch.fft.ifft2(", ", (4, 3), norm='ortho')"), {x({2, 3, 4, 2})},
              WICK_FN(fft::ifft2(x0, {4, 3}, {-2, -1}, "ortho")));
  row("fft::fftn", smooth, kWideFloats)
      .sample(pairs("torch.fft.fftn(", ")"), {x({2, 3, 4, 2})}, WICK_FN(fft::fftn(x0)))
      .sample(pairs("torch.fft.fftn(", ", (5,))"), {x({2, 3, 2})}, WICK_FN(fft::fftn(x0, {5})));
  row("fft::ifftn", smooth, kWideFloats)
      .sample(pairs("torch.fft.ifftn(", ", dim=(0, 2))"), {x({2, 3, 4, 2})},
              WICK_FN(fft::ifftn(x0, {}, {0, 2})));
  row("fft::rfft2", smooth, kWideFloats)
      .sample("torch.view_as_real(torch.fft.rfft2(x0))", {x({2, 3, 4})}, WICK_FN(fft::rfft2(x0)));
  row("fft::irfft2", smooth, kWideFloats)
      .sample(of_pairs("torch.fft.irfft2(", ")"), {x({3, 4, 2})}, WICK_FN(fft::irfft2(x0)))
      .sample(of_pairs("torch.fft.irfft2(", ", (4, 5))"), {x({3, 4, 2})},
              WICK_FN(fft::irfft2(x0, {4, 5})));
  row("fft::rfftn", smooth, kWideFloats)
      .sample("torch.view_as_real(torch.fft.rfftn(x0, dim=(1, 0)))", {x({4, 3})},
              WICK_FN(fft::rfftn(x0, {}, {1, 0})));
  row("fft::irfftn", smooth, kWideFloats)
      .sample(of_pairs("torch.fft.irfftn(", ")"), {x({2, 3, 3, 2})}, WICK_FN(fft::irfftn(x0)));
  row("fft::fftshift", smooth, kWideFloats)
      .sample("torch.fft.fftshift(x0, (0, 1))", {x({3, 4})}, WICK_FN(fft::fftshift(x0, {0, 1})));
  row("fft::ifftshift", smooth, kWideFloats)
      .sample("torch.fft.ifftshift(x0, (0, 1))", {x({3, 4})}, WICK_FN(fft::ifftshift(x0, {0, 1})));
  row("fft::fftfreq", creation, kWideFloats)
      .sample("torch.fft.fftfreq(5, 0.5, dtype=dtype)", {}, WICK_FN(fft::fftfreq(5, 0.5, dtype)))
      .sample("torch.fft.fftfreq(4, dtype=dtype)", {}, WICK_FN(fft::fftfreq(4, 1, dtype)));
  row("fft::rfftfreq", creation, kWideFloats)
      .sample("torch.fft.rfftfreq(5, 0.5, dtype=dtype)", {}, WICK_FN(fft::rfftfreq(5, 0.5, dtype)));
}

void complex_numbers(Rows& row) {
  row("complex", smooth, kWideFloats)
      .sample("torch.view_as_real(torch.complex(x0, x1))", {x({3, 2}), x({3, 2})},
              WICK_FN(complex(x0, x1)));
  row("polar", smooth, kWideFloats)
      .sample("torch.view_as_real(torch.polar(x0, x1))", {x({3}, 0.5, 2), x({3})},
              WICK_FN(polar(x0, x1)));
  row("real", smooth, kWideFloats)
      .sample("torch.view_as_complex(x0).real", {x({3, 2})}, WICK_FN(real(x0)));
  row("imag", smooth, kWideFloats)
      .sample("torch.view_as_complex(x0).imag", {x({3, 2})}, WICK_FN(imag(x0)));
  row("angle", smooth, kOne)
      .sample("torch.angle(torch.view_as_complex(x0))", {x({3, 2}, 0.5, 2)}, WICK_FN(angle(x0)));
  row("complex_abs", smooth, kWideFloats)
      .sample("torch.abs(torch.view_as_complex(x0))", {off_zero({3, 2})}, WICK_FN(complex_abs(x0)));
  row("complex_mul", smooth, kWideFloats)
      .sample("torch.view_as_real(torch.view_as_complex(x0) * torch.view_as_complex(x1))",
              {x({3, 2}), x({3, 2})}, WICK_FN(complex_mul(x0, x1)));
  row("conj", smooth, kWideFloats)
      .sample("torch.view_as_real(torch.view_as_complex(x0).conj().resolve_conj())", {x({3, 2})},
              WICK_FN(conj(x0)));
}

void short_time(Rows& row) {
  row("hann_window", creation, kWideFloats)
      .sample("torch.hann_window(5, dtype=dtype)", {}, WICK_FN(hann_window(5, true, dtype)))
      .sample("torch.hann_window(5, False, dtype=dtype)", {}, WICK_FN(hann_window(5, false, dtype)))
      .sample("torch.hann_window(1, dtype=dtype)", {}, WICK_FN(hann_window(1, true, dtype)));
  row("hamming_window", creation, kWideFloats)
      .sample("torch.hamming_window(6, dtype=dtype)", {},
              WICK_FN(hamming_window(6, true, 0.54, 0.46, dtype)));
  row("blackman_window", creation, kWideFloats)
      .sample("torch.blackman_window(6, dtype=dtype)", {},
              WICK_FN(blackman_window(6, true, dtype)));
  row("bartlett_window", creation, kWideFloats)
      .sample("torch.bartlett_window(6, dtype=dtype)", {},
              WICK_FN(bartlett_window(6, true, dtype)));
  row("stft", smooth, kWideFloats)
      .sample("torch.stft(x0, 8, return_complex=False)", {x({2, 20})},
              WICK_FN(stft(x0, {.n_fft = 8})))
      .sample("torch.stft(x0, 8, 3, 6, x1, center=False, normalized=True, return_complex=False)",
              {x({20}), x({6}, 0.5, 1)},
              WICK_FN(stft(x0, {.n_fft = 8,
                                .hop_length = 3,
                                .win_length = 6,
                                .window = x1,
                                .center = false,
                                .normalized = true})))
      .sample("torch.stft(x0, 6, 2, onesided=False, return_complex=False)", {x({2, 11})},
              WICK_FN(stft(x0, {.n_fft = 6, .hop_length = 2, .onesided = false})));
  row("istft", smooth, kWideFloats)
      .sample("torch.istft(torch.view_as_complex(x0), 8, 2, window=x1)",
              {x({2, 5, 6, 2}), x({8}, 0.5, 1)},
              WICK_FN(istft(x0, {.n_fft = 8, .hop_length = 2, .window = x1})))
      .sample(
          "torch.istft(torch.view_as_complex(x0), 8, 4, center=False, normalized=True, length=15)",
          {x({5, 3, 2})},
          WICK_FN(
              istft(x0, {.n_fft = 8, .hop_length = 4, .center = false, .normalized = true}, 15)));
}

}  // namespace

std::vector<FunctionRow> fft_rows() {
  Rows row;
  lines(row);
  grids(row);
  complex_numbers(row);
  short_time(row);
  return row.all;
}

}  // namespace wick::test
