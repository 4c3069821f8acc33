// Products of bytes summed in int32 that wraps: the order does not matter, so the bits are the same
// whatever the blocks. Operands are int16 with their zero points taken off, two k side by side in
// one 32-bit element (the even one in its low half): what multiply-add instructions of pairs read.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

struct IntegerTile {
  const int32_t* rows;   // [pairs][row_count]
  const int32_t* panel;  // [pairs][nr]
  int64_t pairs;         // of k, a missing last one being zero
  int32_t* out;          // [row_count][cols], rows out_step apart
  int64_t out_step;
  int row_count;  // integer_rows() of what is left
  int cols;       // 1 .. nr
};

// One set of these per SIMD target.
struct IntegerKernels {
  int mr;  // the most rows of a tile: 4 or 8
  int nr;  // columns of a panel: three vectors
  void (*tile)(const IntegerTile&);
  // out[i] = even[i] below odd[i]
  void (*zip)(const int16_t* even, const int16_t* odd, int64_t n, int32_t* out);
  // out[i] = x[i] - zero; x of int8 or uint8
  void (*widen)(const void* x, bool is_signed, int32_t zero, int64_t n, int16_t* out);
};
const IntegerKernels& integer_kernels();

// Rows of the next tile where `left` are left: a power of two. Rows [i, i + that) lie at i * pairs.
inline int integer_rows(const IntegerKernels& kernels, int64_t left) {
  int rows = kernels.mr;
  while (rows > left) rows /= 2;
  return rows;
}

inline int32_t integer_pair(int32_t even, int32_t odd) {
  return static_cast<int32_t>((static_cast<uint32_t>(even) & 0xFFFF) | static_cast<uint32_t>(odd)
                                                                           << 16);
}

inline int32_t byte_at(const TensorView& t, int64_t i) {
  return t.dtype == DType::kI8 ? t.as<int8_t>()[i] : t.as<uint8_t>()[i];
}

inline bool has_input(Span<const TensorView> in, size_t i) {
  return i < in.size() && in[i].present();
}
// The zero point in input i, one for the whole tensor; 0 where there is none.
inline int32_t zero_point(Span<const TensorView> in, size_t i) {
  return has_input(in, i) ? byte_at(in[i], 0) : 0;
}

// Where the numbers of a matrix (or of its zero points) of one batch begin, and how rows and
// columns follow: 0 where there is one for all.
struct BytePlane {
  int64_t row = 0, column = 0;
  Strides batch;  // over the output's batch dims

  int64_t begin(int64_t index, const Shape& out) const {
    int64_t at = 0;
    for (int d = batch.rank() - 1; d >= 0; --d) {
      at += index % out[d] * batch[d];
      index /= out[d];
    }
    return at;
  }
};
// A vector is a column where `as_column`, else a row.
BytePlane byte_plane(const TensorView& t, bool as_column, int batch_rank);

// A MatMulInteger. A vector a is a row, a vector b a column; a vector of zero points lies the other
// way.
struct IntegerProduct {
  int64_t m = 1, n = 1, k = 0, batches = 0;
  bool has_a_zero = false, has_b_zero = false;
  BytePlane a, b, a_zero, b_zero;

  IntegerProduct(Span<const TensorView> in, const TensorView& out);
};

}  // namespace wick
