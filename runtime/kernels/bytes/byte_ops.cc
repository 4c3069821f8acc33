// The SIMD rows of byte addition, multiplication and PRelu, of byte tables and of byte softmax.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/bytes/byte_ops.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/bytes/qlinear.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_BYTE_OPS_CC_
#define WICK_KERNELS_BYTE_OPS_CC_
namespace wick {
// The parameters of ByteBinary for bytes as uint8.
struct ByteZip {
  float a, b, a_zero, b_zero;
  uint8_t a_flip, b_flip;  // XOR that maps an operand's bytes to uint8
  ByteRange to;
};
using ByteZipBody = void (*)(const ByteZip& t, const uint8_t* x, bool repeat_x, const uint8_t* y,
                             bool repeat_y, uint8_t* z, int64_t n);
using BytePReluBody = void (*)(const BytePRelu& t, uint8_t flip, const uint8_t* x,
                               const float* slope, bool repeat_slope, uint8_t* y, int64_t n);
using ByteTableBody = void (*)(const uint8_t* x, int64_t n, const uint8_t* table, uint8_t* y);
struct ByteSoftmax {
  void (*exps)(float scale, float* exps);  // e^(-i scale) for i < 256
  void (*rows)(const uint8_t* x, int64_t rows, int64_t n, const float* exps, float y_scale,
               uint8_t flip, const ByteRange& to, uint8_t* y);
};
}  // namespace wick
#endif

#include "runtime/kernels/bytes/byte_ops-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_byte_sum);
HWY_EXPORT(find_byte_product);
HWY_EXPORT(find_byte_prelu);
HWY_EXPORT(find_byte_table);
HWY_EXPORT(find_byte_softmax);

bool any(const KernelQuery&) { return true; }  // the rule has checked everything

const uint8_t* bytes_of(const TensorView& t) { return static_cast<const uint8_t*>(t.data); }
uint8_t* room_of(const TensorView& t) { return static_cast<uint8_t*>(t.data); }

Status plan_sum(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_byte_sum)());
  return {};
}
Status plan_product(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_byte_product)());
  return {};
}

constexpr int64_t kGather = 256;  // elements of a strided row copied at a time

// Returns x where its step is 0 or 1, else a copy of n elements in buffer.
template <class T>
const T* dense(const T* x, int64_t step, int64_t n, T* buffer) {
  if (step == 0 || step == 1) return x;
  for (int64_t i = 0; i < n; ++i) buffer[i] = x[i * step];
  return buffer;
}

template <OpId op>
Status run_binary(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  const auto body = ctx.plan->kept<ByteZipBody>();
  ByteBinary f;
  WICK_TRY(byte_binary(op, in, &f));
  const uint8_t flip_a = flip_of(in[0]), flip_b = flip_of(in[3]);
  const ByteZip t = {f.a,
                     f.b,
                     static_cast<float>(f.a_zero + flip_a),
                     static_cast<float>(f.b_zero + flip_b),
                     flip_a,
                     flip_b,
                     f.to};
  const TensorView both[] = {in[0], in[3]};
  const ElementLoop<2> loop(out[0], both);
  const int64_t sx = loop.stride[0][loop.rank - 1], sy = loop.stride[1][loop.rank - 1];
  const bool direct = (sx == 0 || sx == 1) && (sy == 0 || sy == 1);
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const uint8_t *x = bytes_of(in[0]) + offset[0], *y = bytes_of(in[3]) + offset[1];
    uint8_t* z = room_of(out[0]) + at;
    if (direct) return body(t, x, sx == 0, y, sy == 0, z, n);
    uint8_t bx[kGather], by[kGather];
    for (int64_t i = 0; i < n; i += kGather) {
      const int64_t some = n - i < kGather ? n - i : kGather;
      body(t, dense(x + i * sx, sx, some, bx), sx == 0, dense(y + i * sy, sy, some, by), sy == 0,
           z + i, some);
    }
  });
  return {};
}

