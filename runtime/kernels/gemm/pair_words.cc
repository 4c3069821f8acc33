// The tile of pairs.h by VDPBF16PS, for CPUs with AVX512-BF16.
#include "runtime/kernels/gemm/pairs.h"
#include "runtime/platform/cpu.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WICK_PAIR_WORDS 1
#endif

namespace wick {

bool has_pair_words() {
#ifdef WICK_PAIR_WORDS
  static const bool there = platform::cpu_has_avx512_bf16();
  return there;
#else
  return false;
#endif
}

#ifdef WICK_PAIR_WORDS
namespace {

#define WICK_WORDS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

constexpr int kVector = 16;

// Rows beyond row_count repeat the last one, as in tile.h; the columns are whole vectors.
template <int kRows, int kVecs>
WICK_WORDS void words(const TileArgs& t) {
  const int last = t.row_count - 1;
  __m512 sum[kRows][kVecs];
  const float* row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    row[r] = t.rows[r < last ? r : last];
    const float* out = t.out + (r < last ? r : last) * t.out_step;
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v)
      sum[r][v] = t.resume ? _mm512_loadu_ps(out + v * kVector) : _mm512_setzero_ps();
  }
  const float* vec = t.vec;
  for (int64_t k = 0; k < t.k; ++k, vec += t.vec_step) {
    const int64_t at = t.row_offset[k];
    __m512bh b[kVecs];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) b[v] = (__m512bh)_mm512_loadu_si512(vec + v * kVector);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto a = (__m512bh)_mm512_castps_si512(_mm512_set1_ps(row[r][at]));
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], a, b[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* out = t.out + (r < last ? r : last) * t.out_step;
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) _mm512_storeu_ps(out + v * kVector, sum[r][v]);
  }
}

template <int kVecs>
void words_of(const TileArgs& t) {
  if (t.row_count == 1) return words<1, kVecs>(t);
  t.row_count <= 4 ? words<4, kVecs>(t) : words<8, kVecs>(t);
}

}  // namespace

void pair_words_tile(const TileArgs& t) {
  if (t.cols > 2 * kVector) return words_of<3>(t);
  t.cols > kVector ? words_of<2>(t) : words_of<1>(t);
}
#else
void pair_words_tile(const TileArgs&) {}
#endif

}  // namespace wick
