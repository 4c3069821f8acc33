// describe(): a tensor is (storage, shape, stride, dtype, device, requires_grad); autograd is the
// graph it hangs on. All of it, as fields and as text.
#pragma once

#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

struct Description {
  bool defined = false;
  std::string name;
  // the six
  size_t storage_bytes = 0;
  bool storage_shared = false;  // other tensors see these bytes
  Shape shape;
  Strides strides;
  DType dtype = DType::kNone;
  std::string device;  // "cpu"
  bool requires_grad = false;
  // what follows from them
  int64_t offset = 0;  // of the first element in the storage, in elements
  bool contiguous = false;
  uint32_t version = 0;  // in-place writes to the storage so far
  // history
  bool is_leaf = true;
  std::string grad_fn;     // "mul"; "" for a leaf
  uint32_t output_nr = 0;  // which of grad_fn's outputs this is
  std::string view_of;     // "permute of 'w' float32[2,3]": what it was taken from; "" otherwise
  std::string made_at;     // "train.cpp:41": of grad_fn; of a leaf, where its bytes were made
  std::string module;      // "fc1" where grad_fn was called, "" outside of modules
  std::string grad;        // "f32[2,3]", "" when there is none

  std::string text() const;  // a line each, for people
};

Description description(const Tensor& t);
inline std::string describe(const Tensor& t) { return description(t).text(); }

}  // namespace wick
