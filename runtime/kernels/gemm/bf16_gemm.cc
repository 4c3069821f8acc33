#include "runtime/kernels/gemm/bf16_gemm.h"

#include <algorithm>
#include <cstring>

#include "hwy/targets.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/simd.h"
#include "runtime/platform/cpu.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define WICK_AMX 1
#include <immintrin.h>
#endif

namespace wick {
namespace {

constexpr int64_t kTile = 16;                 // rows or columns of a tile
constexpr int64_t kStep = 32;                 // k of a tile
constexpr int64_t kElements = kTile * kStep;  // of an operand's tile: 1 KiB
constexpr int64_t kBlock = 2 * kTile;         // rows and columns of a block of four tiles

#ifdef WICK_AMX
// Transposes 8 x 8 elements: to[c][r] = from[r][c], with the given line strides. It uses SSE2,
// which every x86-64 has.
void transpose_8x8(const BFloat16* from, int64_t from_line, BFloat16* to, int64_t to_line) {
  __m128i a[8], b[8];
  for (int i = 0; i < 8; ++i)
    a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_line));
  // Each pass doubles the number of adjacent elements of a column.
  for (int i = 0; i < 4; ++i) {
    b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm_unpacklo_epi32(b[i], b[i + 2]);
    a[i + 1] = _mm_unpackhi_epi32(b[i], b[i + 2]);
    a[i + 2] = _mm_unpacklo_epi32(b[i + 1], b[i + 3]);
    a[i + 3] = _mm_unpackhi_epi32(b[i + 1], b[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    b[2 * i] = _mm_unpacklo_epi64(a[i], a[i + 4]);
    b[2 * i + 1] = _mm_unpackhi_epi64(a[i], a[i + 4]);
  }
  for (int i = 0; i < 8; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_line), b[i]);
}
// Transposes 4 x 4 pairs of elements.
void transpose_pairs_4x4(const BFloat16* from, int64_t from_line, BFloat16* to, int64_t to_line) {
  __m128i a[4], b[4];
  for (int i = 0; i < 4; ++i)
    a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_line));
  for (int i = 0; i < 2; ++i) {
    b[i] = _mm_unpacklo_epi32(a[2 * i], a[2 * i + 1]);
    b[i + 2] = _mm_unpackhi_epi32(a[2 * i], a[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    a[2 * i] = _mm_unpacklo_epi64(b[2 * i], b[2 * i + 1]);
    a[2 * i + 1] = _mm_unpackhi_epi64(b[2 * i], b[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_line), a[i]);
}
// Interleaves 16 elements: to[c] = {even[c], odd[c]}.
void interleave_16(const BFloat16* even, const BFloat16* odd, BFloat16* to) {
  for (int i = 0; i < 16; i += 8) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(even + i));
    const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(odd + i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i), _mm_unpacklo_epi16(x, y));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i + 8), _mm_unpackhi_epi16(x, y));
  }
}
#else
void interleave_16(const BFloat16*, const BFloat16*, BFloat16*) {}
void transpose_8x8(const BFloat16*, int64_t, BFloat16*, int64_t) {}
void transpose_pairs_4x4(const BFloat16*, int64_t, BFloat16*, int64_t) {}
#endif

// Packs `lines` rows into two tiles, [step][tile][row][k], padded with zeros.
void pack_rows(const BFloat16* a, int64_t row, int64_t col, int64_t lines, int64_t k,
               BFloat16* to) {
  for (int64_t k0 = 0; k0 < k; k0 += kStep, to += 2 * kElements) {
    const int64_t depth = std::min(kStep, k - k0);
    if (lines < kBlock || depth < kStep) memset(static_cast<void*>(to), 0, 4 * kElements);
    if (col == 1 && depth == kStep) {
      for (int64_t r = 0; r < lines; ++r) {  // a size known to the compiler
        memcpy(static_cast<void*>(to + r * kStep), a + r * row + k0, kStep * sizeof(BFloat16));
      }
    } else if (col == 1) {
      for (int64_t r = 0; r < lines; ++r) {
        memcpy(static_cast<void*>(to + r * kStep), a + r * row + k0,
               sizeof(BFloat16) * static_cast<size_t>(depth));
      }
    } else if (row == 1 && lines == kBlock && depth == kStep) {
      for (int64_t kk = 0; kk < kStep; kk += 8) {
        for (int64_t r = 0; r < kBlock; r += 8)
          transpose_8x8(a + (k0 + kk) * col + r, col, to + r * kStep + kk, kStep);
      }
    } else {
      for (int64_t kk = 0; kk < depth; ++kk) {
        const BFloat16* from = a + (k0 + kk) * col;
        for (int64_t r = 0; r < lines; ++r) to[r * kStep + kk] = from[r * row];
      }
    }
  }
}

