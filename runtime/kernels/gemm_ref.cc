#include <cmath>

#include "runtime/kernels/gemm.h"
#include "runtime/kernels/math_scalar.h"

namespace wick {
namespace {

float activate(const Epilogue& e, float y) {
  using scalar_math::F;
  switch (e.act) {
    case Activation::kNone: return y;
    case Activation::kRelu: return y <= 0 ? 0.0f : y;  // NaN passes
    case Activation::kClip: return y < e.alpha ? e.alpha : y > e.beta ? e.beta : y;
    case Activation::kLeakyRelu: return y < 0 ? y * e.alpha : y;
    case Activation::kSigmoid: return scalar_math::sigmoid(F(y)).v;
    case Activation::kTanh: return scalar_math::tanh(F(y)).v;
    case Activation::kSilu: return scalar_math::silu(F(y)).v;
    case Activation::kHardSwish: break;  // no fused kernel
    case Activation::kGeluErf: return scalar_math::gelu(F(y)).v;
    case Activation::kGeluTanh: return scalar_math::gelu_tanh(F(y)).v;
  }
  return y;
}

}  // namespace

void finish_ref(const Epilogue& e, int64_t channel0, float* out, int64_t out_step, int64_t rows,
                int64_t cols) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const int64_t channel = channel0 + (e.channel == Epilogue::Channel::kRow      ? r
                                          : e.channel == Epilogue::Channel::kColumn ? c
                                                                                    : 0);
      float y = out[r * out_step + c];
      if (e.bias != nullptr) y = y + e.bias[channel];
      if (e.scale != nullptr) y = std::fma(y, e.scale[channel], e.shift[channel]);
      if (e.residual != nullptr) y = y + e.residual[r * e.residual_step + c];
      out[r * out_step + c] = activate(e, y);
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
