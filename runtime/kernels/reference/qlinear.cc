// The byte operators by plain loops.
#include "runtime/kernels/bytes/qlinear.h"

#include <algorithm>

#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reference/by_edition.h"
#include "runtime/kernels/reference/integer_loops.h"
#include "runtime/kernels/window/pool.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

int32_t plus_bias(int32_t sum, const TensorView* bias, int64_t i) {
  if (bias == nullptr) return sum;
  return static_cast<int32_t>(static_cast<uint32_t>(sum) +
                              static_cast<uint32_t>(bias->as<int32_t>()[i]));
}
const TensorView* bias_of(Span<const TensorView> in, size_t i) {
  return has_input(in, i) ? &in[i] : nullptr;
}

Status run_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, 6, &scales));
  const TensorView plain[] = {in[0], in[3], in[2], in[5]};
  const ByteRange to = byte_range(in[7].dtype, zero_point(in, 7));
  const TensorView* bias = bias_of(in, 8);
  conv_sums(ctx, {plain, 4}, out[0].shape, *static_cast<const ConvAttrs*>(attrs),
            [&](int64_t at, int64_t channel, int32_t sum) {
              store_byte(out[0], at,
                         requantize(plus_bias(sum, bias, channel), scales.at(channel), to));
            });
  return {};
}

Status run_matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, 6, &scales));
  const TensorView plain[] = {in[0], in[3], in[2], in[5]};
  const ByteRange to = byte_range(in[7].dtype, zero_point(in, 7));
  matmul_sums(ctx, {plain, 4}, out[0].shape, [&](int64_t line, int64_t j, int64_t n, int32_t sum) {
    store_byte(out[0], line * n + j, requantize(sum, scales.at(j), to));
  });
  return {};
}

Status run_gemm(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void*) {
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, 7, &scales));
  const int64_t k = in[3].dim(1), n = in[3].dim(0);
  const int32_t a_zero = zero_point(in, 2);
  const TensorView* bias = bias_of(in, 6);
  const bool bytes = has_input(in, 8);
  const ByteRange to = bytes ? byte_range(in[8].dtype, zero_point(in, 8)) : ByteRange{};
  parallel_items(ctx.pool, n == 0 ? 0 : out[0].numel() / n, n * (k + 1),
                 [&](int64_t begin, int64_t end) {
                   Poll poll;
                   for (int64_t row = begin; row < end; ++row) {
                     for (int64_t j = 0; j < n; ++j) {
                       if (poll(4 * (k + 1))) return;
                       const int32_t b_zero = byte_at(in[5], in[5].numel() == 1 ? 0 : j);
                       uint32_t sum = 0;
                       for (int64_t l = 0; l < k; ++l) {
                         sum += wrapping_product(byte_at(in[0], row * k + l) - a_zero,
                                                 byte_at(in[3], j * k + l) - b_zero);
                       }
                       const int32_t whole = plus_bias(static_cast<int32_t>(sum), bias, j);
                       const int64_t at = row * n + j;
                       if (bytes) {
                         store_byte(out[0], at, requantize(whole, scales.at(j), to));
                       } else {
                         out[0].as<float>()[at] = static_cast<float>(whole) * scales.at(j);
                       }
                     }
                   }
                 });
  return {};
}

template <OpId op>
Status run_binary(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  ByteBinary f;
  WICK_TRY(byte_binary(op, in, &f));
  const TensorView both[] = {in[0], in[3]};
  const ElementLoop<2> loop(out[0], both);
  const int64_t step_a = loop.stride[0][loop.rank - 1], step_b = loop.stride[1][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    for (int64_t i = 0; i < n; ++i) {
      const int32_t a = byte_at(in[0], offset[0] + i * step_a);
      const int32_t b = byte_at(in[3], offset[1] + i * step_b);
      store_byte(out[0], at + i, op == OpId::kQLinearAdd ? f.sum(a, b) : f.product(a, b));
    }
  });
  return {};
}

