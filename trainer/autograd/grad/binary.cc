#include "trainer/autograd/grad/common.h"

namespace wick {
namespace {

void set(GradCtx& c, size_t i, const Tensor& g) { c.set(i, sum_to(g, c.in_shape(i))); }

// Max and Min: a tie shares the gradient, as in PyTorch.
void extremum(GradCtx& c, Tensor (*wins)(const Arg&, const Arg&)) {
  Tensor a = c.in(0), b = c.in(1), zero = zero_like(c.g());
  Tensor shared = where(eq(a, b), c.g() * 0.5, zero);
  if (c.needs(0)) set(c, 0, where(wins(a, b), c.g(), shared));
  if (c.needs(1)) set(c, 1, where(wins(b, a), c.g(), shared));
}

}  // namespace

WICK_GRAD(Add, 0, 0, 0, [](GradCtx& c) {
  if (c.needs(0)) set(c, 0, c.g());
  if (c.needs(1)) set(c, 1, c.g());
});
WICK_GRAD(Sub, 0, 0, 0, [](GradCtx& c) {
  if (c.needs(0)) set(c, 0, c.g());
  if (c.needs(1)) set(c, 1, neg(c.g()));
});
WICK_GRAD(Mul, 3, 0, 0, [](GradCtx& c) {
  if (c.needs(0)) set(c, 0, c.g() * c.in(1));
  if (c.needs(1)) set(c, 1, c.g() * c.in(0));
});
// The quotient is computed again, so that it may be overwritten: y = x / (1 + x * x); y.relu_().
WICK_GRAD(Div, 3, 0, 0, [](GradCtx& c) {
  Tensor scaled = c.g() / c.in(1);
  if (c.needs(0)) set(c, 0, scaled);
  if (c.needs(1)) set(c, 1, -(scaled * (c.in(0) / c.in(1))));
});
WICK_GRAD(Pow, 3, 1, 0, [](GradCtx& c) {
  Tensor a = c.in(0), b = c.in(1);
  if (c.needs(0)) {
    // b = 0 makes a constant of a, also where a^(b - 1), 1 / a, is infinite: 1^(b - 1) is not, and
    // neither are its derivatives. Elsewhere the slope is 0 by its factor b, along which it grows
    // by 1 / a.
    Tensor infinite = ne(reciprocal(a.detach()) * 0, 0);
    Tensor flat = logical_and(eq(b, 0), infinite);
    Tensor base = where(flat, full({}, 1, a.dtype()), a);
    Tensor slope = b.to(a.dtype()) * pow(base, b - 1);
    set(c, 0, where(flat, zero_like(c.g()), c.g() * slope));
  }
  if (c.needs(1)) {
    // 0 to a power that is not negative is constant; a negative base has no slope there (NaN)
    Tensor flat = logical_and(eq(a, 0), ge(b, 0));
    Tensor log_a = log(where(flat, full({}, 1, a.dtype()), a));
    set(c, 1, (c.g() * c.out() * log_a).to(c.in_dtype(1)));
  }
});
WICK_GRAD(Max, 3, 0, 0, [](GradCtx& c) { extremum(c, gt); });
WICK_GRAD(Min, 3, 0, 0, [](GradCtx& c) { extremum(c, lt); });

// At 0 the slope counts, as in PyTorch.
WICK_GRAD(PRelu, 3, 0, 0, [](GradCtx& c) {
  Tensor x = c.in(0), positive = gt(x, 0);
  if (c.needs(0)) c.set(0, where(positive, c.g(), c.g() * c.in(1)));
  if (c.needs(1)) set(c, 1, where(positive, zero_like(c.g()), c.g()) * x);
});

WICK_NONDIFF(Equal, NonDiff::kIntegerOutput);
WICK_NONDIFF(Less, NonDiff::kIntegerOutput);
WICK_NONDIFF(LessOrEqual, NonDiff::kIntegerOutput);
WICK_NONDIFF(Greater, NonDiff::kIntegerOutput);
WICK_NONDIFF(GreaterOrEqual, NonDiff::kIntegerOutput);
WICK_NONDIFF(And, NonDiff::kIntegerOutput);
WICK_NONDIFF(Or, NonDiff::kIntegerOutput);
WICK_NONDIFF(Xor, NonDiff::kIntegerOutput);

WICK_GRAD(Where, 1, 0, 1, [](GradCtx& c) {
  Tensor zero = zero_like(c.g());
  if (c.needs(1)) set(c, 1, where(c.in(0), c.g(), zero));
  if (c.needs(2)) set(c, 2, where(c.in(0), zero, c.g()));
});

}  // namespace wick
