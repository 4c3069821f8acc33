// Byte products summed in wrapping int32: the order does not matter, so the bits do not depend on
// the blocks. Operands are int16 with their zero points subtracted, two k in one 32-bit element
// (the even one in its low half), as pairwise multiply-add instructions read them.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

struct IntegerTile {
  const int32_t* rows;   // [pairs][row_count]
  const int32_t* panel;  // [pairs][nr]
  int64_t pairs;         // of k; an odd last one is padded with zero
  int32_t* out;          // [row_count][cols], row stride out_step
  int64_t out_step;
  int row_count;  // integer_rows() of the rows left
  int cols;       // 1 .. nr
};

// One set of these per SIMD target.
struct IntegerKernels {
  int mr;  // maximum rows of a tile: 4 or 8
  int nr;  // columns of a panel: three vectors
  void (*tile)(const IntegerTile&);
  // Zips: out[i] = {even[i], odd[i]}, even in the low half.
  void (*zip)(const int16_t* even, const int16_t* odd, int64_t n, int32_t* out);
  // Computes out[i] = x[i] - zero; x is int8 or uint8.
  void (*widen)(const void* x, bool is_signed, int32_t zero, int64_t n, int16_t* out);
};
const IntegerKernels& integer_kernels();

// Returns the rows of the next tile when `left` are left: a power of two. Packed rows from i on
// start at i * pairs.
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
// Returns the zero point in input i, one for the whole tensor; 0 where there is none.
inline int32_t zero_point(Span<const TensorView> in, size_t i) {
  return has_input(in, i) ? byte_at(in[i], 0) : 0;
}

// The strides of a matrix (or of its zero points) with batch dims: 0 where one element serves all.
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
// A vector is treated as a column where `as_column`, else as a row.
BytePlane byte_plane(const TensorView& t, bool as_column, int batch_rank);

// Describes a MatMulInteger. A vector a is a row, a vector b a column; vectors of zero points are
// the other way round.
struct IntegerProduct {
  int64_t m = 1, n = 1, k = 0, batches = 0;
  bool has_a_zero = false, has_b_zero = false;
  BytePlane a, b, a_zero, b_zero;

  IntegerProduct(Span<const TensorView> in, const TensorView& out);
};

}  // namespace wick
