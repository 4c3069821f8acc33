// Writing into a tensor's own bytes. Every in-place function is one line over in_place().
#pragma once

#include <type_traits>

#include "trainer/tensor/tensor.h"

namespace wick {

// A borrowed callable Tensor(const Arg&): valid during the call it is passed to.
class OperandFn {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, OperandFn>)
  OperandFn(const F& f)  // NOLINT: implicit by design
      : f_(&f), run_([](const void* p, const Arg& x) { return (*static_cast<const F*>(p))(x); }) {}
  Tensor operator()(const Arg& x) const { return run_(f_, x); }

 private:
  const void* f_;
  Tensor (*run_)(const void*, const Arg&);
};

// target = f(target), in target's bytes. Inside f use its argument in place of target: what a
// gradient keeps of it are the bytes before the write.
//   const Tensor& relu_(const Arg& x) { return in_place("relu_", x, [](const Arg& a) { return
//   relu(a); }); }
// The result is broadcast into target's shape, which may not grow, and cast to its dtype as PyTorch
// allows it. In gradient mode the write is recorded: target's history becomes the result's, a
// target that did not require grad starts to when the result does, and a write through a view is
// scattered into its base. Refused: a leaf that requires grad and views of it, expanded tensors
// (one element at several places), views taken under NoGrad.
const Tensor& in_place(const char* name, const Arg& target, const OperandFn& f);

// The same for a result that was made without reading target (fill_, copy_, normal_ ...).
const Tensor& write_result(const char* name, const Arg& target, const Tensor& result);

// The refusals above that can be told before the result is known.
void check_writable(const char* name, const Tensor& target, const Where& where);

}  // namespace wick
