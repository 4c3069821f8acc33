// Ops linked into the test and registered by hand.
#pragma once

#include "wick/custom_op.h"

namespace wick::test {

extern const CustomOp kTwice;      // x[n, ...] -> [2n + pad, ...], each row twice, then zero rows
extern const CustomOp kMinMax;     // x, y? (float32 only) -> elementwise min and max
extern const CustomOp kPicky;      // its kernel refuses negative numbers; no gradient
extern const CustomOp kBadShape;   // its shape rule gives a negative dimension
extern const CustomOp kForgetful;  // its gradient reads what it did not save

void register_all();

}  // namespace wick::test