Status plan_prelu(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_byte_prelu)());
  return {};
}
Status run_prelu(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void*) {
  const auto body = ctx.plan->kept<BytePReluBody>();
  BytePRelu f;
  WICK_TRY(byte_prelu(in, &f));
  const uint8_t flip = flip_of(in[0]);
  const TensorView both[] = {in[0], in[3]};
  const ElementLoop<2> loop(out[0], both);
  const int64_t sx = loop.stride[0][loop.rank - 1], ss = loop.stride[1][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const uint8_t* x = bytes_of(in[0]) + offset[0];
    const float* slope = in[3].as<float>() + offset[1];
    uint8_t* y = room_of(out[0]) + at;
    if (sx == 1 && (ss == 0 || ss == 1)) return body(f, flip, x, slope, ss == 0, y, n);
    uint8_t bx[kGather];
    float bs[kGather];
    for (int64_t i = 0; i < n; i += kGather) {
      const int64_t some = n - i < kGather ? n - i : kGather;
      for (int64_t k = 0; k < some; ++k) bx[k] = x[(i + k) * sx];
      body(f, flip, bx, dense(slope + i * ss, ss, some, bs), ss == 0, y + i, some);
    }
  });
  return {};
}

Status plan_table(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_byte_table)());
  return {};
}
template <class T>
bool is_table(const KernelQuery& q) {
  return (q.out[0].dtype == DType::kF32) == std::is_same_v<T, float>;
}
// The table index of an int8 value is its bits with the sign flipped, so the table is permuted
// once.
template <class T>
void turned(const TensorView& table, uint8_t flip, T* to) {
  for (int i = 0; i < 256; ++i) to[i] = static_cast<const T*>(table.data)[i ^ flip];
}
Status run_bytes(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void*) {
  const auto body = ctx.plan->kept<ByteTableBody>();
  uint8_t table[256];
  turned(in[1], flip_of(in[0]), table);
  parallel_items(ctx.pool, out[0].numel(), 1, [&](int64_t begin, int64_t end) {
    body(bytes_of(in[0]) + begin, end - begin, table, room_of(out[0]) + begin);
  });
  return {};
}
Status run_floats(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  float table[256];
  turned(in[1], flip_of(in[0]), table);
  const uint8_t* x = bytes_of(in[0]);
  auto* y = out[0].as<float>();
  parallel_items(ctx.pool, out[0].numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
  });
  return {};
}

Status plan_softmax(const KernelQuery& q, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_byte_softmax)(q.edition));
  return {};
}
Status run_softmax(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  const auto& t = *ctx.plan->kept<const ByteSoftmax*>();
  PoolScales s;
  WICK_TRY(pool_scales(in, &s));
  alignas(64) float exps[256];
  t.exps(s.x, exps);
  const int64_t n = in[0].dim(in[0].rank() - 1), rows = n == 0 ? 0 : out[0].numel() / n;
  parallel_items(ctx.pool, rows, 4 * n, [&](int64_t begin, int64_t end) {
    t.rows(bytes_of(in[0]) + begin * n, end - begin, n, exps, s.y, flip_of(in[0]), s.to,
           room_of(out[0]) + begin * n);
  });
  return {};
}

}  // namespace

constexpr uint32_t kFlags =
    kStridedInputs | kInPlace;  // every element is read before it is written
WICK_CPU_ROWS(QLinearAdd, {"qlinear_add.bytes.simd", kFlags, any, plan_sum, nullptr,
                           run_binary<OpId::kQLinearAdd>});
WICK_CPU_ROWS(QLinearMul, {"qlinear_mul.bytes.simd", kFlags, any, plan_product, nullptr,
                           run_binary<OpId::kQLinearMul>});
WICK_CPU_ROWS(QLinearPRelu,
              {"qlinear_prelu.bytes.simd", kFlags, any, plan_prelu, nullptr, run_prelu});
WICK_CPU_ROWS(ByteTable,
              {"byte_table.bytes.simd", kInPlace, is_table<uint8_t>, plan_table, nullptr,
               run_bytes},
              {"byte_table.f32", kContiguous, is_table<float>, nullptr, nullptr, run_floats});
WICK_CPU_ROWS(QLinearSoftmax,
              {"qlinear_softmax.bytes.simd", kContiguous, any, plan_softmax, nullptr, run_softmax});

}  // namespace wick
#endif
