#include "trainer/optim/optimizer.h"

namespace wick::optim {

void Optimizer::zero_grad(bool set_to_none) {
  NoGrad guard;
  for (int group = 0; group < groups(); ++group) {
    for (const Tensor& p : group_params(group)) {
      if (!p.grad().defined()) continue;
      if (set_to_none) {
        p.set_grad(Tensor());
      } else {
        // A fresh tensor: the old gradient may be shared with a graph or with the user.
        p.set_grad(zeros_like(p));
      }
    }
  }
}

}  // namespace wick::optim
