// The SIMD rows of byte pooling.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/bytes/byte_pool.cc"
#include "runtime/kernels/bytes/byte_pool.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/bytes/qlinear.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/window/pool.h"

#ifndef WICK_KERNELS_BYTE_POOL_CC_
#define WICK_KERNELS_BYTE_POOL_CC_
namespace wick {
constexpr int64_t kBytePoolSlack = 128;  // elements after a line: two vectors
// Bytes are handled as uint8: XOR with `flip` converts them.
struct BytePool {
  PoolShape shape;
  const uint8_t *x, *x_end;
  uint8_t* y;
  uint8_t flip;
  int64_t line, used;  // extent of a row's windows including padding; its part inside the input
  // for averages
  float x_scale, y_scale;
  int32_t zero;
  ByteRange to;
};
// Processes planes [begin, end).
using BytePoolBody = void (*)(const BytePool& t, int64_t begin, int64_t end, void* scratch);
using ByteSumBody = uint32_t (*)(const uint8_t* x, int64_t n, uint8_t flip, const uint8_t* x_end);
}  // namespace wick
#endif

#include "runtime/kernels/bytes/byte_pool-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_byte_max);
HWY_EXPORT(find_byte_average);
HWY_EXPORT(find_byte_plane_sum);

constexpr int64_t kLongestLine = 1 << 16;  // in elements; the reference row has no such limit

int64_t line_of(const PoolShape& s) {
  return (s.out[2] - 1) * s.stride[2] + (s.kernel[2] - 1) * s.dilation[2] + 1;
}
bool fits(const KernelQuery& q) {
  if (q.out[0].numel() == 0) return false;
  const PoolShape s = pool_shape(q.in[0], q.out[0], q.as<PoolAttrs>());
  for (const int64_t n : {s.out[2], s.stride[2], s.kernel[2], s.dilation[2], s.pad_begin[2]}) {
    if (n > kLongestLine) return false;
  }
  return line_of(s) <= kLongestLine && s.pad_begin[2] <= line_of(s);
}

// The bytes of a worker's line, sums and scales, rounded up to cache lines.
int64_t worker_bytes(const PoolShape& s, bool average) {
  const int64_t line = line_of(s) + kBytePoolSlack, out = s.out[2] + kBytePoolSlack;
  return ((average ? 4 * (line + 2 * out) : line) + 63) / 64 * 64;
}
template <bool kAverage>
Status plan(const KernelQuery& q, KernelPlan* p) {
  const PoolShape s = pool_shape(q.in[0], q.out[0], q.as<PoolAttrs>());
  p->scratch_bytes = byte_count(static_cast<uint64_t>(worker_bytes(s, kAverage) * q.threads));
  if constexpr (kAverage) {
    p->keep(HWY_DYNAMIC_DISPATCH(find_byte_average)());
  } else {
    p->keep(HWY_DYNAMIC_DISPATCH(find_byte_max)());
  }
  return {};
}
Status plan_global(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_byte_plane_sum)());
  return {};
}

template <bool kAverage>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto body = ctx.plan->kept<BytePoolBody>();
  BytePool t = {};
  t.shape = pool_shape(in[0], out[0], *static_cast<const PoolAttrs*>(attrs));
  if constexpr (kAverage) {
    PoolScales scales;
    WICK_TRY(pool_scales(in, &scales));
    t.x_scale = scales.x, t.y_scale = scales.y;
    t.zero = scales.zero + flip_of(in[0]);
    t.to = scales.to;
    WICK_TRY(check_count(t.shape.window(), scales));
  }
  t.x = static_cast<const uint8_t*>(in[0].data);
  t.x_end = t.x + in[0].numel();
  t.y = static_cast<uint8_t*>(out[0].data);
  t.flip = flip_of(in[0]);
  t.line = line_of(t.shape);
  const int64_t room = t.line - t.shape.pad_begin[2];
  t.used = t.shape.in[2] < room ? t.shape.in[2] : room;
  auto* scratch = static_cast<char*>(ctx.scratch);
  const int64_t own = worker_bytes(t.shape, kAverage), cost = t.shape.cost();
  const int64_t planes = t.shape.planes, each = cost >= kElementGrain ? 1 : kElementGrain / cost;
  parallel_for(ctx.pool, (planes + each - 1) / each, [&](int64_t task, int worker) {
    const int64_t begin = task * each, end = begin + each < planes ? begin + each : planes;
    body(t, begin, end, scratch + worker * own);
  });
  return {};
}

Status run_global(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  const auto body = ctx.plan->kept<ByteSumBody>();
  PoolScales scales;
  WICK_TRY(pool_scales(in, &scales));
  const int64_t planes = out[0].numel(), n = planes == 0 ? 0 : in[0].numel() / planes;
  WICK_TRY(check_count(n, scales));
  const float m = average_scale(scales.x, scales.y, n > 0 ? n : 1);
  const uint8_t flip = flip_of(in[0]);
  const auto* x = static_cast<const uint8_t*>(in[0].data);
  const uint32_t zeros =
      static_cast<uint32_t>(n) * static_cast<uint32_t>(scales.zero + int32_t{flip});
  parallel_items(ctx.pool, planes, n + 1, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t p = begin; p < end; ++p) {
      uint32_t sum = 0 - zeros;
      in_pieces(poll, n, [&](int64_t first, int64_t last) {
        sum += body(x + p * n + first, last - first, flip, x + in[0].numel());
      });
      store_byte(out[0], p, requantize(static_cast<int32_t>(sum), m, scales.to));
    }
  });
  return {};
}
bool any(const KernelQuery&) { return true; }  // the rule has checked everything

}  // namespace

bool byte_max_fits(const KernelQuery& q) { return is_byte(q.in[0].dtype) && fits(q); }
Status plan_byte_max(const KernelQuery& q, KernelPlan* p) { return plan<false>(q, p); }
Status run_byte_max(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
  return run<false>(ctx, in, out, attrs);
}

WICK_CPU_ROWS(QLinearAveragePool, {"qlinear_average_pool.bytes.simd", kContiguous, fits, plan<true>,
                                   nullptr, run<true>});
WICK_CPU_ROWS(QLinearGlobalAveragePool, {"qlinear_global_average_pool.bytes.simd", kContiguous, any,
                                         plan_global, nullptr, run_global});

}  // namespace wick
#endif