Status run_prelu(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void*) {
  BytePRelu f;
  WICK_TRY(byte_prelu(in, &f));
  const TensorView both[] = {in[0], in[3]};
  const ElementLoop<2> loop(out[0], both);
  const int64_t step = loop.stride[0][loop.rank - 1], step_slope = loop.stride[1][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const float* slope = in[3].as<float>() + offset[1];
    for (int64_t i = 0; i < n; ++i)
      store_byte(out[0], at + i, f.at(byte_at(in[0], offset[0] + i * step), slope[i * step_slope]));
  });
  return {};
}

// Pads that count have the value of the zero point.
Status run_pool(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  PoolScales scales;
  WICK_TRY(pool_scales(in, &scales));
  const PoolShape s = pool_shape(in[0], out[0], *static_cast<const PoolAttrs*>(attrs));
  WICK_TRY(check_count(s.window(), scales));
  parallel_items(ctx.pool, s.planes, s.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for_each_window(s, [&](int64_t at, const PoolShape::Range* ranges, const int64_t* o) {
        uint32_t sum = 0;
        for_each_position(s, ranges, o, [&](int64_t i) {
          sum += static_cast<uint32_t>(byte_at(in[0], p * s.in_size() + i) - scales.zero);
        });
        const float m = average_scale(scales.x, scales.y, s.divisor(ranges, o));
        store_byte(out[0], p * s.out_size() + at,
                   requantize(static_cast<int32_t>(sum), m, scales.to));
      });
    }
  });
  return {};
}
Status run_global_pool(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                       const void*) {
  PoolScales scales;
  WICK_TRY(pool_scales(in, &scales));
  const int64_t planes = out[0].numel(), n = planes == 0 ? 0 : in[0].numel() / planes;
  WICK_TRY(check_count(n, scales));
  const float m = average_scale(scales.x, scales.y, n > 0 ? n : 1);
  parallel_items(ctx.pool, planes, n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      uint32_t sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += static_cast<uint32_t>(byte_at(in[0], p * n + i) - scales.zero);
      store_byte(out[0], p, requantize(static_cast<int32_t>(sum), m, scales.to));
    }
  });
  return {};
}

Status run_table(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void*) {
  const int32_t first = in[0].dtype == DType::kI8 ? -128 : 0;
  parallel_items(ctx.pool, out[0].numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t at = byte_at(in[0], i) - first;
      if (out[0].dtype == DType::kF32) {
        out[0].as<float>()[i] = in[1].as<float>()[at];
      } else {
        store_byte(out[0], i, byte_at(in[1], at));
      }
    }
  });
  return {};
}

// e^(x - largest) of the row comes from a table of the 256 differences; the sum has the contract's
// order.
Status run_softmax(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  PoolScales scales;
  WICK_TRY(pool_scales(in, &scales));
  float exps[256];
  for (int i = 0; i < 256; ++i) exps[i] = exp_of(ctx.edition, static_cast<float>(-i) * scales.x);
  const int64_t n = in[0].dim(in[0].rank() - 1), rows = n == 0 ? 0 : out[0].numel() / n;
  parallel_items(ctx.pool, rows, 4 * n, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t r = begin; r < end; ++r) {
      int32_t largest = -128;
      for (int64_t i = 0; i < n && !poll(4); ++i)
        largest = std::max(largest, byte_at(in[0], r * n + i));
      LaneSum<float> sum;
      if (stopped()) return;  // a difference may exceed the table
      for (int64_t i = 0; i < n && !poll(4); ++i)
        sum.add(exps[largest - byte_at(in[0], r * n + i)]);
      const float total = sum.finish();
      for (int64_t i = 0; i < n && !poll(8); ++i) {
        const float share = exps[largest - byte_at(in[0], r * n + i)] / total;
        store_byte(out[0], r * n + i, to_byte(share / scales.y, scales.to));
      }
    }
  });
  return {};
}

