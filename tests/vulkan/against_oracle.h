// A call on the device beside the f64 reference kernel, at sizes that the rows' samples do not
// have.
#pragma once

#include "tests/ops/op_row.h"

namespace wick::test {

// Runs the sample twice, with constants and staging and without, expects the same bits of both, and
// every element within vulkan_bounds. Returns the worst observed / bound.
double expect_within_bounds(OpId op, const Sample& sample);

}  // namespace wick::test
