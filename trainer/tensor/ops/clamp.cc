// clamp() and its aliases.
#include "trainer/tensor/ops/elementwise.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick {

using namespace pointwise;  // NOLINT: what these files share

Tensor clamp(const Arg& x, OptScalar min, OptScalar max) {
  need_defined("clamp", {x});
  if (!min && !max) throw_error("clamp", "needs a min, a max or both", x.where);
  if (is_bool(x)) refuse_bool("clamp", "bools have no bounds", x.where);
  Tensor v = x.tensor;
  for (const OptScalar& bound : {min, max}) {
    if (bound && !bound->integral) v = as_float({v, x.where});
  }
  // The op's bounds are doubles, so integers must be exact in double.
  auto fits = [](const OptScalar& bound) {
    return !bound ||
           (bound->int_value >= -(int64_t{1} << 53) && bound->int_value <= (int64_t{1} << 53));
  };
  if (v.dtype() == DType::kI64 && !(fits(min) && fits(max))) {
    Composite composite("clamp", x.where);
    if (min) v = wick::maximum(v, constant(v, *min));
    return max ? wick::minimum(v, constant(v, *max)) : v;
  }
  ClipAttrs a;
  if (min) a.min = min->value;
  if (max) a.max = max->value;
  return call(OpId::kClip, a, {{v, x.where}});
}
Tensor clamp(const Arg& x, const Tensor& min, const Tensor& max) {
  if (!min.defined() && !max.defined()) throw_error("clamp", "needs a min, a max or both", x.where);
  Composite composite("clamp", x.where);
  // At a bound the gradient goes to x; NaN, also as a bound, is kept.
  auto bounded = [&](const Tensor& at, const Tensor& bound, auto inside, auto of_bools) {
    auto [v, b] = promoted("clamp", {at, x.where}, {bound, x.where});
    if (v.dtype() == DType::kBool) return of_bools(v, b);
    Tensor keeps = inside(v, b);
    if (is_float(v.dtype())) keeps = logical_or(keeps, isnan(v));
    return where(keeps, v, b);
  };
  using Two = Tensor (*)(const Arg&, const Arg&);
  Tensor v = x.tensor;
  if (min.defined()) v = bounded(v, min, Two{ge}, Two{maximum});
  return max.defined() ? bounded(v, max, Two{le}, Two{minimum}) : v;
}
Tensor clip(const Arg& x, OptScalar min, OptScalar max) { return clamp(x, min, max); }
Tensor clamp_min(const Arg& x, Scalar min) { return clamp(x, min); }
Tensor clamp_max(const Arg& x, Scalar max) { return clamp(x, OptScalar(), max); }

}  // namespace wick
