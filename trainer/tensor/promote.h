// PyTorch's dtype promotion, and properties of dtypes.
#pragma once

#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

// Returns the smallest dtype of the higher category (bool < integer < float) that can hold both;
// float16 with bfloat16 gives float32. uint16, uint32 and uint64 only combine with a wider signed
// integer: any other pair with a signed one has no common integer and throws Error.
DType promote_types(DType a, DType b, Where where = Where::current());
// Returns the dtype of a result of both. Tensors with dimensions decide, then 0-dim tensors, then
// C++ numbers: each may only raise the category of those before it.
DType result_type(const Tensor& a, const Tensor& b, Where where = Where::current());
DType result_type(const Tensor& a, Scalar b);
DType result_type(Scalar a, const Tensor& b);
DType result_type(Scalar a, Scalar b);
DType result_type(const Tensor& a, const Tensor& b, const char* op, const Where& where);
// Returns 0 for bool, 1 for integers, 2 for floats.
inline int category(DType t) { return t == DType::kBool ? 0 : is_int(t) ? 1 : 2; }
// Returns whether the category does not decrease: no float to integer, and no number to bool.
bool can_cast(DType from, DType to);

// Returns the bytes of an element; 0 for less than a byte.
inline size_t itemsize(DType t) { return dtype_size(t); }
// Return whether it is a float of 16 bits or more.
inline bool is_floating_point(DType t) { return is_float(t); }
inline bool is_floating_point(const Tensor& t) { return is_float(t.dtype()); }
// Return PyTorch's old names: "FloatTensor", "LongTensor" ...
const char* type_name(DType t);
const char* type_name(const Tensor& t);

// torch.finfo gives this: the limits of a dtype of floats.
struct FloatInfo {
  int bits;                    // of an element
  double eps, max, min, tiny;  // min is the lowest, tiny the smallest normal number
  double resolution;           // 10^-d, for d digits that are exact
};
// torch.iinfo gives this: the limits of a dtype of integers.
struct IntInfo {
  int bits;      // of an element
  int64_t min;   // the lowest number
  uint64_t max;  // the largest number
};
FloatInfo finfo(DType t, Where where = Where::current());  // floats
IntInfo iinfo(DType t, Where where = Where::current());    // integers

}  // namespace wick
