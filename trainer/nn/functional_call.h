// Calls of a module with other tensors in the places of its parameters and buffers, as
// torch.func.functional_call: for gradients of gradients (MAML), ensembles, weights that another
// net computes, and gradients of single samples (trainer/autograd/vmap.h).
//
//   NamedTensors fast;
//   for (size_t i = 0; i < g.size(); ++i) fast.emplace_back(names[i], weights[i] - 0.1 * g[i]);
//   Tensor loss = mse_loss(functional_call(net, fast, x), y);   // differentiable in `fast`
#pragma once

#include <concepts>

#include "trainer/nn/module.h"

namespace wick::nn {

// Gives a module other tensors while it lives: what functional_call() is made of.
class TensorSwap {
 public:
  // `tensors` are named as in named_parameters() and named_buffers(); what is not named keeps the
  // module's own. Throws Error, with the module as it was, that lists unknown names, wrong shapes,
  // and names of one tensor that are given two.
  TensorSwap(Module& module, const NamedTensors& tensors, const Where& where);
  // Puts the module's own tensors back.
  ~TensorSwap();
  TensorSwap(const TensorSwap&) = delete;
  TensorSwap& operator=(const TensorSwap&) = delete;
  // Called before the end if nothing was thrown: the given tensors get the history of what was
  // written into them in place. Throws Error for a leaf that requires grad.
  void finish();
  // Returns what the call returned, with a given tensor where that is the module's own, which
  // changes back.
  template <class R>
  R outside(R result) const {
    if constexpr (hook_forms::Holds<R>::value) {
      std::vector<Tensor> parts = hook_forms::tensors_of(result);
      for (Tensor& t : parts) t = given_for(t);
      size_t at = 0;
      wick::detail::refill(&result, parts, &at);
    }
    return result;
  }

 private:
  struct Kept;
  Tensor given_for(const Tensor& t) const;
  void keep(const Tensor& handle);
  void install(size_t i, const Tensor& from);
  void restore();

  Where where_;
  std::vector<Kept> kept_;
};

// Calls module(x, rest...) with these tensors. Gradients flow to them and not to the module's own;
// buffers that the call updates (running statistics) are written into the given ones. They may
// have other dtypes, but not other shapes. Where two names are one tensor of the module (tied
// weights), either name replaces both. When the call returns or throws, the module has its own
// tensors again. One call of a module at a time, as threads share its members; what is recomputed
// later (checkpoint()) sees the module's own tensors.
template <std::derived_from<Module> M, class... Rest>
auto functional_call(M& module, const NamedTensors& tensors, const Arg& x, const Rest&... rest) {
  TensorSwap swap(module, tensors, x.where);
  auto result = module(x, rest...);
  swap.finish();
  return swap.outside(std::move(result));
}
// The same for another entry of the module, f(): functional_call(lstm, weights, [&] { return
// lstm.with_state(x, h, c); }).
template <class F>
  requires std::invocable<F&>
auto functional_call(Module& module, const NamedTensors& tensors, F f,
                     Where where = Where::current()) {
  TensorSwap swap(module, tensors, where);
  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    f();
    swap.finish();
  } else {
    auto result = f();
    swap.finish();
    return swap.outside(std::move(result));
  }
}

}  // namespace wick::nn
