// Matmul and convolution of bytes with zero points into int32 that wraps (so the order does not
// matter), bits read as another dtype, and the dropout that drops nothing.
#include <cstring>

#include "runtime/kernels/copy.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/integer.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

uint32_t wrapping(int32_t a, int32_t b) {
  return static_cast<uint32_t>(a) * static_cast<uint32_t>(b);
}
Status run_matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  const IntegerProduct p(in, out[0]);
  parallel_items(ctx.pool, p.batches * p.m, p.n * (p.k + 1), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t i = line % p.m, batch = line / p.m;
      const int64_t at_a = p.a.begin(batch, out[0].shape) + i * p.a.row;
      const int64_t at_b = p.b.begin(batch, out[0].shape);
      const int64_t at_zero = p.b_zero.begin(batch, out[0].shape);
      const int32_t a_zero =
          p.has_a_zero ? byte_at(in[2], p.a_zero.begin(batch, out[0].shape) + i * p.a_zero.row) : 0;
      for (int64_t j = 0; j < p.n; ++j) {
        const int32_t b_zero = p.has_b_zero ? byte_at(in[3], at_zero + j * p.b_zero.column) : 0;
        uint32_t sum = 0;
        for (int64_t l = 0; l < p.k; ++l) {
          sum += wrapping(byte_at(in[0], at_a + l * p.a.column) - a_zero,
                          byte_at(in[1], at_b + l * p.b.row + j * p.b.column) - b_zero);
        }
        out[0].as<int32_t>()[line * p.n + j] = static_cast<int32_t>(sum);
      }
    }
  });
  return {};
}

// What lies in the padding is the zero point: it adds nothing.
Status run_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const auto& a = *static_cast<const ConvAttrs*>(attrs);
  const Shape &x = in[0].shape, &w = in[1].shape, &y = out[0].shape;
  const int spatial = x.rank() - 2;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, to[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {};
  for (int i = 0; i < spatial; ++i) {
    const int d = 3 - spatial + i;
    size[d] = x[2 + i], kernel[d] = w[2 + i], to[d] = y[2 + i];
    stride[d] = a.strides.at_or(i, 1), dilation[d] = a.dilations.at_or(i, 1);
    pad[d] = a.pads.at_or(i, 0);
  }
  const int64_t pixels = to[0] * to[1] * to[2], taps = kernel[0] * kernel[1] * kernel[2];
  const int64_t plane = size[0] * size[1] * size[2], channels = w[1];
  if (out[0].numel() == 0) return {};
  const int64_t group_out = w[0] / a.group;
  const int32_t x_zero = zero_point(in, 2);
  parallel_items(
      ctx.pool, y[0] * y[1], pixels * (channels * taps + 1), [&](int64_t begin, int64_t end) {
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
              const int64_t d = corner[0] + t / (kernel[1] * kernel[2]) * dilation[0];
              const int64_t r = corner[1] + t / kernel[2] % kernel[1] * dilation[1];
              const int64_t q = corner[2] + t % kernel[2] * dilation[2];
              if (d < 0 || d >= size[0] || r < 0 || r >= size[1] || q < 0 || q >= size[2]) continue;
              const int64_t pixel = (d * size[1] + r) * size[2] + q;
              for (int64_t c = 0; c < channels; ++c) {
                sum += wrapping(byte_at(in[0], from + c * plane + pixel) - x_zero,
                                byte_at(in[1], (o * channels + c) * taps + t) - w_zero);
              }
            }
            out[0].as<int32_t>()[at * pixels + p] = static_cast<int32_t>(sum);
          }
        }
      });
  return {};
}

Status run_bit_cast(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                    const void*) {
  copy_strided(in[0], TensorView(out[0].data, in[0].dtype, in[0].shape));
  return {};
}

bool is_zero(const TensorView& t) {
  switch (t.dtype) {
    case DType::kF32: return t.as<float>()[0] == 0;
    case DType::kF64: return t.as<double>()[0] == 0;
    default: return (t.as<uint16_t>()[0] & 0x7FFF) == 0;
  }
}
Status run_dropout(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const bool training = has_input(in, 2) && in[2].as<uint8_t>()[0] != 0;
  const bool drops = training && !(has_input(in, 1) && is_zero(in[1]));
  if (drops) {
    return Status(Code::kUnsupported,
                  "training_mode is true and ratio is not 0: random dropout does not run in a "
                  "program; give false, or ratio 0");
  }
  copy_strided(in[0], out[0]);
  if (out[1].numel() > 0) memset(out[1].data, 1, static_cast<size_t>(out[1].numel()));
  return {};
}

bool is_byte(DType t) { return t == DType::kI8 || t == DType::kU8; }
bool are_bytes(const KernelQuery& q) { return is_byte(q.in[0].dtype) && is_byte(q.in[1].dtype); }
bool is_real(const KernelQuery& q) {
  return is_float(q.in[0].dtype) || is_small_float(q.in[0].dtype);
}
bool movable(const KernelQuery& q) { return q.in[0].dtype != DType::kString; }

}  // namespace

WICK_REF_ROWS(MatMulInteger,
              {"matmul_integer.any.ref", kStridedInputs, are_bytes, nullptr, nullptr, run_matmul});
WICK_REF_ROWS(ConvInteger,
              {"conv_integer.any.ref", kContiguous, are_bytes, nullptr, nullptr, run_conv});
WICK_REF_ROWS(BitCast, {"bit_cast.any", kStridedInputs, movable, nullptr, nullptr, run_bit_cast});
WICK_REF_ROWS(Dropout, {"dropout.any", kStridedInputs, is_real, nullptr, nullptr, run_dropout});
WICK_NO_CPU_ROWS(BitCast);
WICK_NO_CPU_ROWS(Dropout);

}  // namespace wick
