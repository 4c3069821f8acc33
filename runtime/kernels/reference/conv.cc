// Convolution over one to three spatial dims: plain loops in the contract's order.
#include "runtime/kernels/conv/winograd.h"
#include "runtime/kernels/gemm/pairs.h"
#include "runtime/kernels/reference/real.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// The last `spatial` of the three dims are the call's; leading ones are 1.
struct Window {
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
};

Window window(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a) {
  Window r;
  const int spatial = x.rank() - 2;
  for (int i = 0; i < spatial; ++i) {
    const int d = 3 - spatial + i;
    r.in[d] = x[2 + i], r.kernel[d] = w[2 + i], r.out[d] = y[2 + i];
    r.stride[d] = a.strides.at_or(i, 1), r.dilation[d] = a.dilations.at_or(i, 1);
    r.pad[d] = a.pads.at_or(i, 0);
  }
  return r;
}

// The outputs of one tile: rows [top, top + 2) and columns [left, left + 2) of output channel o.
struct WinogradTile {
  float y[2][2];
};

// Combines four values as winograd.h says.
void inputs_of(const float* d, int step, float* v, int v_step) {
  v[0] = d[0] - d[2 * step];
  v[v_step] = d[step] + d[2 * step];
  v[2 * v_step] = d[2 * step] - d[step];
  v[3 * v_step] = d[step] - d[3 * step];
}
void outputs_of(const float* m, int step, float* y, int y_step) {
  y[0] = (m[0] + m[step]) + m[2 * step];
  y[y_step] = (m[step] - m[2 * step]) - m[3 * step];
}

// The same by winograd.h: x is an image, w the weights of an output channel.
WinogradTile winograd_tile(const Shape& x, const ConvAttrs& a, const float* image, const float* w,
                           int64_t top, int64_t left, Poll& poll) {
  float m[kWinogradPlaces] = {};
  for (int64_t c = 0; c < x[1] && !poll(kWinogradPlaces); ++c, w += 9) {
    float d[16], rows[16], v[16], u[16];
    for (int i = 0; i < 16; ++i) {
      const int64_t r = top - a.pads.at_or(0, 0) + i / 4, q = left - a.pads.at_or(1, 0) + i % 4;
      const bool inside = r >= 0 && r < x[2] && q >= 0 && q < x[3];
      d[i] = inside ? image[(c * x[2] + r) * x[3] + q] : 0;
    }
    for (int i = 0; i < 4; ++i) inputs_of(d + i, 4, rows + i, 4);
    for (int i = 0; i < 4; ++i) inputs_of(rows + 4 * i, 1, v + 4 * i, 1);
    winograd_weights(w, u);
    for (int p = 0; p < kWinogradPlaces; ++p) m[p] = std::fma(v[p], u[p], m[p]);
  }
  float rows[8];
  WinogradTile tile;
  for (int i = 0; i < 4; ++i) outputs_of(m + i, 4, rows + i, 4);
  for (int i = 0; i < 2; ++i) outputs_of(rows + 4 * i, 1, tile.y[i], 1);
  return tile;
}

Status winograd(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const ConvAttrs& a, const EpilogueAttrs* e) {
  const Tail<float> tail(ctx, in, e);
  const Shape &x = in[0].shape, &y = out[0].shape;
  Poll poll;
  for (int64_t image = 0; image < y[0]; ++image) {
    const float* from = in[0].as<float>() + image * x[1] * x[2] * x[3];
    for (int64_t o = 0; o < y[1]; ++o) {
      const float* w = in[1].as<float>() + o * x[1] * 9;
      for (int64_t top = 0; top < y[2]; top += 2) {
        for (int64_t left = 0; left < y[3]; left += 2) {
          const WinogradTile tile = winograd_tile(x, a, from, w, top, left, poll);
          for (int64_t i = 0; i < 4; ++i) {
            const int64_t r = top + i / 2, q = left + i % 2;
            const int64_t at = ((image * y[1] + o) * y[2] + r) * y[3] + q;
            if (r < y[2] && q < y[3]) out[0].as<float>()[at] = tail(tile.y[i / 2][i % 2], o, at);
          }
          if (poll()) return {};
        }
      }
    }
  }
  return {};
}

