// Writes results into the bytes of an operand that is not read again; not public.
#pragma once

#include "runtime/ops/op_info.h"
#include "trainer/tensor/tensor.h"

namespace wick::detail {

// Returns whether nothing but this handle refers to its bytes, now or later (true for a temporary,
// or a gradient that only the running node has).
bool is_spent(const Tensor& t);

// Computes `op` of a and b in the bytes of an operand that is a temporary and the sole owner of
// bytes of the result's shape and dtype; that operand is moved from. Returns undefined if there is
// none, or if the call has to be visible to autograd, a tracer, forward mode or a watcher.
Tensor reuse(OpId op, const Arg& a, const Arg& b);

}  // namespace wick::detail
