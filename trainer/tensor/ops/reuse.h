// Results written into the bytes of an operand that nobody reads again; not public.
#pragma once

#include "runtime/ops/op_info.h"
#include "trainer/tensor/tensor.h"

namespace wick::detail {

// Nothing but this handle leads to its bytes, now or later (of a temporary, or a gradient that only
// the running node has).
bool is_spent(const Tensor& t);

// `op` of a and b in the bytes of whichever is a temporary that alone owns bytes of the result's
// shape and dtype; the operand is moved from. Undefined where there is none, or where the call has
// to be seen: by autograd, a tracer, forward mode or a watcher.
Tensor reuse(OpId op, const Arg& a, const Arg& b);

}  // namespace wick::detail
