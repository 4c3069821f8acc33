#include "trainer/autograd/grad/others.h"

#include "trainer/autograd/grad/common.h"

namespace wick {
namespace {

int64_t length(const Tensor& t) { return t.raw_shape()[t.rank() - 1]; }

// Shifts t by `by` places to higher indices (to lower ones if negative), with `fill` in the free
// places.
Tensor moved(const Tensor& t, int64_t by, const Tensor& fill) {
  Shape edge = t.raw_shape();
  const int last = t.rank() - 1;
  const int64_t n = length(t), some = by < 0 ? -by : by;
  edge[last] = some;
  Tensor nothing = fill.expand(edge);
  return by > 0 ? cat({nothing, t.slice(last, 0, n - some)}, last)
                : cat({t.slice(last, some, n), nothing}, last);
}

// Returns the product of the factors on one side of each: those before it for sign 1, those after
// it for -1.
Tensor one_side(const Tensor& x, const Tensor& group, int64_t sign) {
  Tensor one = full({}, 1, x.dtype()), none = full({}, -1, DType::kI64);
  auto from = [&](const Tensor& t, int64_t by) {
    Tensor there = moved(t, by, one);
    return group.defined() ? where(eq(moved(group, by, none), group), there, one) : there;
  };
  Tensor y = from(x, sign);
  // y[k] is the product of up to `reach` factors beside k: those of the place `reach` away follow.
  for (int64_t reach = 1; reach < length(x); reach *= 2) y = y * from(y, sign * reach);
  return y;
}

}  // namespace

Tensor product_of_others(const Tensor& x, const Tensor& group) {
  if (numel(x.raw_shape()) == 0) return x;
  return one_side(x, group, 1) * one_side(x, group, -1);
}

}  // namespace wick
