// Products of bytes by blocks: sums[row][column] = sum over k of row * column, in int32 that wraps,
// so the order does not matter. Numbers lie in words of 32 bits: four bytes of k, or two int16
// where a target multiplies pairs; panels of weights are bytes on every target, widened as they are
// read. Weights are signed in every form; x is what the target's instruction wants, so bytes of
// the other kind are stored 128 off and their zero point moves along.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

constexpr int kByteColumns = 64;  // of a block of a convolution's pixels
constexpr int kByteRows = 32;     // the most rows of a block
constexpr int kStepWords = 16;    // of k in a tile of AMX

struct ByteTile {
  const uint32_t* rows;  // [words][row_count]
  // Word i of column c: at offset[i] + c, or at i * step + c without offset. A panel's are per_word
  // bytes each, without offset.
  const void* columns;
  const int32_t* offset;
  int64_t step;
  int64_t words;
  int32_t* sums;  // [row_count][nr], rows sums_step apart
  int64_t sums_step;
  int row_count;  // byte_rows() of what is left
};

// Rows of a convolution's output: a channel each, columns are pixels of rows of the band, some of
// which (mask) are of the output, where they lie side by side.
struct ByteRowsEnd {
  const int32_t* sums;
  int64_t sums_step;
  int rows, columns;
  const int32_t* add;          // of each row
  const int32_t* factor;       // of each row: times column_sums is added; null: nothing
  const int32_t* column_sums;  // [columns]
  const float* multiplier;     // of each row
  float lo, hi;
  int32_t zero;
  uint64_t mask;
  uint8_t* y;
  int64_t y_step;
};

enum class ByteResult : uint8_t { kBytes, kReals, kSums };

// Columns of a matrix product's output: an output feature each.
struct ByteColumnsEnd {
  const int32_t* sums;
  int64_t sums_step;
  int rows, columns;
  const int32_t* add;         // of each column
  const int32_t* factor;      // of each column: times row_factor is added; null: nothing
  const int32_t* row_factor;  // of each row
  const float* multiplier;    // of each column
  const float* row_scale;     // of each row: times the column's multiplier; null: 1
  const float* bias;          // of each column, added to a real; null: nothing
  ByteResult result;          // int32 sums have no multipliers
  float lo, hi;
  int32_t zero;
  void* y;
  int64_t y_step;
};

// At most kByteColumns pixels of a channel side by side.
struct ByteBlock {
  uint64_t mask;  // those of the output
  int32_t x, y;   // where they begin
  int32_t columns;
};
// Pixels of one channel of a depthwise convolution, x without signs. A word of the weights is two
// taps as int16.
struct ByteDepthwise {
  const uint8_t* x;
  const ByteBlock* blocks;
  int64_t block_count;
  const uint32_t* weights;
  const int32_t* offset;  // where the two taps of a word lie
  int64_t words;
  int32_t* sums;    // where not null they are all that is made, kByteColumns a block
  ByteRowsEnd end;  // of one row; sums, columns and mask are the blocks'
};
struct ByteWindows;

// One set of these per SIMD target. Columns, factors and multipliers may be read up to nr.
struct ByteKernels {
  int mr;        // the most rows of a tile: a power of two
  int nr;        // columns of a tile; a divisor of kByteColumns
  int per_word;  // of k: 4 or 2
  bool x_signed;
  void (*conv_tile)(const ByteTile&);  // columns are x
  void (*gemm_tile)(const ByteTile&);  // rows are x, columns a panel
  // out[i] = the i-th bytes of per_word rows, each XOR flip: a word of x, or where `panel`,
  // per_word bytes. Reads n bytes of each row, writes n words.
  void (*zip)(const uint8_t* const* rows, int64_t n, uint8_t flip, bool panel, void* out);
  void (*end_rows)(const ByteRowsEnd&);
  void (*end_columns)(const ByteColumnsEnd&);
  void (*depthwise)(const ByteDepthwise&);
  void (*windows)(const ByteWindows&);  // the same, byte_windows.h; null: the target cannot
  // The least and the largest of n numbers and 0.
  void (*range)(const float* x, int64_t n, float* lo, float* hi);
  // out[i] = row_byte(x[i]); scale and zero are those of a range that x lies in
  void (*quantize)(const float* x, int64_t n, float scale, float zero, uint8_t* out);
};
const ByteKernels& byte_kernels();

// What a plan of bytes keeps.
struct BytePlan {
  const ByteKernels* kernels;
  bool amx;  // the layout is that of AMX's tiles
};

// For tests: as if the CPU had none of what is asked for at run time beside the SIMD target, AMX,
// AVX-VNNI and aarch64's dot products. Not to be called while kernels run.
void allow_byte_instructions(bool allowed);
bool byte_instructions_allowed();

// Rows of the next tile where `left` are left: a power of two. Rows [i, i + that) lie at i * words.
inline int byte_rows(const ByteKernels& kernels, int64_t left) {
  int rows = kernels.mr;
  while (rows > left) rows /= 2;
  return rows;
}

}  // namespace wick
