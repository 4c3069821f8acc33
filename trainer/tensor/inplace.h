// Writes into a tensor's own bytes. Every in-place function is implemented by one call of
// in_place().
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

// Sets target = f(target), in target's bytes. f must use its argument instead of target: tensors
// saved for the gradient then keep the bytes before the write.
//   const Tensor& relu_(const Arg& x) { return in_place("relu_", x, [](const Arg& a) { return
//   relu(a); }); }
// The result is broadcast to target's shape, which may not grow, and cast to its dtype if PyTorch
// allows that. In gradient mode the write is recorded: target takes the result's history, it begins
// to require grad if the result does, and a write through a view is scattered into its base. Throws
// Error for a leaf that requires grad and views of it, for expanded tensors (one element at several
// places), and for views taken under NoGrad.
const Tensor& in_place(const char* name, const Arg& target, const OperandFn& f);

// The same for a result that was computed without reading target (fill_, copy_, normal_ ...).
const Tensor& write_result(const char* name, const Arg& target, const Tensor& result);

// Makes those of the above checks that do not need the result.
void check_writable(const char* name, const Tensor& target, const Where& where);

}  // namespace wick
