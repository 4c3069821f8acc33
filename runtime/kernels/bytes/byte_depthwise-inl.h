// A depthwise convolution of bytes, once per target.
#if defined(WICK_KERNELS_BYTE_DEPTHWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_DEPTHWISE_INL_H_
#undef WICK_KERNELS_BYTE_DEPTHWISE_INL_H_
#else
#define WICK_KERNELS_BYTE_DEPTHWISE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/bytes/byte_end-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
// Highway 1.0.3 names another instruction set here; with two attributes Clang uses the first.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static HWY_INLINE void depthwise_sums(const ByteDepthwise& t, const ByteBlock& b, int32_t* to) {
  const uint8_t* x = t.x + b.x;
#if HWY_TARGET == HWY_SCALAR
  for (int c = 0; c < b.columns; ++c) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < t.words; ++i) {
      const auto low = static_cast<int16_t>(t.weights[i] & 0xFFFF);
      const auto high = static_cast<int16_t>(t.weights[i] >> 16);
      sum +=
          static_cast<uint32_t>(x[t.offset[2 * i] + c] * low + x[t.offset[2 * i + 1] + c] * high);
    }
    to[c] = static_cast<int32_t>(sum);
  }
#else
  const hn::CappedTag<int32_t, 8> d;  // blocks of 16 bytes, within which interleaving works
  const hn::Repartition<int16_t, decltype(d)> d16;
  const hn::Rebind<uint8_t, decltype(d16)> d8;
  constexpr int kLanes = HWY_MIN(8, kByteLanes);
  for (int c = 0; c < b.columns; c += 2 * kLanes) {
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
    for (int64_t i = 0; i < t.words; ++i) {
      const auto even = hn::LoadU(d8, x + t.offset[2 * i] + c);
      const auto odd = hn::LoadU(d8, x + t.offset[2 * i + 1] + c);
      const auto w = hn::BitCast(d16, hn::Set(d, static_cast<int32_t>(t.weights[i])));
      const auto low = hn::PromoteTo(d16, hn::InterleaveLower(d8, even, odd));
      const auto high = hn::PromoteTo(d16, hn::InterleaveUpper(d8, even, odd));
      sum0 = add_tap_pairs(d, low, w, sum0);
      sum1 = add_tap_pairs(d, high, w, sum1);
    }
    hn::StoreU(sum0, d, to + c);
    hn::StoreU(sum1, d, to + c + kLanes);
  }
#endif
}
static void byte_depthwise(const ByteDepthwise& t) {
  HWY_ALIGN int32_t sums[kByteColumns];
  ByteRowsEnd e = t.end;
  for (int64_t i = 0; i < t.block_count; ++i) {
    const ByteBlock& b = t.blocks[i];
    depthwise_sums(t, b, t.sums != nullptr ? t.sums + i * kByteColumns : sums);
    if (t.sums != nullptr) continue;
    e.sums = sums, e.columns = b.columns, e.mask = b.mask, e.y = t.end.y + b.y;
    end_rows(e);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
