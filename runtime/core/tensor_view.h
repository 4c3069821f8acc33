// TensorView: all that kernels and the runtime know of a tensor. Owns nothing.
#pragma once

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace wick {

struct TensorView {
  void* data = nullptr;        // element (0, ..., 0); null while planning, and for empty tensors
  DType dtype = DType::kNone;  // kNone: an absent optional tensor
  Shape shape;
  Strides strides;  // in elements; 0 where broadcast; may be negative

  TensorView() = default;
  TensorView(void* d, DType t, const Shape& s)
      : data(d), dtype(t), shape(s), strides(contiguous_strides(s)) {}
  TensorView(void* d, DType t, const Shape& s, const Strides& st)
      : data(d), dtype(t), shape(s), strides(st) {}

  bool present() const { return dtype != DType::kNone; }
  int rank() const { return shape.rank(); }
  int64_t dim(int i) const { return shape[i]; }
  int64_t numel() const { return wick::numel(shape); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  // Row-major without gaps (strides of dims of extent 1 do not matter).
  bool contiguous() const {
    int64_t step = 1;
    for (int i = rank() - 1; i >= 0; --i) {
      if (shape[i] == 0) return true;
      if (shape[i] != 1 && strides[i] != step) return false;
      step *= shape[i];
    }
    return true;
  }
  size_t nbytes() const {  // of the contiguous form; shapes were checked where they were made
    return (static_cast<size_t>(numel()) * static_cast<size_t>(dtype_bits(dtype)) + 7) / 8;
  }
};

}  // namespace wick
