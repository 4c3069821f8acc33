#include "runtime/kernels/bytes/byte_amx.h"

#include "hwy/targets.h"
#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/simd.h"
#include "runtime/platform/cpu.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define WICK_AMX 1
#include <immintrin.h>
#endif

namespace wick {
namespace {

#ifdef WICK_AMX
#define WICK_TILES __attribute__((target("amx-tile,amx-int8")))

struct TileConfig {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

WICK_TILES void configure() {
  alignas(64) static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
}
WICK_TILES void release() { _tile_release(); }

// The instruction encodes its registers, so they are written out.
#define WICK_DOT(sum, row, column)    \
  do {                                \
    if constexpr (kSignedRows) {      \
      _tile_dpbsud(sum, row, column); \
    } else {                          \
      _tile_dpbusd(sum, row, column); \
    }                                 \
  } while (false)

constexpr int64_t kTileBytes = 1024;

// Two tiles of rows by one or two tiles of columns.
template <bool kSignedRows, bool kTwo>
WICK_TILES void tall(const ByteAmxBlock& t, const uint32_t* columns, int32_t* sums) {
  _tile_zero(0);
  _tile_zero(2);
  if constexpr (kTwo) {
    _tile_zero(1);
    _tile_zero(3);
  }
  const auto* a = static_cast<const char*>(t.rows);
  const int64_t stride = t.word_step * 4;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint32_t* b = columns + t.tap[tap];
    for (int64_t s = 0; s < t.steps; ++s, a += 2 * kTileBytes, b += 16 * t.word_step) {
      _tile_loadd(4, a, 64);
      _tile_loadd(6, b, stride);
      _tile_loadd(5, a + kTileBytes, 64);
      WICK_DOT(0, 4, 6);
      if constexpr (kTwo) {
        _tile_loadd(7, b + 16, stride);
        WICK_DOT(1, 4, 7);
        WICK_DOT(2, 5, 6);
        WICK_DOT(3, 5, 7);
      } else {
        WICK_DOT(2, 5, 6);
      }
    }
  }
  const int64_t line = t.sums_step * 4;
  _tile_stored(0, sums, line);
  _tile_stored(2, sums + 16 * t.sums_step, line);
  if constexpr (kTwo) {
    _tile_stored(1, sums + 16, line);
    _tile_stored(3, sums + 16 * t.sums_step + 16, line);
  }
}

// One tile of rows by kTiles tiles of columns.
template <bool kSignedRows, int kTiles>
WICK_TILES void flat(const ByteAmxBlock& t, const uint32_t* columns, int32_t* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const auto* a = static_cast<const char*>(t.rows);
  const int64_t stride = t.word_step * 4;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const uint32_t* b = columns + t.tap[tap];
    for (int64_t s = 0; s < t.steps; ++s, a += kTileBytes, b += 16 * t.word_step) {
      _tile_loadd(4, a, 64);
      _tile_loadd(5, b, stride);
      WICK_DOT(0, 4, 5);
      if constexpr (kTiles > 1) {
        _tile_loadd(6, b + 16, stride);
        WICK_DOT(1, 4, 6);
      }
      if constexpr (kTiles > 2) {
        _tile_loadd(7, b + 32, stride);
        WICK_DOT(2, 4, 7);
      }
      if constexpr (kTiles > 3) {
        _tile_loadd(5, b + 48, stride);
        WICK_DOT(3, 4, 5);
      }
    }
  }
  const int64_t line = t.sums_step * 4;
  _tile_stored(0, sums, line);
  if constexpr (kTiles > 1) _tile_stored(1, sums + 16, line);
  if constexpr (kTiles > 2) _tile_stored(2, sums + 32, line);
  if constexpr (kTiles > 3) _tile_stored(3, sums + 48, line);
}

__attribute__((target("avx512f"))) void gather(const uint32_t* from, const int32_t* offset,
                                               int64_t count, uint32_t* to) {
  for (int64_t i = 0; i < count; ++i, to += 64) {
    const uint32_t* words = from + offset[i];
    for (int v = 0; v < 4; ++v)
      _mm512_storeu_si512(to + 16 * v, _mm512_loadu_si512(words + 16 * v));
  }
}

template <bool kSignedRows>
void block(const ByteAmxBlock& t) {
  if (t.row_tiles == 1) {
    switch (t.column_tiles) {
      case 1: return flat<kSignedRows, 1>(t, t.columns, t.sums);
      case 2: return flat<kSignedRows, 2>(t, t.columns, t.sums);
      case 3: return flat<kSignedRows, 3>(t, t.columns, t.sums);
      default: return flat<kSignedRows, 4>(t, t.columns, t.sums);
    }
  }
  int done = 0;
  for (; done + 2 <= t.column_tiles; done += 2)
    tall<kSignedRows, true>(t, t.columns + done * 16, t.sums + done * 16);
  if (done < t.column_tiles) tall<kSignedRows, false>(t, t.columns + done * 16, t.sums + done * 16);
}
#undef WICK_DOT
#endif

}  // namespace

bool byte_amx() {
#ifdef WICK_AMX
  static const bool there = platform::cpu_gives_byte_tiles();
  return there && byte_instructions_allowed() && (simd_targets() & HWY_AVX3_DL) != 0;
#else
  return false;
#endif
}

#ifdef WICK_AMX
void byte_amx_begin() { configure(); }
void byte_amx_end() { release(); }
void byte_amx_conv(const ByteAmxBlock& t) { block<true>(t); }
void byte_amx_gemm(const ByteAmxBlock& t) { block<false>(t); }
void byte_amx_gather(const uint32_t* from, const int32_t* offset, int64_t count, uint32_t* to) {
  gather(from, offset, count, to);
}
#else
void byte_amx_begin() {}
void byte_amx_end() {}
void byte_amx_conv(const ByteAmxBlock&) {}
void byte_amx_gemm(const ByteAmxBlock&) {}
void byte_amx_gather(const uint32_t*, const int32_t*, int64_t, uint32_t*) {}
#endif

}  // namespace wick
