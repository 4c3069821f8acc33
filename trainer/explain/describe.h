// describe(): all properties of a tensor, as fields and as text: (storage, shape, stride, dtype,
// device, requires_grad), and its place in the autograd graph.
#pragma once

#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

// Says what is known of a tensor.
struct Description {
  bool defined = false;  // false: an undefined tensor, without the rest
  std::string name;      // the name that named() or a module gave
  // the six basic properties
  size_t storage_bytes = 0;
  bool storage_shared = false;  // other tensors share these bytes
  Shape shape;
  Strides strides;
  DType dtype = DType::kNone;
  std::string device;  // "cpu"
  bool requires_grad = false;
  // properties that follow from them
  int64_t offset = 0;  // index of the first element in the storage, in elements
  bool contiguous = false;
  uint32_t version = 0;  // in-place writes to the storage so far
  // history
  bool is_leaf = true;
  std::string grad_fn;     // "mul"; "" for a leaf
  uint32_t output_nr = 0;  // index among grad_fn's outputs
  std::string view_of;     // "permute of 'w' float32[2,3]": its base; "" if it is no view
  std::string made_at;     // "train.cpp:41": line of grad_fn's call, or of the leaf's creation
  std::string module;      // "fc1" where grad_fn was called, "" outside of modules
  std::string grad;        // "f32[2,3]", "" if there is none

  std::string text() const;  // one property per line, for people
};

// Return the properties of a tensor, and the same as text with one property per line.
Description description(const Tensor& t);
inline std::string describe(const Tensor& t) { return description(t).text(); }

}  // namespace wick
