// torch.special: functions of statistics, of float tensors. They are composed of ops and computed
// in float64, so that a capture has them too; float32 results are rounded once.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// log |Gamma(x)|: infinite at 0, -1, -2 ... Lanczos' approximation, within some 1e-15 of the larger
// of 1 and the result.
Tensor lgamma(const Arg& x);
// The derivative of lgamma. NaN at -1, -2 ...; infinite at 0, with the other sign than x's.
Tensor digamma(const Arg& x);
// The n-th derivative of digamma, n >= 0: n = 0 is digamma itself.
Tensor polygamma(int64_t n, const Arg& x);
// The logarithm of the multivariate gamma function of p dims; x > (p - 1) / 2.
Tensor mvlgamma(const Arg& x, int64_t p);
// The inverse of erf: infinite at -1 and 1, NaN beyond.
Tensor erfinv(const Arg& x);

namespace special {

Tensor gammaln(const Arg& x);                // lgamma
Tensor psi(const Arg& x);                    // digamma
Tensor entr(const Arg& x);                   // -x log x; 0 at 0, -infinity below
Tensor expit(const Arg& x);                  // sigmoid
Tensor ndtr(const Arg& x);                   // the normal distribution function
Tensor ndtri(const Arg& p);                  // its inverse
Tensor xlog1py(const Arg& x, const Arg& y);  // x log(1 + y); 0 where x is 0

}  // namespace special
}  // namespace wick
