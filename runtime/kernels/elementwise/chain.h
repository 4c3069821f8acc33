// The bodies that a chain runs over one block after another: those of the ops themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/edition.h"
#include "runtime/ops/op_id.h"

namespace wick {

using UnaryBody = void (*)(const float* x, float* y, size_t n, float a, float b);
using BinaryBody = void (*)(const float* x, bool repeat_x, const float* y, bool repeat_y, float* z,
                            size_t n);

// Return an op's body for one SIMD target, null where there is none. flag: Gelu's tanh form.
using FindUnary = UnaryBody (*)(OpId op, bool flag, Edition edition);
using FindBinary = BinaryBody (*)(OpId op);

// Converts arrays to and from the f32 in which bodies compute. A chain of f32 has none, so that a
// program without 16-bit rows does not link the conversions.
struct ChainHalf {
  void (*widen)(const void* from, float* to, int64_t n);
  void (*narrow)(const float* from, void* to, int64_t n);
  void (*round)(float* x, int64_t n);  // rounds to 16-bit numbers
};

// Return the functions of the current target (unary.cc, binary.cc). A program without chains does
// not link them.
FindUnary unary_bodies();
FindBinary binary_bodies();

}  // namespace wick
