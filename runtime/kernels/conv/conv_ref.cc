#include <cmath>

#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/gemm/gemm.h"

namespace wick {

void conv_ref(const ConvShape& s, const float* x, const float* w, float* y,
              const Epilogue& epilogue) {
  const int64_t plane = s.oh * s.ow;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t o = 0; o < s.oc; ++o) {
      const float* image = x + (n * s.ic + o / s.group_out() * s.group_in()) * s.h * s.w;
      for (int64_t i = 0; i < s.oh; ++i) {
        for (int64_t j = 0; j < s.ow; ++j) {
          const float* weight = w + o * s.group_in() * s.taps();
          float sum = 0;
          for (int64_t c = 0; c < s.group_in(); ++c) {
            for (int64_t a = 0; a < s.kh; ++a) {
              for (int64_t b = 0; b < s.kw; ++b) {
                const int64_t r = i * s.stride_h - s.pad_top + a * s.dilation_h;
                const int64_t q = j * s.stride_w - s.pad_left + b * s.dilation_w;
                const bool inside = r >= 0 && r < s.h && q >= 0 && q < s.w;
                sum = std::fma(*weight++, inside ? image[(c * s.h + r) * s.w + q] : 0.0f, sum);
              }
            }
          }
          y[(n * s.oc + o) * plane + i * s.ow + j] = sum;
        }
      }
    }
    Epilogue e = epilogue;
    e.channel = Epilogue::Channel::kRow;
    e.residual_step = plane;
    if (e.residual != nullptr) e.residual += n * s.oc * plane;
    finish_ref(e, 0, y + n * s.oc * plane, plane, s.oc, plane);
  }
}

}  // namespace wick
