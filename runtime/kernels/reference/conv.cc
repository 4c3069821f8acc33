// Convolution over one to three spatial dims: plain loops in the contract's order.
#include "runtime/kernels/reference/real.h"

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

template <class T>
Status conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
            const ConvAttrs& a, const EpilogueAttrs* e) {
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
