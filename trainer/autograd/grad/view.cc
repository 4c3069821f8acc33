#include "runtime/kernels/view_of.h"
#include "runtime/ops/rules/view-inl.h"
#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

bool overlaps(const StridedAttrs& a) {
  TensorView v(nullptr, DType::kU8, Shape(a.sizes.span()));
  for (int i = 0; i < v.rank(); ++i) v.strides[i] = a.strides[i];
  return overlaps_itself(v);
}

// Returns the index in the flattened input of each element that the call shows, flattened.
Tensor element_numbers(const StridedAttrs& a, int64_t count) {
  Tensor numbers = arange(count);
  TensorView picked = view_of(a, numbers.raw());
  return alias(numbers, picked).reshape({picked.numel()});
}

}  // namespace

// inputs: x, src
WICK_GRAD(SliceScatter, 0, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<SliceAttrs>();
  if (c.needs(0))
    c.set(0, call(OpId::kSliceScatter, a, {c.g(), zeros(c.in_shape(1), c.in_dtype(1))}));
  if (c.needs(1)) c.set(1, call(OpId::kSlice, a, {c.g()}));
});

// An element that occurs several times in the view gets the sum of its gradients.
WICK_GRAD(AsStrided, 0, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<StridedAttrs>();
  const Shape& x = c.in_shape(0);
  int64_t n = numel(x);
  if (!overlaps(a))
    return c.set(0, call(OpId::kAsStridedScatter, a, {zeros(x, c.in_dtype(0)), c.g()}));
  Tensor g = c.g().reshape({numel(c.out_shape(0))});
  c.set(0, scatter_add(zeros({n}, c.in_dtype(0)), 0, element_numbers(a, n), g).reshape(x));
});

// inputs: x, src
WICK_GRAD(AsStridedScatter, 0, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<StridedAttrs>();
  if (overlaps(a))
    throw Error("[as_strided_scatter] no gradient where the view shows an element twice",
                Code::kUnsupported);
  if (c.needs(0))
    c.set(0, call(OpId::kAsStridedScatter, a, {c.g(), zeros(c.in_shape(1), c.in_dtype(1))}));
  if (c.needs(1)) c.set(1, call(OpId::kAsStrided, a, {c.g()}));
});

}  // namespace wick
