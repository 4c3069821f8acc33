// Updates written as ops, for parameters on a device, which the loops of trainer/kernels cannot
// access. The formulas are the same, but rounded after each op.
#pragma once

#include "trainer/kernels/optim_loops.h"
#include "trainer/tensor/tensor.h"

namespace wick::optim {

// `state`: the tensors that the loop of these coefficients uses; undefined: not used.
void step_on_device(const SgdCoefficients& c, const Tensor& p, const Tensor& g, Tensor* state);
void step_on_device(const AdamCoefficients& c, const Tensor& p, const Tensor& g, Tensor* state);

// Throws Error for an optimizer that has no such step.
[[noreturn]] void no_device_step(const char* op, const Tensor& p);

}  // namespace wick::optim
