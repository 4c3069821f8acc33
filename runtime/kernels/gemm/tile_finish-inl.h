// Applies the epilogue of a sum, per SIMD target: bias, scale and shift, residual, activation.
#if defined(WICK_KERNELS_TILE_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_TILE_FINISH_INL_H_
#undef WICK_KERNELS_TILE_FINISH_INL_H_
#else
#define WICK_KERNELS_TILE_FINISH_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "runtime/kernels/gemm/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

// What is left of a row goes through the same loop, in a copy.
void activate_rows(const Epilogue& e, float* y, int64_t step, int64_t rows, int64_t cols) {
  constexpr int64_t kPart = 256;
  static_assert(kPart % kLanes == 0, "a part is whole vectors");
  const bool times = row_of(e.act).times;
  const int64_t whole = times ? 0 : cols / kLanes * kLanes;
  HWY_ALIGN float part[kPart];
  for (int64_t r = 0; r < rows; ++r, y += step) {
    if (whole != 0) e.loop(y, whole, e.alpha, e.beta);
    for (int64_t c = whole; c < cols; c += kPart) {
      const int64_t n = HWY_MIN(kPart, cols - c), vectors = (n + kLanes - 1) / kLanes * kLanes;
      memcpy(part, y + c, static_cast<size_t>(n) * sizeof(float));
      memset(part + n, 0, static_cast<size_t>(vectors - n) * sizeof(float));
      e.loop(part, vectors, e.alpha, e.beta);
      for (int64_t i = 0; i < n; ++i) y[c + i] = times ? y[c + i] * part[i] : part[i];
    }
  }
}

// Rows whose columns are different channels.
void finish_columns(const Epilogue& e, int64_t channel0, const float* src, int64_t src_step,
                    float* dst, int64_t dst_step, int64_t rows, int64_t cols) {
  const TileTag d;
  for (int64_t r = 0; r < rows; ++r, src += src_step, dst += dst_step) {
    for (int64_t c = 0; c < cols; c += kLanes) {
      const int n = static_cast<int>(HWY_MIN(int64_t{kLanes}, cols - c));
      const int64_t at = channel0 + c;
      TileVec y = load_n(d, src + c, n);
      if (e.bias != nullptr) y = hn::Add(y, load_n(d, e.bias + at, n));
      if (e.scale != nullptr) {
        y = fused_mul_add(y, load_n(d, e.scale + at, n), load_n(d, e.shift + at, n));
      }
      if (e.residual != nullptr) {
        y = hn::Add(y, load_n(d, e.residual + r * e.residual_step + c, n));
      }
      store_n(activate(e, y), d, dst + c, n);
    }
  }
}

// Rows of one channel each, or all of one channel.
void finish_rows(const Epilogue& e, int64_t channel, const float* src, int64_t src_step, float* dst,
                 int64_t dst_step, int64_t rows, int64_t cols) {
  const TileTag d;
  const bool scaled = e.scale != nullptr, leaky = e.act == Activation::kLeakyRelu;
  const bool above = e.act == Activation::kClip;
  const TileVec low = hn::Set(d, lower_bound(e)), high = hn::Set(d, e.beta);
  const int64_t whole = cols / kLanes * kLanes;
  const int rest = static_cast<int>(cols - whole);
  for (int64_t r = 0; r < rows; ++r, src += src_step, dst += dst_step) {
    // y + -0 is y for every y.
    const TileVec bias = hn::Set(d, e.bias == nullptr ? -0.0f : e.bias[channel]);
    const TileVec scale = hn::Set(d, scaled ? e.scale[channel] : 0.0f);
    const TileVec shift = hn::Set(d, scaled ? e.shift[channel] : 0.0f);
    const float* residual = e.residual == nullptr ? nullptr : e.residual + r * e.residual_step;
    const auto value = [&](int64_t c, int n) HWY_ATTR {
      TileVec y = hn::Add(load_n(d, src + c, n), bias);
      if (scaled) y = fused_mul_add(y, scale, shift);
      if (residual != nullptr) y = hn::Add(y, load_n(d, residual + c, n));
      if (leaky) return activate(e, y);
      y = hn::IfThenElse(hn::Le(y, low), low, y);
      return above ? hn::IfThenElse(hn::Ge(y, high), high, y) : y;
    };
    for (int64_t c = 0; c < whole; c += kLanes) hn::StoreU(value(c, kLanes), d, dst + c);
    if (rest != 0) store_n(value(whole, rest), d, dst + whole, rest);
    if (e.channel == Epilogue::Channel::kRow) ++channel;
  }
}

void finish(const Epilogue& e, int64_t channel0, const float* src, int64_t src_step, float* dst,
            int64_t dst_step, int64_t rows, int64_t cols) {
  const auto body = e.channel == Epilogue::Channel::kColumn ? finish_columns : finish_rows;
  body(e, channel0, src, src_step, dst, dst_step, rows, cols);
  if (has_loop(e.act)) activate_rows(e, dst, dst_step, rows, cols);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_KERNELS_TILE_FINISH_INL_H_