// The same by pairs.h: k runs over (kh, kw, pairs of channels).
Status pairs(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
             const ConvAttrs& a, const EpilogueAttrs* e) {
  const Tail<float> tail(ctx, in, e);
  const Shape &x = in[0].shape, &w = in[1].shape, &y = out[0].shape;
  const Window n = window(x, w, y, a);
  const int64_t plane = n.in[1] * n.in[2], pixels = n.out[1] * n.out[2];
  const int64_t taps = n.kernel[1] * n.kernel[2];
  Poll poll;
  for (int64_t i = 0, total = out[0].numel(); i < total; ++i) {
    const int64_t image = i / pixels / y[1], o = i / pixels % y[1], p = i % pixels;
    const float* from = in[0].as<float>() + image * x[1] * plane;
    const float* weight = in[1].as<float>() + o * x[1] * taps;
    float sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t r = p / n.out[2] * n.stride[1] - n.pad[1] + tap / n.kernel[2] * n.dilation[1];
      const int64_t q = p % n.out[2] * n.stride[2] - n.pad[2] + tap % n.kernel[2] * n.dilation[2];
      const bool inside = r >= 0 && r < n.in[1] && q >= 0 && q < n.in[2];
      if (poll(x[1])) return {};
      for (int64_t c = 0; c < x[1]; c += 2) {
        for (const int64_t one : {c + 1, c}) {
          const bool there = one < x[1];
          const float v = there && inside ? from[one * plane + r * n.in[2] + q] : 0;
          sum = pair_add(pair_operand(v), there ? pair_operand(weight[one * taps + tap]) : 0, sum);
        }
      }
    }
    out[0].as<float>()[i] = tail(sum, o, i);
  }
  return {};
}

template <class T>
Status conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
            const ConvAttrs& a, const EpilogueAttrs* e) {
  if constexpr (std::is_same_v<T, float>) {
    if (takes_winograd(DType::kF32, in[1].shape, a)) return winograd(ctx, in, out, a, e);
    if (takes_pairs(DType::kF32, in[1].shape, a)) return pairs(ctx, in, out, a, e);
  }
  const Tail<T> tail(ctx, in, e);
  const Shape &x = in[0].shape, &w = in[1].shape, &y = out[0].shape;
  const Window n = window(x, w, y, a);
  const int64_t group_in = w[1], group_out = w[0] / a.group;
  const int64_t in_plane = n.in[0] * n.in[1] * n.in[2];
  T* to = out[0].as<T>();
  int64_t element = 0;
  Poll poll;
  for (int64_t image = 0; image < y[0]; ++image) {
    for (int64_t o = 0; o < y[1]; ++o) {
      const T* from = in[0].as<T>() + (image * x[1] + o / group_out * group_in) * in_plane;
      for (int64_t p = 0, pixels = n.out[0] * n.out[1] * n.out[2]; p < pixels; ++p, ++element) {
        const int64_t at[3] = {p / (n.out[1] * n.out[2]), p / n.out[2] % n.out[1], p % n.out[2]};
        const T* weight = in[1].as<T>() + o * group_in * n.kernel[0] * n.kernel[1] * n.kernel[2];
        Real<T> sum = 0;
        for (int64_t c = 0; c < group_in; ++c) {
          for (int64_t i = 0; i < n.kernel[0]; ++i) {
            for (int64_t j = 0; j < n.kernel[1]; ++j) {
              if (poll(n.kernel[2])) return {};
              for (int64_t k = 0; k < n.kernel[2]; ++k, ++weight) {
                const int64_t d = at[0] * n.stride[0] - n.pad[0] + i * n.dilation[0];
                const int64_t r = at[1] * n.stride[1] - n.pad[1] + j * n.dilation[1];
                const int64_t q = at[2] * n.stride[2] - n.pad[2] + k * n.dilation[2];
                const bool inside =
                    d >= 0 && d < n.in[0] && r >= 0 && r < n.in[1] && q >= 0 && q < n.in[2];
                const Real<T> v =
                    inside ? load(from[((c * n.in[0] + d) * n.in[1] + r) * n.in[2] + q]) : 0;
                sum = std::fma(load(*weight), v, sum);
              }
            }
          }
        }
        to[element] = tail(sum, o, element);
      }
    }
  }
  return {};
}

template <class T>
Status plain(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
             const void* attrs) {
  return conv<T>(ctx, in, out, *static_cast<const ConvAttrs*>(attrs), nullptr);
}
template <class T>
Status fused(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
             const void* attrs) {
  const auto& a = *static_cast<const FusedConvAttrs*>(attrs);
  return conv<T>(ctx, in, out, a.conv, &a.epilogue);
}

}  // namespace

WICK_REF_ROWS(Conv, WICK_FLOAT_ROWS("conv", kContiguous, match<T>, plain<T>));
WICK_REF_ROWS(FusedConv, WICK_FLOAT_ROWS("fused_conv", kContiguous, match<T>, fused<T>));

}  // namespace wick
