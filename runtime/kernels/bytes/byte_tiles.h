// Blocked byte products: sums[row][column] = sum over k of row * column, in wrapping int32, so the
// order does not matter. Operands are in words of 32 bits: four bytes of k, or two int16 where a
// target multiplies pairs; weight panels are bytes on every target, widened as they are read.
// Weights are always signed. x has the signedness that the target's instruction needs: bytes of the
// other kind are stored with an offset of 128, and so is their zero point.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

constexpr int kByteColumns = 64;  // columns of a block of a convolution's pixels
constexpr int kByteRows = 32;     // maximum rows of a block
constexpr int kStepWords = 16;    // words of k in an AMX tile

struct ByteTile {
  const uint32_t* rows;  // [words][row_count]
  // Word i of column c is at offset[i] + c, or without offset at i * step + c. In a panel a word is
  // per_word bytes, and there is no offset.
  const void* columns;
  const int32_t* offset;
  int64_t step;
  int64_t words;
  int32_t* sums;  // [row_count][nr], row stride sums_step
  int64_t sums_step;
  int row_count;  // byte_rows() of the rows left
};

// Converts sums of a convolution to output rows. A row is a channel; columns are pixel positions of
// the band, of which `mask` selects those in the output, where they are contiguous.
struct ByteRowsEnd {
  const int32_t* sums;
  int64_t sums_step;
  int rows, columns;
  const int32_t* add;          // per row
  const int32_t* factor;       // per row: multiplied by column_sums and added; null: nothing
  const int32_t* column_sums;  // [columns]
  const float* multiplier;     // per row
  float lo, hi;
  int32_t zero;
  uint64_t mask;
  uint8_t* y;
  int64_t y_step;
};

enum class ByteResult : uint8_t { kBytes, kReals, kSums };

// Converts sums of a matrix product to output columns. A column is an output feature.
struct ByteColumnsEnd {
  const int32_t* sums;
  int64_t sums_step;
  int rows, columns;
  const int32_t* add;         // per column
  const int32_t* factor;      // per column: multiplied by row_factor and added; null: nothing
  const int32_t* row_factor;  // per row
  const float* multiplier;    // per column
  const float* row_scale;     // per row: multiplied by the column's multiplier; null: 1
  const float* bias;          // per column, added to reals; null: nothing
  ByteResult result;          // kSums: int32 without multipliers
  float lo, hi;
  int32_t zero;
  void* y;
  int64_t y_step;
};

// A run of at most kByteColumns adjacent pixels of a channel.
struct ByteBlock {
  uint64_t mask;  // pixels that are in the output
  int32_t x, y;   // offsets of the first one
  int32_t columns;
};
// Pixels of one channel of a depthwise convolution, with unsigned x. A word of the weights is two
// taps as int16.
struct ByteDepthwise {
  const uint8_t* x;
  const ByteBlock* blocks;
  int64_t block_count;
  const uint32_t* weights;
  const int32_t* offset;  // offsets of the two taps of a word
  int64_t words;
  int32_t* sums;    // not null: only these are written, kByteColumns per block
  ByteRowsEnd end;  // for one row; sums, columns and mask come from the blocks
};
struct ByteWindows;

// One set of these per SIMD target. They may read columns, factors and multipliers up to nr.
struct ByteKernels {
  int mr;        // maximum rows of a tile: a power of two
  int nr;        // columns of a tile; a divisor of kByteColumns
  int per_word;  // k per word: 4 or 2
  bool x_signed;
  void (*conv_tile)(const ByteTile&);  // columns are x
  void (*gemm_tile)(const ByteTile&);  // rows are x, columns a panel
  // Zips bytes: out[i] = the i-th bytes of per_word rows, each XOR flip: as a word of x, or where
  // `panel` as per_word bytes. Reads n bytes of each row, writes n words.
  void (*zip)(const uint8_t* const* rows, int64_t n, uint8_t flip, bool panel, void* out);
  void (*end_rows)(const ByteRowsEnd&);
  void (*end_columns)(const ByteColumnsEnd&);
  void (*depthwise)(const ByteDepthwise&);
  void (*windows)(const ByteWindows&);  // like depthwise: byte_windows.h; null: not on this target
  // Computes the least and the largest of n numbers and 0.
  void (*range)(const float* x, int64_t n, float* lo, float* hi);
  // out[i] = row_byte(x[i]); scale and zero are those of a range that contains x
  void (*quantize)(const float* x, int64_t n, float scale, float zero, uint8_t* out);
};
const ByteKernels& byte_kernels();

// The state that a plan of byte products keeps.
struct BytePlan {
  const ByteKernels* kernels;
  bool amx;  // packed in the layout of AMX tiles
};

// For tests: disables the instructions that are detected at run time beside the SIMD target, namely
// AMX, AVX-VNNI and aarch64's dot products. Not to be called while kernels run.
void allow_byte_instructions(bool allowed);
bool byte_instructions_allowed();

// Returns the rows of the next tile when `left` are left: a power of two. Packed rows from i on
// start at word i * words.
inline int byte_rows(const ByteKernels& kernels, int64_t left) {
  int rows = kernels.mr;
  while (rows > left) rows /= 2;
  return rows;
}

}  // namespace wick
