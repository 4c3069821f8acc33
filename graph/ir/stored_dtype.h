// The type in which a file may keep a tensor without losing a bit.
#pragma once

#include "graph/ir/host_tensor.h"

namespace wick::ir {

// Returns kF16 or kBF16 if `t` is float32 and that type holds each of its numbers, bit for bit when
// widened again (float16 where both do); else its own dtype. It reads the tensor's bytes.
DType stored_dtype(const HostTensor& t);

}  // namespace wick::ir
