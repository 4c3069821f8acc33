// The line search of LBFGS: a step that satisfies the strong Wolfe conditions.
#pragma once

#include "runtime/core/function_ref.h"
#include "trainer/tensor/tensor.h"

namespace wick::optim {

// The sum of a[i] b[i] of two contiguous vectors of one length and type, float32 or float64. It is
// taken in double: of each 16,384 elements in eight lanes (element i goes to lane i mod 8), then
// the lanes in order, then these pieces in order. It depends on no number of threads and no SIMD
// target.
double dot(const Tensor& a, const Tensor& b);
// The sum of |a[i]| in the same order, and the largest |a[i]|: NaN if there is one, 0 of none.
double sum_abs(const Tensor& a);
double max_abs(const Tensor& a);

struct LinePoint {
  double f = 0;    // the loss
  Tensor g;        // its gradient, flat
  double gtd = 0;  // the slope along the line, g . d
  double t = 0;    // how far along d
};
struct LineResult {
  LinePoint point;
  int64_t evals = 0;  // of f
};

// The minimum of the cubic through (x1, f1, slope g1) and (x2, f2, g2), clamped to [least, most];
// where it has none, their middle (Nocedal and Wright 2006, equation 3.59).
double cubic_interpolate(double x1, double f1, double g1, double x2, double f2, double g2,
                         double least, double most);

// From `start` (t is 0) along d, first to `t`: a t with f(t) <= f + 1e-4 t gtd and
// |gtd(t)| <= 0.9 |gtd|, or the best that is known after 25 steps or where the bracket, measured by
// the largest element of d, is shorter than tolerance_change (Nocedal and Wright 2006, algorithms
// 3.5 and 3.6, as minFunc and torch.optim.LBFGS have them). evaluate(t): the loss and the gradient
// there, which leaves the parameters where they were.
LineResult strong_wolfe(FunctionRef<LinePoint(double t)> evaluate, double t, const Tensor& d,
                        const LinePoint& start, double tolerance_change);

}  // namespace wick::optim
