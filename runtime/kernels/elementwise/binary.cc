#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/binary.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise/chain.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/half_rows.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_BINARY_BODY_
#define WICK_KERNELS_BINARY_BODY_
// X(kind, f(p, q))
#define WICK_BINARY_BODIES(X)  \
  X(Add, p + q)                \
  X(Sub, p - q)                \
  X(Mul, p* q)                 \
  X(Div, p / q)                \
  X(Pow, simd_math::pow(p, q)) \
  X(Max, max_of(p, q))         \
  X(Min, min_of(p, q))         \
  X(PRelu, select(p < F(0.0f), p * q, p))
#endif

#include "runtime/kernels/elementwise/binary-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

bool match(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF32 && q.in[1].dtype == DType::kF32;
}

// One dispatch table and one plan function per op: a program links the bodies of its own ops only.
#define X(Name, value)                                    \
  HWY_EXPORT(find_##Name);                                \
  Status plan_##Name(const KernelQuery&, KernelPlan* p) { \
    p->keep(HWY_DYNAMIC_DISPATCH(find_##Name)());         \
    return {};                                            \
  }
WICK_BINARY_BODIES(X)
#undef X

HWY_EXPORT(find_binary);

constexpr int64_t kGather = 256;  // elements of a strided row copied at a time

// Returns x where its step is 0 or 1, else a copy of n elements in buffer.
const float* dense(const float* x, int64_t step, int64_t n, float* buffer) {
  if (step == 0 || step == 1) return x;
  for (int64_t i = 0; i < n; ++i) buffer[i] = x[i * step];
  return buffer;
}

// Returns which operand is a short row that is broadcast to every row of the other, [..., rows, n]
// with [..., 1, n]; -1: none. The last two dims of the loop are then merged, with stride 0 for that
// operand.
int short_row(ElementLoop<2>& loop, int64_t* length) {
  const int last = loop.rank - 1;
  if (last < 1 || loop.dim[last] > kGather / 4) return -1;
  for (int k = 0; k < 2; ++k) {
    const int64_t *mine = loop.stride[k], *other = loop.stride[1 - k];
    if (mine[last] != 1 || mine[last - 1] != 0 || other[last] != 1 ||
        other[last - 1] != loop.dim[last])
      continue;
    *length = loop.dim[last];
    loop.dim[last - 1] *= *length;
    loop.stride[k][last - 1] = 0;
    loop.stride[1 - k][last - 1] = 1;
    loop.rank = last;
    return k;
  }
  return -1;
}

// The short row is repeated in a buffer, so that the body runs over longer pieces.
void run_short_rows(const KernelCtx& ctx, BinaryBody body, const ElementLoop<2>& loop, int which,
                    int64_t length, const float* x, const float* y, float* z) {
  const int64_t piece = kGather / length * length;
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const float* px = x + offset[0];
    const float* py = y + offset[1];
    const float* row = which == 0 ? px : py;
    float times[kGather];
    const int64_t filled = n < piece ? n : piece;
    for (int64_t i = 0, from = at % length; i < filled; ++i) {
      times[i] = row[from];
      if (++from == length) from = 0;
    }
    for (int64_t i = 0; i < n; i += piece) {
      const auto len = static_cast<size_t>(n - i < piece ? n - i : piece);
      body(which == 0 ? times : px + i, false, which == 1 ? times : py + i, false, z + at + i, len);
    }
  });
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  auto body = ctx.plan->kept<BinaryBody>();
  const float* x = in[0].as<float>();
  const float* y = in[1].as<float>();
  float* z = out[0].as<float>();
  ElementLoop<2> loop(out[0], in.data());
  int64_t length = 0;
  if (const int which = short_row(loop, &length); which >= 0) {
    run_short_rows(ctx, body, loop, which, length, x, y, z);
    return {};
  }
  const int64_t sx = loop.stride[0][loop.rank - 1], sy = loop.stride[1][loop.rank - 1];
  const bool direct = (sx == 0 || sx == 1) && (sy == 0 || sy == 1);
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const float* px = x + offset[0];
    const float* py = y + offset[1];
    if (direct) {
      body(px, sx == 0, py, sy == 0, z + at, static_cast<size_t>(n));
      return;
    }
    float bx[kGather], by[kGather];
    for (int64_t i = 0; i < n; i += kGather) {
      int64_t len = n - i < kGather ? n - i : kGather;
      body(dense(px + i * sx, sx, len, bx), sx == 0, dense(py + i * sy, sy, len, by), sy == 0,
           z + at + i, static_cast<size_t>(len));
    }
  });
  return {};
}

template <class T>
void run_half(const KernelCtx& ctx, Span<const TensorView> in, const TensorView& out) {
  auto body = ctx.plan->kept<BinaryBody>();
  const T* x = in[0].as<T>();
  const T* y = in[1].as<T>();
  T* z = out.as<T>();
  ElementLoop<2> loop(out, in.data());
  const int64_t sx = loop.stride[0][loop.rank - 1], sy = loop.stride[1][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    float bx[kHalfBlock], by[kHalfBlock], bz[kHalfBlock];
    for (int64_t i = 0; i < n; i += kHalfBlock) {
      const int64_t len = std::min(kHalfBlock, n - i);
      widen_steps(x + offset[0] + i * sx, sx, sx == 0 ? 1 : len, bx);
      widen_steps(y + offset[1] + i * sy, sy, sy == 0 ? 1 : len, by);
      body(bx, sx == 0, by, sy == 0, bz, static_cast<size_t>(len));
      narrow(bz, z + at + i, len);
    }
  });
}

Status run_16(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  by_half(in[0].dtype, [&](auto kind) { run_half<decltype(kind)>(ctx, in, out[0]); });
  return {};
}
bool match_16(const KernelQuery& q) {
  return q.in[1].dtype == q.in[0].dtype && WidenedCall::fits(q);
}

}  // namespace

FindBinary binary_bodies() { return HWY_DYNAMIC_DISPATCH(find_binary)(); }

// In place means in x's or y's own buffer, where that has the output's shape: every element is read
// before it is written.
constexpr uint32_t kFlags = kStridedInputs | kInPlace | kInPlaceSecond;
#define WICK_BINARY_ROW(Name, text)                                                  \
  WICK_CPU_ROWS(Name, {text ".f32.simd", kFlags, match, plan_##Name, nullptr, run}); \
  WICK_HALF_ROWS(Name, {text ".16.simd", kFlags, match_16, plan_##Name, nullptr, run_16})
WICK_BINARY_ROW(Add, "add");
WICK_BINARY_ROW(Sub, "sub");
WICK_BINARY_ROW(Mul, "mul");
WICK_BINARY_ROW(Div, "div");
WICK_BINARY_ROW(Pow, "pow");
WICK_BINARY_ROW(Max, "max");
WICK_BINARY_ROW(Min, "min");
WICK_BINARY_ROW(PRelu, "prelu");

}  // namespace wick
#endif
