#include "runtime/kernels/gemm/pairs.h"

#include <algorithm>
#include <cstring>

#include "hwy/targets.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/elementwise/half_loops.h"
#include "runtime/kernels/simd.h"

namespace wick {
namespace {

constexpr int64_t kHeader = 16;            // floats; the first has the bits of the weights' least
constexpr int64_t kMostSteps = 1024;       // of k at a time: rows and a panel stay in the caches
constexpr uint32_t kNothing = 0x7F800000;  // the least of zeros

// A tile whose sums may become subnormal.
void careful_tile(const TileArgs& t) {
  for (int r = 0; r < t.row_count; ++r) {
    for (int c = 0; c < t.cols; ++c) {
      float* out = t.out + r * t.out_step + c;
      float sum = t.resume ? *out : 0;
      for (int64_t k = 0; k < t.k; ++k)
        sum = pair_add(t.rows[r][t.row_offset[k]], t.vec[k * t.vec_step + c], sum);
      *out = sum;
    }
  }
}

// Sums of products are multiples of 2^(e + f - 14), if operands of 8 bits are at least 2^e and 2^f:
// none but 0 is subnormal, if that is 2^-126 or more.
bool may_be_subnormal(uint32_t a, uint32_t b) { return (a >> 23) + (b >> 23) < 2 * 127 - 112; }

void take_least(float v, uint32_t* least) {
  const uint32_t size = std::bit_cast<uint32_t>(v) & 0x7FFFFFFF;
  *least = std::min(*least, size == 0 ? kNothing : size);
}

uint32_t least_of(const PairWeights& w) {
  uint32_t least = kNothing;
  Poll poll;
  for (int64_t o = 0; o < w.outs; ++o) {
    for (int64_t tap = 0; tap < w.taps && !poll(w.ins); ++tap) {
      for (int64_t c = 0; c < w.ins; ++c)
        take_least(pair_operand(w.w[o * w.out_step + tap * w.tap_step + c * w.in_step]), &least);
    }
  }
  return least;
}

}  // namespace

PairKernels pair_kernels() {
  const TileKernels& t = tile_kernels();
  const int64_t best = simd_targets() & -simd_targets();
  if (best == HWY_AVX3_DL && has_pair_words())
    return {&t, true, t.lanes, t.mr, t.nr, pair_words_tile, pair_words_tile};
  return {&t, false, t.lanes, t.mr, t.nr, t.tile_row_table, careful_tile};
}

size_t pair_packed_bytes(const PairKernels& t, const PairWeights& w) {
  return byte_count(sizeof(float) * static_cast<uint64_t>(kHeader + round_up(w.outs, t.lanes) *
                                                                        w.pairs() * t.step()));
}

void pair_pack(const PairKernels& t, const PairWeights& w, float* packed, ThreadPool* pool) {
  memset(packed, 0, kHeader * sizeof(float));
  packed[0] = std::bit_cast<float>(t.words ? 0 : least_of(w));
  const int64_t pairs = (w.ins + 1) / 2, k = w.pairs() * t.step();
  parallel_for(pool, ceil_div(w.outs, int64_t{t.nr}), [&](int64_t panel, int) {
    const int64_t first = panel * t.nr;
    const int64_t width = std::min<int64_t>(t.nr, round_up(w.outs - first, t.lanes));
    float* to = packed + kHeader + first * k;
    const auto weight = [&](int64_t o, int64_t tap, int64_t c) {
      if (first + o >= w.outs || c >= w.ins) return 0.0f;
      return w.w[(first + o) * w.out_step + tap * w.tap_step + c * w.in_step];
    };
    Poll poll;
    for (int64_t i = 0; i < w.pairs() && !poll(2 * width); ++i, to += width * t.step()) {
      const int64_t tap = i / pairs, c = i % pairs * 2;
      for (int64_t o = 0; o < width; ++o) {
        const float even = weight(o, tap, c), odd = weight(o, tap, c + 1);
        if (t.words) {
          to[o] = std::bit_cast<float>(uint32_t{BFloat16(odd).bits} << 16 | BFloat16(even).bits);
        } else {
          to[o] = pair_operand(odd);
          to[width + o] = pair_operand(even);
        }
      }
    }
  });
}

uint32_t pair_round(const PairKernels& t, const float* x, int64_t count, float* to) {
  if (t.words) {
    narrow(x, reinterpret_cast<BFloat16*>(to), count);
    return 0;
  }
  uint32_t least = kNothing;
  for (int64_t i = 0; i < count; i += 2) {
    to[i] = pair_operand(x[i + 1]);
    to[i + 1] = pair_operand(x[i]);
    take_least(to[i], &least);
    take_least(to[i + 1], &least);
  }
  return least;
}

void pair_multiply(const PairKernels& t, const PairProduct& p) {
  const auto weights = std::bit_cast<uint32_t>(p.packed[0]);
  const bool careful = !t.words && may_be_subnormal(p.least, weights);
  const int64_t k = p.pairs * t.step();
  TileArgs args = {};
  args.out_step = p.sums_step;
  Poll poll;
  for (int64_t k0 = 0; k0 == 0 || k0 < k; k0 += kMostSteps) {
    args.k = std::min(kMostSteps, k - k0);
    args.row_offset = p.offset + k0;
    args.resume = k0 > 0;
    for (int64_t j = 0; j < p.outs; j += t.nr) {
      const int64_t width = std::min<int64_t>(t.nr, round_up(p.all_outs - p.first - j, t.lanes));
      args.vec = p.packed + kHeader + (p.first + j) * k + k0 * width;
      args.vec_step = width;
      args.cols = static_cast<int>(width);
      for (int64_t i = 0; i < p.count; i += t.mr) {
        if (poll(args.k * (careful ? width * t.mr : t.mr))) return;
        args.row_count = static_cast<int>(std::min<int64_t>(t.mr, p.count - i));
        for (int r = 0; r < args.row_count; ++r)
          args.rows[r] = p.operand + (i + r) / p.cols * p.row_step + (i + r) % p.cols * p.col_step;
        args.out = p.sums + i * p.sums_step + j;
        (careful ? t.careful : t.tile)(args);
      }
    }
  }
}

}  // namespace wick
