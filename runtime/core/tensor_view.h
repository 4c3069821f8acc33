// TensorView: all that kernels and the runtime know about a tensor. It owns nothing.
#pragma once

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace wick {

// A tensor in memory that belongs to someone else: address, dtype, shape and strides.
struct TensorView {
  void* data = nullptr;        // element (0, ..., 0); null while planning, and for empty tensors
  DType dtype = DType::kNone;  // kNone: an absent optional tensor
  // Not 0: channels (dim 1 of [N, C, H, W]) are in blocked layout [N][ceil(C /
  // block)][H][W][block]. The strides then mean nothing, and the lanes beyond C hold any number.
  // Only values between two steps of a session are blocked, and only kernel rows that declare it
  // read them.
  uint8_t block = 0;
  Shape shape;      // the sizes of its dims
  Strides strides;  // in elements; 0 where broadcast; may be negative

  TensorView() = default;
  TensorView(void* d, DType t, const Shape& s)
      : data(d), dtype(t), shape(s), strides(contiguous_strides(s)) {}
  TensorView(void* d, DType t, const Shape& s, const Strides& st)
      : data(d), dtype(t), shape(s), strides(st) {}

  // Return whether there is a tensor, the number of dims, the size of one, and the number of
  // elements.
  bool present() const { return dtype != DType::kNone; }
  int rank() const { return shape.rank(); }
  int64_t dim(int i) const { return shape[i]; }
  int64_t numel() const { return wick::numel(shape); }
  // Returns the address as a T*, without a check of the dtype.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  // Returns whether the layout is row-major without gaps (strides of dims of extent 1 do not
  // matter).
  bool contiguous() const {
    if (block != 0) return false;
    int64_t step = 1;
    for (int i = rank() - 1; i >= 0; --i) {
      if (shape[i] == 0) return true;
      if (shape[i] != 1 && strides[i] != step) return false;
      step *= shape[i];
    }
    return true;
  }
  // Returns the elements of memory: those of the contiguous layout, or of whole blocks.
  int64_t stored() const {
    if (block == 0 || shape[1] == 0) return numel();
    return numel() / shape[1] * ((shape[1] + block - 1) / block * block);
  }
  size_t nbytes() const {  // of stored(); shapes were checked where they were made
    return (static_cast<size_t>(stored()) * static_cast<size_t>(dtype_bits(dtype)) + 7) / 8;
  }
};

}  // namespace wick
