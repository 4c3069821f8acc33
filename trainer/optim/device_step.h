// An update as ops, where a parameter is on a device of which the loops (trainer/kernels) see
// nothing. The formulas are theirs, rounded op by op.
#pragma once

#include "trainer/kernels/optim_loops.h"
#include "trainer/tensor/tensor.h"

namespace wick::optim {

// `state`: as the loop of the coefficients has it; undefined: not used.
void step_on_device(const SgdCoefficients& c, const Tensor& p, const Tensor& g, Tensor* state);
void step_on_device(const AdamCoefficients& c, const Tensor& p, const Tensor& g, Tensor* state);

// Error: an optimizer without such a step.
[[noreturn]] void no_device_step(const char* op, const Tensor& p);

}  // namespace wick::optim
