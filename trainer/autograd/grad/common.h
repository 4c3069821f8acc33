// Shared by the gradient families.
#pragma once

#include <functional>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/tensor/ops.h"

namespace wick {

inline Tensor zero_like(const Tensor& t) { return full({}, 0, t.dtype()); }
inline IntList<3> spatial(const Shape& s) { return IntList<3>(s.dims().subspan(2)); }

// Zeros of the i-th input's shape and dtype, where the gradient lies.
Tensor zeros_of(const GradCtx& c, size_t i);

// The gradient of an op through its meaning in other ops: `meaning` maps the op's inputs (undefined
// where absent) to its outputs. The row must save every input.
void grad_through(GradCtx& c,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& meaning);

}  // namespace wick
