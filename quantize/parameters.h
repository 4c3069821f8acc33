// Decides which constants of a graph or a program are parameters of the model, whatever form it
// has.
#pragma once

#include "runtime/core/dtype.h"
#include "runtime/ops/op_info.h"

namespace wick::quantize {

// Returns whether a constant of that dtype and size, read as input i of the op, is a parameter: a
// weight or a bias, as floats or as integers. Scales, zero points and tables of integers, a single
// number, sizes, axes and indices are not.
bool is_parameter(OpId op, size_t i, DType dtype, int64_t numel);

}  // namespace wick::quantize
