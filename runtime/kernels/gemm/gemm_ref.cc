#include <cmath>

#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/reference/real.h"

namespace wick {
void finish_ref(const Epilogue& e, int64_t channel0, float* out, int64_t out_step, int64_t rows,
                int64_t cols) {
  const EpilogueAttrs attrs = {static_cast<int64_t>(e.act), e.alpha, e.beta};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const int64_t channel = channel0 + (e.channel == Epilogue::Channel::kRow      ? r
                                          : e.channel == Epilogue::Channel::kColumn ? c
                                                                                    : 0);
      float y = out[r * out_step + c];
      if (e.bias != nullptr) y = y + e.bias[channel];
      if (e.scale != nullptr) y = std::fma(y, e.scale[channel], e.shift[channel]);
      if (e.residual != nullptr) y = y + e.residual[r * e.residual_step + c];
      out[r * out_step + c] = reference::activate(attrs, e.edition, y);
    }
  }
}

void gemm_ref(const Gemm& g) {
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < g.k; ++k) {
        sum = std::fma(g.a[i * g.a_row + k * g.a_col], g.b[k * g.b_row + j * g.b_col], sum);
      }
      g.c[i * g.c_row + j] = sum;
    }
  }
  finish_ref(g.epilogue, 0, g.c, g.c_row, g.m, g.n);
}

}  // namespace wick
