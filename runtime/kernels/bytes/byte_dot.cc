#include "runtime/kernels/bytes/byte_dot.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include "runtime/platform/cpu.h"

namespace wick {
namespace {

#define WICK_DOT __attribute__((target("arch=armv8.2-a+dotprod")))

int8x16_t load(const uint32_t* words) { return vreinterpretq_s8_u32(vld1q_u32(words)); }

template <int R>
WICK_DOT void tile(const ByteTile& t) {
  int32x4_t sum[R][4];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[r][v] = vdupq_n_s32(0);
  }
  const uint32_t* rows = t.rows;
  const auto* columns = static_cast<const uint32_t*>(t.columns);
  for (int64_t i = 0; i < t.words; ++i, rows += R) {
    const uint32_t* from = t.offset != nullptr ? columns + t.offset[i] : columns + i * t.step;
    const int8x16_t b0 = load(from), b1 = load(from + 4), b2 = load(from + 8), b3 = load(from + 12);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const int8x16_t a = vreinterpretq_s8_u32(vdupq_n_u32(rows[r]));
      sum[r][0] = vdotq_s32(sum[r][0], b0, a);
      sum[r][1] = vdotq_s32(sum[r][1], b1, a);
      sum[r][2] = vdotq_s32(sum[r][2], b2, a);
      sum[r][3] = vdotq_s32(sum[r][3], b3, a);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) vst1q_s32(t.sums + r * t.sums_step + 4 * v, sum[r][v]);
  }
}

}  // namespace

bool has_dot() {
  static const bool there = platform::cpu_has_dot();
  return there && byte_instructions_allowed();
}

void dot_conv_tile(const ByteTile& t) {
  switch (t.row_count) {
    case 4: return tile<4>(t);
    case 2: return tile<2>(t);
    default: return tile<1>(t);
  }
}
void dot_gemm_tile(const ByteTile& t) { dot_conv_tile(t); }

void dot_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool, void* out) {
  const uint8x16_t off = vdupq_n_u8(flip);
  auto* to = static_cast<uint8_t*>(out);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    uint8x16x4_t all;
    for (int r = 0; r < 4; ++r) all.val[r] = veorq_u8(vld1q_u8(rows[r] + i), off);
    vst4q_u8(to + 4 * i, all);
  }
  for (; i < n; ++i) {
    for (int r = 0; r < 4; ++r) to[4 * i + r] = rows[r][i] ^ flip;
  }
}

}  // namespace wick
#elif defined(WICK_AVX_VNNI)
#include <immintrin.h>

#include "runtime/platform/cpu.h"

namespace wick {
namespace {

#define WICK_DOT __attribute__((target("avx2,avxvnni")))

WICK_DOT inline __m256i load(const uint32_t* words) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
}
template <bool kXRows>
WICK_DOT inline __m256i add(__m256i sum, __m256i row, __m256i column) {
  return kXRows ? _mm256_dpbusd_avx_epi32(sum, row, column)
                : _mm256_dpbusd_avx_epi32(sum, column, row);
}

template <int R, bool kXRows>
WICK_DOT void tile(const ByteTile& t) {
  __m256i sum[R][2];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  const uint32_t* rows = t.rows;
  const auto* columns = static_cast<const uint32_t*>(t.columns);
  for (int64_t i = 0; i < t.words; ++i, rows += R) {
    const uint32_t* from = columns + (t.offset != nullptr ? t.offset[i] : i * t.step);
    const __m256i b0 = load(from), b1 = load(from + 8);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256i a = _mm256_set1_epi32(static_cast<int32_t>(rows[r]));
      sum[r][0] = add<kXRows>(sum[r][0], a, b0);
      sum[r][1] = add<kXRows>(sum[r][1], a, b1);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    auto* to = reinterpret_cast<__m256i*>(t.sums + r * t.sums_step);
    _mm256_storeu_si256(to, sum[r][0]);
    _mm256_storeu_si256(to + 1, sum[r][1]);
  }
}
template <bool kXRows>
void tile_of(const ByteTile& t) {
  switch (t.row_count) {
    case 4: return tile<4, kXRows>(t);
    case 2: return tile<2, kXRows>(t);
    default: return tile<1, kXRows>(t);
  }
}

}  // namespace

bool has_dot() {
  static const bool there = platform::cpu_has_avx_vnni();
  return there && byte_instructions_allowed();
}

void dot_conv_tile(const ByteTile& t) { tile_of<false>(t); }
void dot_gemm_tile(const ByteTile& t) { tile_of<true>(t); }

void dot_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool, void* out) {
  const __m128i off = _mm_set1_epi8(static_cast<char>(flip));
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m128i v[4];
    for (int r = 0; r < 4; ++r) {
      const auto* from = reinterpret_cast<const __m128i*>(rows[r] + i);
      v[r] = _mm_xor_si128(_mm_loadu_si128(from), off);
    }
    const __m128i low0 = _mm_unpacklo_epi8(v[0], v[1]), low1 = _mm_unpacklo_epi8(v[2], v[3]);
    const __m128i high0 = _mm_unpackhi_epi8(v[0], v[1]), high1 = _mm_unpackhi_epi8(v[2], v[3]);
    auto* to = static_cast<__m128i*>(out) + i / 4;
    _mm_storeu_si128(to, _mm_unpacklo_epi16(low0, low1));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low0, low1));
    _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high0, high1));
    _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high0, high1));
  }
  auto* to = static_cast<uint8_t*>(out);
  for (; i < n; ++i) {
    for (int r = 0; r < 4; ++r) to[4 * i + r] = rows[r][i] ^ flip;
  }
}

}  // namespace wick
#endif
