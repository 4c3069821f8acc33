// Shared by the files of trainer/tensor and trainer/autograd; not public.
#pragma once

#include "runtime/kernels/kernel_set.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// Fresh contiguous storage, contents undefined. The shape's byte count is checked here.
// `born`: the line that errors and memory reports name.
Tensor new_tensor(const Shape& shape, DType dtype, const Where& born = {});
// Another handle on the same bytes.
Tensor alias(const Tensor& base, const TensorView& view);

// Chooses and runs the kernel of a call whose outputs are allocated. No tape, no tracer.
// `in_place`: kInPlace where output 0 is input 0, kInPlaceSecond where it is input 1; false is
// returned, and nothing done, when the kernel cannot. `args`: as the rule resolved them, if it was
// asked.
bool run_kernel(OpId op, const void* attrs, Span<const TensorView> in, Span<TensorView> out,
                const Where& where, uint32_t in_place = 0, const ShapeArgs* args = nullptr);

// The kernel sets that are asked, in order; `reference`: those of ReferenceKernelsScope.
Span<const KernelSet* const> trainer_kernels(bool reference);

// What errors call an op: the public function's name.
std::string display_name(OpId op);

// a += b on the bytes, where nobody else can see a. Same shape and dtype, both contiguous.
void accumulate(const Tensor& a, const Tensor& b);

// True when two indices of the view name one element.
bool overlaps_itself(const TensorView& v);

inline Shape to_shape(Span<const int64_t> dims) { return Shape(dims); }
int wrap_dim(const char* op, int64_t dim, int rank, const Where& where);

// The sizes that a user gave; more than a shape holds are an error.
DimList sizes_of(const char* op, const Shape& sizes, const Where& where);

}  // namespace wick
