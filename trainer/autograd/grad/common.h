// Helpers that the gradient families share.
#pragma once

#include <functional>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/tensor/ops.h"

namespace wick {

inline Tensor zero_like(const Tensor& t) { return full({}, 0, t.dtype()); }
inline IntList<3> spatial(const Shape& s) { return IntList<3>(s.dims().subspan(2)); }

// Returns zeros of the i-th input's shape and dtype, on the device of the gradient.
Tensor zeros_of(const GradCtx& c, size_t i);

// Sets the gradient of an op by expressing it in other ops: `meaning` maps the op's inputs
// (undefined where absent) to its outputs. The row must save every input.
void grad_through(GradCtx& c,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& meaning);

}  // namespace wick
