#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {

Tensor matmul(const Arg& a, const Arg& b) { return call(OpId::kMatMul, NoAttrs{}, {a, b}); }

Tensor linear(const Arg& x, const Arg& weight, const Tensor& bias) {
  return call(OpId::kLinear, NoAttrs{}, {x, weight, {bias, x.where}});
}

}  // namespace wick
