// HostArray: the content of a file of numbers, before it becomes a Tensor. It needs only
// runtime/core, so that tools can read and write arrays without the training engine.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"
#include "runtime/core/tensor_view.h"

namespace wick::data {

// Numbers of one dtype and shape, in memory of their own.
struct HostArray {
  DType dtype = DType::kF32;   // type and
  Shape shape;                 // sizes of the array
  std::vector<uint8_t> bytes;  // row-major, the machine's byte order

  // Return the number of elements, and the elements; T must be the dtype's type, which is not
  // checked.
  int64_t numel() const { return wick::numel(shape); }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
  // Returns a view of the bytes, valid while the array lives and is not resized.
  TensorView view() { return TensorView(bytes.data(), dtype, shape); }
};

// The default limit of what a reader may allocate for one array. A header that asks for more is
// refused before anything is allocated.
constexpr uint64_t kDefaultArrayBudget = uint64_t{4} << 30;

}  // namespace wick::data
