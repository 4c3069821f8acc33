// The SIMD rows of QuantizeLinear and DequantizeLinear: float32 to bytes and back, with one scale
// for the tensor or one per index of an axis that is followed by long enough lines.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/bytes/quantize.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/bytes/integer.h"
#include "runtime/kernels/bytes/qlinear.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_QUANTIZE_CC_
#define WICK_KERNELS_QUANTIZE_CC_
namespace wick {
struct QuantizeKernels {
  void (*quantize)(const float* x, int64_t n, float scale, float zero, bool is_signed, void* y);
  void (*dequantize)(const void* x, int64_t n, float scale, float zero, bool is_signed, float* y);
};
}  // namespace wick
#endif

#include "runtime/kernels/bytes/quantize-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(quantize_set);

constexpr int64_t kShortLine = 16;  // for shorter lines the plain loop is as fast

// Lines of elements that share a scale.
struct Lines {
  int64_t length = 0, count = 1, scales = 1;
};
Lines lines_of(const Shape& x, const TensorView& scale, int64_t axis) {
  Lines s;
  s.length = numel(x);
  if (scale.numel() == 1) return s;
  const int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  s.length = 1;
  for (int d = at + 1; d < x.rank(); ++d) s.length *= x[d];
  s.scales = x[at];
  s.count = s.length == 0 ? 0 : numel(x) / s.length;
  return s;
}

bool lines_match(const KernelQuery& q, int64_t axis, int64_t block) {
  if (block > 0 || q.in[1].dtype != DType::kF32) return false;
  if (has_input(q.in, 2) && q.in[2].numel() != q.in[1].numel()) return false;
  return q.in[1].numel() == 1 || lines_of(q.in[0].shape, q.in[1], axis).length >= kShortLine;
}
bool quantize_match(const KernelQuery& q) {
  const auto& a = q.as<QuantizeAttrs>();
  const bool f32 = a.precision == 0 || a.precision == static_cast<int64_t>(DType::kF32);
  return q.in[0].dtype == DType::kF32 && is_byte(q.out[0].dtype) && f32 &&
         lines_match(q, a.axis, a.block_size);
}
bool dequantize_match(const KernelQuery& q) {
  const auto& a = q.as<DequantizeAttrs>();
  return is_byte(q.in[0].dtype) && q.out[0].dtype == DType::kF32 &&
         lines_match(q, a.axis, a.block_size);
}

Status plan(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(quantize_set)());
  return {};
}

// Calls f(first element, count, scale, zero point).
template <class F>
void for_each_line(const KernelCtx& ctx, Span<const TensorView> in, int64_t axis, F&& f) {
  const Lines s = lines_of(in[0].shape, in[1], axis);
  const auto number = [&](int64_t line, float* zero) {
    const int64_t at = s.scales == 1 ? 0 : line % s.scales;
    *zero = has_input(in, 2) ? static_cast<float>(byte_at(in[2], at)) : 0.0f;
    return in[1].as<float>()[at];
  };
  if (s.count == 1) {
    float zero;
    const float scale = number(0, &zero);
    parallel_for(ctx.pool, (s.length + kElementGrain - 1) / kElementGrain, [&](int64_t task, int) {
      const int64_t from = task * kElementGrain, left = s.length - from;
      f(from, left < kElementGrain ? left : kElementGrain, scale, zero);
    });
    return;
  }
  parallel_items(ctx.pool, s.count, s.length, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t line = begin; line < end; ++line) {
      float zero;
      const float scale = number(line, &zero);
      in_pieces(poll, s.length, [&](int64_t first, int64_t last) {
        f(line * s.length + first, last - first, scale, zero);
      });
    }
  });
}

Status quantize(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const auto& t = *ctx.plan->kept<const QuantizeKernels*>();
  const bool is_signed = out[0].dtype == DType::kI8;
  for_each_line(ctx, in, static_cast<const QuantizeAttrs*>(attrs)->axis,
                [&](int64_t first, int64_t n, float scale, float zero) {
                  t.quantize(in[0].as<float>() + first, n, scale, zero, is_signed,
                             static_cast<uint8_t*>(out[0].data) + first);
                });
  return {};
}

Status dequantize(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const auto& t = *ctx.plan->kept<const QuantizeKernels*>();
  const bool is_signed = in[0].dtype == DType::kI8;
  for_each_line(ctx, in, static_cast<const DequantizeAttrs*>(attrs)->axis,
                [&](int64_t first, int64_t n, float scale, float zero) {
                  t.dequantize(static_cast<const uint8_t*>(in[0].data) + first, n, scale, zero,
                               is_signed, out[0].as<float>() + first);
                });
  return {};
}

// Scratch has a range per task, then one for all.
constexpr int64_t kDynamicGrain = 1 << 13;
int64_t range_tasks(int64_t n) { return (n + kDynamicGrain - 1) / kDynamicGrain; }
Status plan_dynamic(const KernelQuery& q, KernelPlan* p) {
  p->scratch_bytes = static_cast<size_t>(range_tasks(q.in[0].numel())) * 2 * sizeof(float);
  p->keep(&byte_kernels());
  return {};
}
Status quantize_dynamic(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void*) {
  const auto& t = *ctx.plan->kept<const ByteKernels*>();
  const float* x = in[0].as<float>();
  const int64_t n = in[0].numel(), tasks = range_tasks(n);
  auto* ranges = static_cast<float*>(ctx.scratch);
  const auto length = [&](int64_t task) {
    const int64_t left = n - task * kDynamicGrain;
    return left < kDynamicGrain ? left : kDynamicGrain;
  };
  parallel_for(ctx.pool, tasks, [&](int64_t task, int) {
    float* own = ranges + 2 * task;
    t.range(x + task * kDynamicGrain, length(task), &own[0], &own[1]);
  });
  if (stopped()) return {};
  float lo = 0, hi = 0;
  for (int64_t task = 0; task < tasks; ++task) {
    lo = ranges[2 * task] < lo ? ranges[2 * task] : lo;
    hi = ranges[2 * task + 1] > hi ? ranges[2 * task + 1] : hi;
  }
  const RowRange range = row_range(lo, hi);
  out[1].as<float>()[0] = range.scale;
  out[2].as<uint8_t>()[0] = static_cast<uint8_t>(range.zero);
  parallel_for(ctx.pool, tasks, [&](int64_t task, int) {
    const int64_t first = task * kDynamicGrain;
    t.quantize(x + first, length(task), range.scale, range.zero, out[0].as<uint8_t>() + first);
  });
  return {};
}
bool any(const KernelQuery&) { return true; }

}  // namespace

WICK_CPU_ROWS(DynamicQuantizeLinear, {"dynamic_quantize_linear.f32.simd", kContiguous, any,
                                      plan_dynamic, nullptr, quantize_dynamic});
WICK_CPU_ROWS(QuantizeLinear,
              {"quantize.bytes.simd", kContiguous, quantize_match, plan, nullptr, quantize});
WICK_CPU_ROWS(DequantizeLinear,
              {"dequantize.bytes.simd", kContiguous, dequantize_match, plan, nullptr, dequantize});

}  // namespace wick
#endif
