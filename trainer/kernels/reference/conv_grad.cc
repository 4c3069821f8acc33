// Gradients of convolution over one to three spatial dims, plain loops in the order of conv_grad.h.
#include "trainer/kernels/conv_grad.h"
#include "runtime/kernels/reference/real.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what the references share

// Has three spatial dims: the call's dims come last, and missing ones before them are 1.
struct Window {
  int64_t n, ic, oc, group_in, group_out;
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};

  Window(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a) {
    n = x[0], ic = x[1], oc = w[0], group_in = w[1], group_out = w[0] / a.group;
    const int spatial = x.rank() - 2;
    for (int i = 0; i < spatial; ++i) {
      const int d = 3 - spatial + i;
      in[d] = x[2 + i], kernel[d] = w[2 + i], out[d] = y[2 + i];
      stride[d] = a.strides.at_or(i, 1), dilation[d] = a.dilations.at_or(i, 1),
      pad[d] = a.pads.at_or(i, 0);
    }
  }
  static int64_t volume(const int64_t* v) { return v[0] * v[1] * v[2]; }
  static void unpack(int64_t i, const int64_t* size, int64_t* at) {
    at[0] = i / (size[1] * size[2]), at[1] = i / size[2] % size[1], at[2] = i % size[2];
  }
  // Returns the index of the element at `at`, or -1 if it is outside.
  static int64_t index(const int64_t* at, const int64_t* size) {
    for (int d = 0; d < 3; ++d) {
      if (at[d] < 0 || at[d] >= size[d]) return -1;
    }
    return (at[0] * size[1] + at[1]) * size[2] + at[2];
  }
};

template <class T>
Status input_grad(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const Window c(out[0].shape, in[1].shape, in[0].shape,
                 static_cast<const ConvGradAttrs*>(attrs)->conv);
  const int64_t pixels = Window::volume(c.in), taps = Window::volume(c.kernel),
                grads = Window::volume(c.out);
  const T *dy = in[0].as<T>(), *w = in[1].as<T>();
  T* dx = out[0].as<T>();
  for (int64_t e = 0; e < c.n * c.ic * pixels; ++e) {
    const int64_t image = e / pixels / c.ic, channel = e / pixels % c.ic, g = channel / c.group_in;
    int64_t at[3], tap[3], from[3];
    Window::unpack(e % pixels, c.in, at);
    Real<T> sum = 0;
    for (int64_t o = g * c.group_out; o < (g + 1) * c.group_out; ++o) {
      for (int64_t k = 0; k < taps; ++k) {
        Window::unpack(k, c.kernel, tap);
        bool whole = true;
        for (int d = 0; d < 3; ++d) {
          const int64_t steps = at[d] + c.pad[d] - tap[d] * c.dilation[d];
          whole = whole && steps % c.stride[d] == 0;
          from[d] = steps / c.stride[d];
        }
        if (!whole) continue;
        const int64_t i = Window::index(from, c.out);
        const Real<T> v = i < 0 ? 0 : load(dy[(image * c.oc + o) * grads + i]);
        sum = std::fma(load(w[(o * c.group_in + channel % c.group_in) * taps + k]), v, sum);
      }
    }
    dx[e] = static_cast<T>(sum);
  }
  return {};
}

template <class T>
Status weight_grad(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const Window c(in[0].shape, out[0].shape, in[1].shape,
                 static_cast<const ConvGradAttrs*>(attrs)->conv);
  const int64_t pixels = Window::volume(c.in), taps = Window::volume(c.kernel),
                grads = Window::volume(c.out);
  const int64_t weights = c.oc * c.group_in * taps;
  const int64_t images = grads == 0 ? 0 : c.n;  // without gradients there is nothing to sum
  const int64_t slices = conv_weight_grad_slices(images, grads, weights);
  const T *x = in[0].as<T>(), *dy = in[1].as<T>();
  T* dw = out[0].as<T>();
  for (int64_t e = 0; e < weights; ++e) {
    const int64_t o = e / taps / c.group_in;
    const int64_t channel = o / c.group_out * c.group_in + e / taps % c.group_in;
    int64_t tap[3], at[3], from[3];
    Window::unpack(e % taps, c.kernel, tap);
    Real<T> total = 0;
    for (int64_t slice = 0; slice < slices; ++slice) {
      Real<T> sum = 0;
      for (int64_t n = slice_begin(slice, slices, images);
           n < slice_begin(slice + 1, slices, images); ++n) {
        for (int64_t p = 0; p < grads; ++p) {
          Window::unpack(p, c.out, at);
          for (int d = 0; d < 3; ++d)
            from[d] = at[d] * c.stride[d] - c.pad[d] + tap[d] * c.dilation[d];
          const int64_t i = Window::index(from, c.in);
          const Real<T> v = i < 0 ? 0 : load(x[(n * c.ic + channel) * pixels + i]);
          sum = std::fma(v, load(dy[(n * c.oc + o) * grads + p]), sum);
        }
      }
      total = slice == 0 ? sum : total + sum;
    }
    dw[e] = static_cast<T>(total);
  }
  return {};
}

}  // namespace

WICK_REF_ROWS(ConvInputGrad,
              WICK_FLOAT_ROWS("conv_input_grad", kContiguous, match<T>, input_grad<T>));
WICK_REF_ROWS(ConvWeightGrad,
              WICK_FLOAT_ROWS("conv_weight_grad", kContiguous, match<T>, weight_grad<T>));

}  // namespace wick
