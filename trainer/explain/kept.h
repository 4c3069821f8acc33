// Saves and restores the state of a model that a measurement must not change; not public.
#pragma once

#include <utility>
#include <vector>

#include "trainer/autograd/sparse_slot.h"
#include "trainer/nn/module.h"
#include "trainer/tensor/philox.h"

namespace wick {

// Removes the gradients while it lives, and restores them, the buffers and the generator at its
// end.
class Kept {
 public:
  explicit Kept(nn::Module& model) : generator_(default_generator()) {
    for (const Tensor& p : model.parameters()) {
      gradients_.emplace_back(p, any_grad(p));
      p.set_grad(Tensor());
    }
    for (const auto& [name, b] : model.named_buffers())
      buffers_.emplace_back(b, b.detach().clone());
  }
  ~Kept() {
    for (const auto& [p, g] : gradients_) set_any_grad(p, g);
    NoGrad guard;
    for (const auto& [b, old] : buffers_) b.copy_(old);
    default_generator() = generator_;
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  Generator generator_;
  std::vector<std::pair<Tensor, AnyGrad>> gradients_;
  std::vector<std::pair<Tensor, Tensor>> buffers_;
};

}  // namespace wick
