#include "trainer/optim/device_step.h"

#include "trainer/tensor/ops.h"

namespace wick::optim {
namespace {

Tensor gradient(double sign, double decay, const Tensor& g, const Tensor& p) {
  const Tensor signed_g = sign == 1 ? g : neg(g);
  return decay == 0 ? signed_g : signed_g + p * decay;
}

}  // namespace

void no_device_step(const char* op, const Tensor& p) {
  const std::string of = p.name().empty() ? "a parameter" : "parameter '" + p.name() + "'";
  throw Error(std::string("[") + op + "] " + of + " is on " + p.device().to_string() +
                  ", where SGD, Adam and AdamW step: use one of them, or module.to(\"cpu\")",
              Code::kUnsupported);
}

void step_on_device(const SgdCoefficients& c, const Tensor& p, const Tensor& grad, Tensor* state) {
  const Tensor g = gradient(c.sign, c.weight_decay, grad, p);
  Tensor step = g;
  if (state[0].defined()) {
    if (c.first) {
      state[0].copy_(g);
    } else {
      state[0].mul_(c.momentum).add_(g, c.keep);
    }
    step = c.nesterov ? g + state[0] * c.momentum : state[0];
  }
  p.sub_(step, c.lr);
}

void step_on_device(const AdamCoefficients& c, const Tensor& p, const Tensor& grad, Tensor* state) {
  if (c.shrink != 1) p.mul_(c.shrink);
  const Tensor g = gradient(c.sign, c.weight_decay, grad, p);
  state[0].mul_(c.beta1).add_(g, 1 - c.beta1);
  state[1].mul_(c.beta2).add_(g * g, 1 - c.beta2);
  Tensor second = state[1];
  if (state[2].defined()) second = state[2].copy_(maximum(state[2], second));
  p.sub_(state[0] / (sqrt(second) / c.root2 + c.eps), c.rate);
}

}  // namespace wick::optim
