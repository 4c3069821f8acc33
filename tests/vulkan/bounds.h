// The largest difference of a Vulkan float from the exact result: derived from what the Vulkan
// specification promises of each operation (add, mul, fma within 1 ulp = 2 u; the correctly rounded
// ones 1 u; div 2.5 ulp; sqrt as 1 / inversesqrt) and from the shaders' own arithmetic. u = 2^-24.
#pragma once

#include <vector>

#include "tests/ops/op_row.h"
#include "tests/ops/values.h"

namespace wick::test {

// One bound an element of the op's output. `in`: f64 inputs; `want`: the f64 result.
std::vector<double> vulkan_bounds(OpId op, const void* attrs, const std::vector<Value>& in,
                                  const Value& want);

// The part of them in recurrence_bounds.cc; false: of another op.
bool recurrence_bounds(OpId op, const void* attrs, const std::vector<Value>& in, const Value& want,
                       std::vector<double>* bounds);
// The part of them in spatial_bounds.cc; false: of another op.
bool spatial_bounds(OpId op, const void* attrs, const std::vector<Value>& in, const Value& want,
                    std::vector<double>* bounds);

}  // namespace wick::test