Status run_dynamic(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  WICK_TRY(check_scale(in[2], "scale"));
  const int64_t n = in[1].dim(0), k = in[1].dim(1);
  const float* w_scale = in[2].as<float>();
  const int64_t rows = n == 0 ? 0 : out[0].numel() / n;
  parallel_items(ctx.pool, rows, n * (k + 1), [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t row = begin; row < end; ++row) {
      const float* x = in[0].as<float>() + row * k;
      float lo = 0, hi = 0;
      for (int64_t l = 0; l < k && !poll(); ++l)
        lo = x[l] < lo ? x[l] : lo, hi = x[l] > hi ? x[l] : hi;
      const RowRange range = row_range(lo, hi);
      const auto zero = static_cast<int32_t>(range.zero);
      for (int64_t j = 0; j < n; ++j) {
        if (poll(16 * (k + 1))) return;
        uint32_t sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += wrapping_product(row_byte(x[l], range) - zero, in[1].as<int8_t>()[j * k + l]);
        const float scale = range.scale * w_scale[in[2].numel() == 1 ? 0 : j];
        const float y = static_cast<float>(static_cast<int32_t>(sum)) * scale;
        out[0].as<float>()[row * n + j] = has_input(in, 3) ? y + in[3].as<float>()[j] : y;
      }
    }
  });
  return {};
}

Status run_dynamic_quantize(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                            const void*) {
  const float* x = in[0].as<float>();
  const int64_t n = in[0].numel();
  float lo = 0, hi = 0;
  Poll poll;
  for (int64_t i = 0; i < n && !poll(); ++i) lo = x[i] < lo ? x[i] : lo, hi = x[i] > hi ? x[i] : hi;
  const RowRange range = row_range(lo, hi);
  out[1].as<float>()[0] = range.scale;
  out[2].as<uint8_t>()[0] = static_cast<uint8_t>(range.zero);
  parallel_items(ctx.pool, n, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) store_byte(out[0], i, row_byte(x[i], range));
  });
  return {};
}

bool any(const KernelQuery&) { return true; }  // the rule has checked everything

}  // namespace

WICK_REF_ROWS(QLinearConv,
              {"qlinear_conv.bytes.ref", kContiguous, any, nullptr, nullptr, run_conv});
WICK_REF_ROWS(QLinearMatMul,
              {"qlinear_matmul.bytes.ref", kContiguous, any, nullptr, nullptr, run_matmul});
WICK_REF_ROWS(QGemm, {"qgemm.bytes.ref", kContiguous, any, nullptr, nullptr, run_gemm});
WICK_REF_ROWS(QLinearAdd, {"qlinear_add.bytes.ref", kStridedInputs, any, nullptr, nullptr,
                           run_binary<OpId::kQLinearAdd>});
WICK_REF_ROWS(QLinearMul, {"qlinear_mul.bytes.ref", kStridedInputs, any, nullptr, nullptr,
                           run_binary<OpId::kQLinearMul>});
WICK_REF_ROWS(QLinearPRelu,
              {"qlinear_prelu.bytes.ref", kStridedInputs, any, nullptr, nullptr, run_prelu});
WICK_REF_ROWS(QLinearAveragePool,
              {"qlinear_average_pool.bytes.ref", kContiguous, any, nullptr, nullptr, run_pool});
WICK_REF_ROWS(QLinearGlobalAveragePool, {"qlinear_global_average_pool.bytes.ref", kContiguous, any,
                                         nullptr, nullptr, run_global_pool});
WICK_REF_ROWS(ByteTable, {"byte_table.any.ref", kContiguous, any, nullptr, nullptr, run_table});
WICK_REF_ROWS(QLinearSoftmax,
              {"qlinear_softmax.bytes.ref", kContiguous, any, nullptr, nullptr, run_softmax});
WICK_REF_ROWS(DynamicLinear,
              {"dynamic_linear.f32.ref", kContiguous, any, nullptr, nullptr, run_dynamic});
WICK_REF_ROWS(DynamicQuantizeLinear, {"dynamic_quantize_linear.f32.ref", kContiguous, any, nullptr,
                                      nullptr, run_dynamic_quantize});

}  // namespace wick
