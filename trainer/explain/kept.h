// What a measurement of a model must not change; not public.
#pragma once

#include <utility>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/tensor/philox.h"

namespace wick {

// Gradients (gone while it lives), buffers and the generator: put back at its end.
class Kept {
 public:
  explicit Kept(nn::Module& model) : generator_(default_generator()) {
    for (const Tensor& p : model.parameters()) {
      gradients_.emplace_back(p, p.grad());
      p.set_grad(Tensor());
    }
    for (const auto& [name, b] : model.named_buffers())
      buffers_.emplace_back(b, b.detach().clone());
  }
  ~Kept() {
    for (const auto& [p, g] : gradients_) p.set_grad(g);
    NoGrad guard;
    for (const auto& [b, old] : buffers_) b.copy_(old);
    default_generator() = generator_;
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  Generator generator_;
  std::vector<std::pair<Tensor, Tensor>> gradients_, buffers_;
};

}  // namespace wick
