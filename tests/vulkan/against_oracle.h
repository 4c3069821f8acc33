// Compares a call on the device with the f64 reference kernel, at sizes that the rows' samples do
// not have.
#pragma once

#include "runtime/backend/vulkan/ctx/context.h"
#include "tests/ops/op_row.h"

namespace wick::test {

// Runs the sample twice, with constants and staging and without, expects the same bits of both, and
// every element within vulkan_bounds. Returns the worst observed / bound.
double expect_within_bounds(OpId op, const Sample& sample);

// The same for a sample of 16-bit floats on one device, a rounding to 16 bits (either way) beyond
// the bounds.
double expect_halves_within_bounds(vulkan::Context& context, OpId op, const Sample& sample);

// Runs the call on the CPU (the fastest kernels) and on the device, and expects the same bits: for
// results that have no error. False where the device has no shader for it.
bool as_on_the_cpu(vulkan::Context& context, OpId op, const Sample& sample);

}  // namespace wick::test
