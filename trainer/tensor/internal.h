// Shared by the files of trainer/tensor and trainer/autograd; not public.
#pragma once

#include "runtime/kernels/kernel_set.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// Makes new contiguous storage, uninitialized. Checks the shape's byte count. `born`: the line that
// errors and memory reports name.
Tensor new_tensor(const Shape& shape, DType dtype, const Where& born = {});
// Returns another handle on the same bytes.
Tensor alias(const Tensor& base, const TensorView& view);

// Chooses and runs the kernel of a call whose outputs are allocated, without recording or tracing.
// `in_place`: kInPlace if output 0 is input 0, kInPlaceSecond if it is input 1; returns false, with
// nothing done, if the kernel does not support that. `args`: those that the shape rule resolved, if
// it was called.
bool run_kernel(OpId op, const void* attrs, Span<const TensorView> in, Span<TensorView> out,
                const Where& where, uint32_t in_place = 0, const ShapeArgs* args = nullptr);

// Returns the kernel sets in the order of the search; `reference`: those of ReferenceKernelsScope.
Span<const KernelSet* const> trainer_kernels(bool reference);

// Returns the name of an op in errors: that of the public function.
std::string display_name(OpId op);

// a += b on the bytes, for an a that nothing else shares. Same shape and dtype, both contiguous.
void accumulate(const Tensor& a, const Tensor& b);

// Returns whether two indices of the view refer to the same element.
bool overlaps_itself(const TensorView& v);

inline Shape to_shape(Span<const int64_t> dims) { return Shape(dims); }
int wrap_dim(const char* op, int64_t dim, int rank, const Where& where);

// Converts the sizes that a user passed; throws Error if there are more than a shape can have.
DimList sizes_of(const char* op, const Shape& sizes, const Where& where);

}  // namespace wick
