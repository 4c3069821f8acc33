// Products of f32 whose operands are rounded to bf16, in the order of AVX512-BF16's VDPBF16PS
// (Products::kBf16; docs/numerics.md): k in pairs, a zero beyond an odd end; of each pair the odd
// product is added to the f32 sum first, then the even one. Each addition is one fma; subnormal
// operands and sums count as zero. Every implementation has these bits, with the instruction or
// without it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/core/half.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/gemm/tile.h"

namespace wick {

// Returns the operand that a number is: rounded to nearest even, subnormal results as zero.
inline float pair_operand(float v) {
  const float r = static_cast<float>(BFloat16(v));
  return std::fabs(r) < 0x1p-126f ? std::copysign(0.0f, r) : r;
}

// Adds one product of operands. A sum is subnormal if it is below 2^-126 after it was rounded to 24
// bits as if exponents had no end: where fma gives 2^-126 itself, the exact sum, which is a double,
// decides.
inline float pair_add(float a, float b, float sum) {
  const float r = std::fma(a, b, sum), size = std::fabs(r);
  if (!(size <= 0x1p-126f)) return r;
  const bool tiny =
      size < 0x1p-126f || std::fabs(static_cast<double>(a) * b + sum) < 0x1p-126 - 0x1p-151;
  return tiny ? std::copysign(0.0f, r) : r;
}

// The implementation of one SIMD target. A pair of an operand is one word (the even number in the
// low half), where the CPU has the instruction, else two floats, the odd one first: a chain of fma
// over them is the order.
struct PairKernels {
  const TileKernels* tiles = nullptr;
  bool words = false;
  int lanes = 0, mr = 0, nr = 0;
  // A tile as tile_row_table of TileKernels, and `careful`, which any operands may be given to.
  void (*tile)(const TileArgs&) = nullptr;
  void (*careful)(const TileArgs&) = nullptr;

  int64_t step() const { return words ? 1 : 2; }  // of a pair, in floats
};
PairKernels pair_kernels();

// The tile by the instruction, and whether this CPU has it.
bool has_pair_words();
void pair_words_tile(const TileArgs& t);

// A matrix of weights, or the taps of a convolution: weight (o, tap, c) is at w[o * out + tap * tap
// + c * in].
struct PairWeights {
  const float* w = nullptr;
  int64_t outs = 0, taps = 1, ins = 0;
  int64_t out_step = 0, tap_step = 0, in_step = 0;

  int64_t pairs() const { return taps * ((ins + 1) / 2); }
};
// Packs them in panels of nr outputs, the last one as few whole vectors as possible: [panel][tap,
// pair][output], behind a header.
size_t pair_packed_bytes(const PairKernels& t, const PairWeights& w);
void pair_pack(const PairKernels& t, const PairWeights& w, float* packed, ThreadPool* pool);

// Rounds `count` floats, an even number, to an operand. Returns the bits of the smallest magnitude
// that is not zero, for pair_multiply() (words: nothing).
uint32_t pair_round(const PairKernels& t, const float* x, int64_t count, float* to);

// Sums of `count` rows by the outputs [first, first + outs) of packed weights. Row i begins at
// operand + i / cols * row_step + i % cols * col_step, and offset has its step for each float of
// the pairs. `first` is a multiple of nr. Sums have whole vectors of columns.
struct PairProduct {
  const float* operand = nullptr;
  uint32_t least = 0;  // of the operand, by pair_round()
  int64_t count = 0, cols = 1, row_step = 0, col_step = 0;
  const int32_t* offset = nullptr;
  const float* packed = nullptr;
  int64_t all_outs = 0, pairs = 0;
  int64_t first = 0, outs = 0;
  float* sums = nullptr;
  int64_t sums_step = 0;
};
void pair_multiply(const PairKernels& t, const PairProduct& p);

}  // namespace wick
