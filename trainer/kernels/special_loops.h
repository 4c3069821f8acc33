// lgamma, digamma and erfinv of float64, element by element: the arithmetic of their formulas
// (trainer/tensor/ops/special.cc) in the same order, so that the bits are those of the ops. What a
// formula computes and then does not take, such as the mirrored side, is left out.
#pragma once

#include <cstdint>

namespace wick::special_loops {

void lgamma(const double* x, double* y, int64_t n);
void digamma(const double* x, double* y, int64_t n);
void erfinv(const double* x, double* y, int64_t n);
// The n-th derivative of digamma, n > 0: zeta's multiple by `scale`, and for the mirrored side the
// n + 2 coefficients of a polynomial of the cotangent.
void polygamma(int64_t n, double scale, const double* cotangents, const double* x, double* y,
               int64_t count);

// The constants of the formulas: Lanczos' sum with g = 607 / 128 (P. Godfrey, 2001).
constexpr double kLanczosG = 607.0 / 128, kHalfLog2Pi = 0.91893853320467274178;
constexpr int kLanczosTerms = 15;
constexpr double kLanczos[kLanczosTerms] = {
    0.99999999999999709182,    57.156235665862923517,     -59.597960355475491248,
    14.136097974741747174,     -0.49191381609762019978,   .33994649984811888699e-4,
    .46523628927048575665e-4,  -.98374475304879564677e-4, .15808870322491248884e-3,
    -.21026444172410488319e-3, .21743961811521264320e-3,  -.16431810653676389022e-3,
    .84418223983852743293e-4,  -.26190838401581408670e-4, .36899182659531622704e-5};
// 10 steps up by the recurrence, so that the asymptotic series holds.
constexpr int kSteps = 10;
// The numbers B_2k.
constexpr double kBernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                 5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
// The polynomial of erfinv's first guess within |x| < 1 - 1e-7 (Giles 2010).
constexpr double kErfinvNear[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                  -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                  -0.00417768164,  0.246640727,    1.50140941};

}  // namespace wick::special_loops
