#include "trainer/autograd/grad/common.h"

namespace wick {

// x - y n, where n, the whole quotient, is constant wherever there is a derivative.
WICK_GRAD(Mod, 3, 0, 0, [](GradCtx& c) {
  if (c.needs(0)) c.set(0, sum_to(c.g(), c.in_shape(0)));
  if (!c.needs(1)) return;
  Tensor quotient = c.in(0).detach() / c.in(1).detach();
  Tensor whole = floor(quotient);
  if (c.attrs<ModAttrs>().fmod != 0) whole = where(lt(quotient, 0), ceil(quotient), whole);
  c.set(1, sum_to(-(c.g() * whole), c.in_shape(1)));
});
WICK_GRAD(Atan2, 3, 0, 0, [](GradCtx& c) {
  Tensor y = c.in(0), x = c.in(1), scaled = c.g() / (x * x + y * y);
  if (c.needs(0)) c.set(0, sum_to(scaled * x, c.in_shape(0)));
  if (c.needs(1)) c.set(1, sum_to(-(scaled * y), c.in_shape(1)));
});
WICK_NONDIFF(BitwiseAnd, NonDiff::kIntegerOutput);
WICK_NONDIFF(BitwiseOr, NonDiff::kIntegerOutput);
WICK_NONDIFF(BitwiseXor, NonDiff::kIntegerOutput);
WICK_NONDIFF(BitwiseNot, NonDiff::kIntegerOutput);
WICK_NONDIFF(BitShift, NonDiff::kIntegerOutput);
WICK_NONDIFF(IsNaN, NonDiff::kIntegerOutput);
WICK_NONDIFF(IsInf, NonDiff::kIntegerOutput);

}  // namespace wick
