// Bodies that a chain runs over one block after another: those of the ops themselves.
#pragma once

#include <cstddef>

#include "runtime/ops/op_id.h"

namespace wick {

using UnaryBody = void (*)(const float* x, float* y, size_t n, float a, float b);
using BinaryBody = void (*)(const float* x, bool repeat_x, const float* y, bool repeat_y, float* z,
                            size_t n);

// Of one SIMD target: the body of an op, null where there is none. flag: Gelu's tanh form.
using FindUnary = UnaryBody (*)(OpId op, bool flag);
using FindBinary = BinaryBody (*)(OpId op);

// Of the target chosen now (unary.cc, binary.cc). A program without chains does not link them.
FindUnary unary_bodies();
FindBinary binary_bodies();

}  // namespace wick
