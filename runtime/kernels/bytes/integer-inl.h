// SIMD bodies of integer.h, once per target.
#if defined(WICK_KERNELS_INTEGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_INTEGER_INL_H_
#undef WICK_KERNELS_INTEGER_INL_H_
#else
#define WICK_KERNELS_INTEGER_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntTag = hn::ScalableTag<int32_t>;
using IntVec = hn::Vec<IntTag>;

constexpr int kIntegerVectors = 3;

// sum + product of low halves + product of high halves; both operands have 9 bits and a sign.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SSE4 || \
    HWY_TARGET == HWY_WASM
struct PairOperand {
  IntVec both;
};
static HWY_INLINE PairOperand pair_operand(IntTag, IntVec v) { return {v}; }
static HWY_INLINE IntVec add_pairs(IntTag d, PairOperand a, PairOperand b, IntVec sum) {
  const hn::Repartition<int16_t, IntTag> d16;
  IntVec unused = hn::Zero(d);  // x86 and WebAssembly add both products to the first sum
  return hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, a.both), hn::BitCast(d16, b.both), sum,
                                       unused);
}
#else
struct PairOperand {
  IntVec even, odd;
};
static HWY_INLINE PairOperand pair_operand(IntTag, IntVec v) {
  return {hn::ShiftRight<16>(hn::ShiftLeft<16>(v)), hn::ShiftRight<16>(v)};
}
static HWY_INLINE IntVec add_pairs(IntTag, PairOperand a, PairOperand b, IntVec sum) {
  return hn::Add(hn::Add(sum, hn::Mul(a.even, b.even)), hn::Mul(a.odd, b.odd));
}
#endif

template <int R>
static void integer_tile_of(const IntegerTile& t) {
  const IntTag d;
  const size_t lanes = hn::Lanes(d);
  const size_t nr = kIntegerVectors * lanes;
  IntVec sum[R][kIntegerVectors];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kIntegerVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const int32_t* rows = t.rows;
  const int32_t* panel = t.panel;
  for (int64_t p = 0; p < t.pairs; ++p, rows += R, panel += nr) {
    const PairOperand b0 = pair_operand(d, hn::LoadU(d, panel));
    const PairOperand b1 = pair_operand(d, hn::LoadU(d, panel + lanes));
    const PairOperand b2 = pair_operand(d, hn::LoadU(d, panel + 2 * lanes));
    for (int r = 0; r < R; ++r) {
      const PairOperand a = pair_operand(d, hn::Set(d, rows[r]));
      sum[r][0] = add_pairs(d, a, b0, sum[r][0]);
      sum[r][1] = add_pairs(d, a, b1, sum[r][1]);
      sum[r][2] = add_pairs(d, a, b2, sum[r][2]);
    }
  }
  HWY_ALIGN int32_t row[kIntegerVectors * HWY_MAX_BYTES / sizeof(int32_t)];
  for (int r = 0; r < R; ++r) {
    int32_t* to = t.out + r * t.out_step;
    int32_t* whole = static_cast<size_t>(t.cols) == nr ? to : row;
    for (int v = 0; v < kIntegerVectors; ++v)
      hn::StoreU(sum[r][v], d, whole + static_cast<size_t>(v) * lanes);
    if (whole == row) memcpy(to, row, static_cast<size_t>(t.cols) * sizeof(int32_t));
  }
}

static void integer_tile(const IntegerTile& t) {
  switch (t.row_count) {
    case 8: return integer_tile_of<8>(t);
    case 4: return integer_tile_of<4>(t);
    case 2: return integer_tile_of<2>(t);
    default: return integer_tile_of<1>(t);
  }
}

static void integer_zip(const int16_t* even, const int16_t* odd, int64_t n, int32_t* out) {
  const IntTag d;
  const hn::Rebind<int16_t, IntTag> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, 0xFFFF);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(half, even + i));
    const auto b = hn::PromoteTo(d, hn::LoadU(half, odd + i));
    hn::StoreU(hn::Or(hn::And(a, low), hn::ShiftLeft<16>(b)), d, out + i);
  }
  for (; i < n; ++i) out[i] = integer_pair(even[i], odd[i]);
}

template <class T>
static void widen_of(const T* x, int32_t zero, int64_t n, int16_t* out) {
  const hn::ScalableTag<int16_t> d;
  const hn::Rebind<T, hn::ScalableTag<int16_t>> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto off = hn::Set(d, static_cast<int16_t>(zero));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Sub(hn::PromoteTo(d, hn::LoadU(bytes, x + i)), off), d, out + i);
  for (; i < n; ++i) out[i] = static_cast<int16_t>(x[i] - zero);
}

static void integer_widen(const void* x, bool is_signed, int32_t zero, int64_t n, int16_t* out) {
  if (is_signed) return widen_of(static_cast<const int8_t*>(x), zero, n, out);
  widen_of(static_cast<const uint8_t*>(x), zero, n, out);
}

static const IntegerKernels* integer_set() {
  static constexpr IntegerKernels kSet = {HWY_TARGET == HWY_AVX3 ? 8 : 4,
                                          kIntegerVectors * HWY_LANES(int32_t), &integer_tile,
                                          &integer_zip, &integer_widen};
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
