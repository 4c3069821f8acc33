#include "trainer/nn/dropout.h"

#include "trainer/nn/extra_repr.h"
#include "trainer/tensor/ops/nn.h"
#include "trainer/tensor/ops/random/random_mask.h"

namespace wick::nn {

DropoutBase::DropoutBase(const char* kind, double p) : p_(p) {
  if (p >= 0 && p <= 1) return;
  throw Error(std::string("[") + kind + "] p must be in [0, 1], got " + repr_float(p));
}
std::string DropoutBase::extra_repr() const { return "p=" + repr_float(p_) + ", inplace=False"; }

Tensor Dropout::forward(const Arg& x) { return dropout(x, p(), training()); }
Tensor Dropout1d::forward(const Arg& x) { return dropout1d(x, p(), training()); }
Tensor Dropout2d::forward(const Arg& x) { return dropout2d(x, p(), training()); }
Tensor Dropout3d::forward(const Arg& x) { return dropout3d(x, p(), training()); }
Tensor AlphaDropout::forward(const Arg& x) { return alpha_dropout(x, p(), training()); }
Tensor FeatureAlphaDropout::forward(const Arg& x) {
  return feature_alpha_dropout(x, p(), training());
}

}  // namespace wick::nn
