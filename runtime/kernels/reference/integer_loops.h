// Sums of byte products by plain loops, for any use of the sums. They are wrapping int32, so the
// order does not matter.
#pragma once

#include "runtime/kernels/bytes/integer.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/kernel.h"

namespace wick::reference {

// Multiplies bytes with their zero points subtracted: the product does not overflow, only the sum
// wraps. With unsigned operands GCC 12 for POWER would use unsigned 16-bit products, whatever the
// signs.
inline uint32_t wrapping_product(int32_t a, int32_t b) { return static_cast<uint32_t>(a * b); }

// a, b, a's zero point?, b's? -> f(row of all batches, column, columns, sum)
template <class F>
void matmul_sums(const KernelCtx& ctx, Span<const TensorView> in, const Shape& out, F&& f) {
  const IntegerProduct p(in, TensorView(nullptr, DType::kI32, out));
  parallel_items(ctx.pool, p.batches * p.m, p.n * (p.k + 1), [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t line = begin; line < end; ++line) {
      const int64_t i = line % p.m, batch = line / p.m;
      const int64_t at_a = p.a.begin(batch, out) + i * p.a.row;
      const int64_t at_b = p.b.begin(batch, out);
      const int64_t at_zero = p.b_zero.begin(batch, out);
      const int32_t a_zero =
          p.has_a_zero ? byte_at(in[2], p.a_zero.begin(batch, out) + i * p.a_zero.row) : 0;
      for (int64_t j = 0; j < p.n; ++j) {
        if (poll(4 * (p.k + 1))) return;
        const int32_t b_zero = p.has_b_zero ? byte_at(in[3], at_zero + j * p.b_zero.column) : 0;
        uint32_t sum = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          sum += wrapping_product(byte_at(in[0], at_a + l * p.a.column) - a_zero,
                                  byte_at(in[1], at_b + l * p.b.row + j * p.b.column) - b_zero);
        }
        f(line, j, p.n, static_cast<int32_t>(sum));
      }
    }
  });
}

// x, weight, x's zero point?, the weight's? -> f(element of the output, its channel, sum). Padding
// has the value of the zero point, so it contributes nothing.
template <class F>
void conv_sums(const KernelCtx& ctx, Span<const TensorView> in, const Shape& y, const ConvAttrs& a,
               F&& f) {
  const Shape &x = in[0].shape, &w = in[1].shape;
  const int spatial = x.rank() - 2;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, to[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {};
  for (int i = 0; i < spatial; ++i) {
    const int d = 3 - spatial + i;
    size[d] = x[2 + i], kernel[d] = w[2 + i], to[d] = y[2 + i];
    stride[d] = a.strides.at_or(i, 1), dilation[d] = a.dilations.at_or(i, 1);
    pad[d] = a.pads.at_or(i, 0);
  }
  if (numel(y) == 0) return;
  // without channels there are no taps
  const int64_t channels = numel(x) == 0 ? 0 : w[1];
  const int64_t pixels = to[0] * to[1] * to[2];
  const int64_t taps = channels == 0 ? 0 : kernel[0] * kernel[1] * kernel[2];
  const int64_t plane = size[0] * size[1] * size[2];
  const int64_t group_out = w[0] / a.group;
  const int32_t x_zero = zero_point(in, 2);
  parallel_items(
      ctx.pool, y[0] * y[1], pixels * (channels * taps + 1), [&](int64_t begin, int64_t end) {
        Poll poll;
        for (int64_t at = begin; at < end; ++at) {
          const int64_t image = at / y[1], o = at % y[1];
          const int32_t w_zero = has_input(in, 3) ? byte_at(in[3], in[3].numel() == 1 ? 0 : o) : 0;
          const int64_t from = (image * x[1] + o / group_out * channels) * plane;
          for (int64_t p = 0; p < pixels; ++p) {
            const int64_t corner[3] = {p / (to[1] * to[2]) * stride[0] - pad[0],
                                       p / to[2] % to[1] * stride[1] - pad[1],
                                       p % to[2] * stride[2] - pad[2]};
            uint32_t sum = 0;
            for (int64_t t = 0; t < taps; ++t) {
              if (poll(4 * channels)) return;
              const int64_t d = corner[0] + t / (kernel[1] * kernel[2]) * dilation[0];
              const int64_t r = corner[1] + t / kernel[2] % kernel[1] * dilation[1];
              const int64_t q = corner[2] + t % kernel[2] * dilation[2];
              if (d < 0 || d >= size[0] || r < 0 || r >= size[1] || q < 0 || q >= size[2]) continue;
              const int64_t pixel = (d * size[1] + r) * size[2] + q;
              for (int64_t c = 0; c < channels; ++c) {
                sum += wrapping_product(byte_at(in[0], from + c * plane + pixel) - x_zero,
                                        byte_at(in[1], (o * channels + c) * taps + t) - w_zero);
              }
            }
            f(at * pixels + p, o, static_cast<int32_t>(sum));
          }
        }
      });
}

}  // namespace wick::reference
