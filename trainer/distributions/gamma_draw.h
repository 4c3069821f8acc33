// Draws from the gamma distribution of rate 1, and their pathwise derivative; not public.
#pragma once

#include "trainer/tensor/ops/common.h"
#include "trainer/tensor/philox.h"

namespace wick::distributions {

// Returns log z for draws z of Gamma(alpha, 1), alpha float64 on the host. The logarithm, because
// draws of a small alpha are below the smallest number. Recorded: d log z / d alpha at a fixed
// value of the distribution function (implicit reparametrization; Figurnov et al., 2018).
Tensor log_standard_gamma(const Arg& alpha, Generator& g);

// Returns d log z / d alpha for z = e^log_z, where psi1 = digamma(alpha + 1); NaN where an argument
// is not finite or alpha <= 0. The relative error is some 1e-13 for alpha up to 1e6 and grows with
// its square root beyond.
double log_gamma_slope(double alpha, double log_z, double psi1);

}  // namespace wick::distributions
