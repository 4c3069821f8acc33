// torch.nn.functional: convolution, unfold and fold.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// One number for all spatial dims, or one for each, h (rows) and w (columns).
struct Pair {
  int64_t h, w;
  // NOLINTBEGIN(google-explicit-constructor): implicit by design
  template <std::integral T>
  Pair(T both) : h(static_cast<int64_t>(both)), w(h) {}
  Pair(Dim both) : h(both.peek()), w(h) {}
  // NOLINTEND(google-explicit-constructor)
  Pair(SizeArg h, SizeArg w) : h(h), w(w) {}
};
// The same for three spatial dims, d, h and w.
struct Triple {
  int64_t d, h, w;
  // NOLINTBEGIN(google-explicit-constructor): implicit by design
  template <std::integral T>
  Triple(T all) : d(static_cast<int64_t>(all)), h(d), w(d) {}
  Triple(Dim all) : d(all.peek()), h(d), w(d) {}
  // NOLINTEND(google-explicit-constructor)
  Triple(SizeArg d, SizeArg h, SizeArg w) : d(d), h(h), w(w) {}
};

// x[N, C, spatial...], or without N; weight[O, C / groups, kernel...], bias[O]; floats.
Tensor conv1d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(), int64_t stride = 1,
              int64_t padding = 0, int64_t dilation = 1, int64_t groups = 1);
Tensor conv2d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(), Pair stride = 1,
              Pair padding = 0, Pair dilation = 1, int64_t groups = 1);
Tensor conv3d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(), Triple stride = 1,
              Triple padding = 0, Triple dilation = 1, int64_t groups = 1);

// The transpose of a convolution, run as one op: weight[C, O / groups, kernel...]. It equals a
// convolution over x with stride - 1 zeros between its elements.
Tensor conv_transpose1d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(),
                        int64_t stride = 1, int64_t padding = 0, int64_t output_padding = 0,
                        int64_t groups = 1, int64_t dilation = 1);
Tensor conv_transpose2d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(),
                        Pair stride = 1, Pair padding = 0, Pair output_padding = 0,
                        int64_t groups = 1, Pair dilation = 1);
Tensor conv_transpose3d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(),
                        Triple stride = 1, Triple padding = 0, Triple output_padding = 0,
                        int64_t groups = 1, Triple dilation = 1);

// im2col: x[N, C, H, W] -> [N, C * kh * kw, windows]; fold sums overlapping windows back.
Tensor unfold(const Arg& x, Pair kernel_size, Pair dilation = 1, Pair padding = 0, Pair stride = 1);
Tensor fold(const Arg& x, Pair output_size, Pair kernel_size, Pair dilation = 1, Pair padding = 0,
            Pair stride = 1);

}  // namespace wick