// Packs `lines` columns into two tiles, [step][tile][pair of k][column][2], padded with zeros.
void pack_columns(const BFloat16* b, int64_t row, int64_t col, int64_t lines, int64_t k,
                  BFloat16* to) {
  for (int64_t k0 = 0; k0 < k; k0 += kStep, to += 2 * kElements) {
    const int64_t depth = std::min(kStep, k - k0);
    if (lines < kBlock || depth < kStep) memset(static_cast<void*>(to), 0, 4 * kElements);
    for (int64_t half = 0; half * kTile < lines; ++half) {
      const int64_t columns = std::min(kTile, lines - half * kTile);
      BFloat16* tile = to + half * kElements;
      const BFloat16* from = b + half * kTile * col + k0 * row;
      if (row == 1 && columns == kTile && depth == kStep) {  // pairs of k are adjacent
        for (int64_t c = 0; c < kTile; c += 4) {
          for (int64_t kk = 0; kk < kStep; kk += 8)
            transpose_pairs_4x4(from + c * col + kk, col, tile + kk / 2 * kStep + c * 2, kStep);
        }
      } else if (row == 1) {
        for (int64_t c = 0; c < columns; ++c) {
          const BFloat16* pairs = from + c * col;
          BFloat16* line = tile + c * 2;
          int64_t kk = 0;
          for (; kk + 2 <= depth; kk += 2, line += kStep) {
            memcpy(static_cast<void*>(line), pairs + kk, 2 * sizeof(BFloat16));
          }
          if (kk < depth) *line = pairs[kk];
        }
      } else if (col == 1 && columns == kTile && depth % 2 == 0) {
        for (int64_t kk = 0; kk < depth; kk += 2) {
          const BFloat16* even = from + kk * row;
          interleave_16(even, even + row, tile + kk / 2 * kStep);
        }
      } else {
        for (int64_t kk = 0; kk < depth; ++kk) {
          BFloat16* line = tile + kk / 2 * kStep + kk % 2;
          for (int64_t c = 0; c < columns; ++c) line[c * 2] = from[kk * row + c * col];
        }
      }
    }
  }
}

#ifdef WICK_AMX
struct TileConfig {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

__attribute__((target("amx-tile,amx-bf16"))) void configure() {
  alignas(64) static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
}
__attribute__((target("amx-tile"))) void release() { _tile_release(); }

// Computes sums[32][32] of a block.
__attribute__((target("amx-tile,amx-bf16"))) void block(const BFloat16* a, const BFloat16* b,
                                                        int64_t steps, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t s = 0; s < steps; ++s, a += 2 * kElements, b += 2 * kElements) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + kElements, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, a + kElements, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  constexpr int kLine = kBlock * sizeof(float);
  _tile_stored(0, sums, kLine);
  _tile_stored(1, sums + kTile, kLine);
  _tile_stored(2, sums + kTile * kBlock, kLine);
  _tile_stored(3, sums + kTile * kBlock + kTile, kLine);
}
#else
void configure() {}
void release() {}
void block(const BFloat16*, const BFloat16*, int64_t, float*) {}
#endif

}  // namespace

bool bf16_tiles() {
#ifdef WICK_AMX
  static const bool there = platform::cpu_gives_bf16_tiles();
  return there && (simd_targets() & (HWY_AVX3 | HWY_AVX3_DL)) != 0;
#else
  return false;
#endif
}

size_t bf16_gemm_scratch_bytes(int64_t m, int64_t n, int64_t k) {
  return byte_count(sizeof(BFloat16) *
                    static_cast<uint64_t>((ceil_div(m, kBlock) + ceil_div(n, kBlock)) * kBlock *
                                          ceil_div(k, kStep) * kStep));
}

void bf16_gemm(const Bf16Gemm& g, void* scratch, ThreadPool* pool) {
  const int64_t steps = ceil_div(g.k, kStep), panel = steps * 2 * kElements;
  const int64_t row_blocks = ceil_div(g.m, kBlock), col_blocks = ceil_div(g.n, kBlock);
  auto* a = static_cast<BFloat16*>(scratch);
  BFloat16* b = a + row_blocks * panel;
  parallel_for(pool, row_blocks + col_blocks, [&](int64_t p, int) {
    if (p < row_blocks) {
      pack_rows(g.a + p * kBlock * g.a_row, g.a_row, g.a_col, std::min(kBlock, g.m - p * kBlock),
                g.k, a + p * panel);
    } else {
      p -= row_blocks;
      pack_columns(g.b + p * kBlock * g.b_col, g.b_row, g.b_col, std::min(kBlock, g.n - p * kBlock),
                   g.k, b + p * panel);
    }
  });
  // A task is up to kRows blocks of rows by one panel of columns, which stays in the cache.
  constexpr int64_t kRows = 8;
  const int64_t groups = ceil_div(row_blocks, kRows);
  parallel_for(pool, groups * col_blocks, [&](int64_t task, int) {
    const int64_t j = task % col_blocks, first = task / col_blocks * kRows;
    alignas(64) float sums[kBlock * kBlock];
    configure();
    for (int64_t i = first; i < std::min(row_blocks, first + kRows); ++i) {
      block(a + i * panel, b + j * panel, steps, sums);
      g.finish(g.context, sums, i * kBlock, j * kBlock, std::min(kBlock, g.m - i * kBlock),
               std::min(kBlock, g.n - j * kBlock));
    }
    release();
  });
}

}  // namespace wick
