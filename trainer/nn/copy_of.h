// Deep copies of modules, as copy.deepcopy() makes them in PyTorch. A module's members (a layer's
// `weight`, a Child, a shared_ptr to a block) are handles of what it registered, and C++ copies
// handles: a module copied member by member would train together with the first. So a copy is a
// second module, made the way the first was, which then takes over its values.
//
//   auto net2 = nn::copy_of(net, [] { return Net(64, 10); });   // a Net
//   auto net3 = nn::deepcopy(net);   // a std::shared_ptr<Net>, where Net() needs no arguments
#pragma once

#include <concepts>
#include <memory>
#include <typeinfo>

#include "trainer/nn/module.h"
#include "trainer/tensor/philox.h"

namespace wick::nn {

// Makes `to` a copy of `from`: what copy_of() does with the module that the factory made.
void copy_module(const Module& from, Module& to, Where where = Where::current());
// Throws the error of deepcopy() for a module of a derived class.
[[noreturn]] void not_of_class(const Module& module, const Where& where);

// Puts the default generator back when destroyed, so that initial weights that are overwritten draw
// no random numbers from it.
class KeepGenerator {
 public:
  KeepGenerator() : before_(default_generator()) {}
  ~KeepGenerator() { default_generator() = before_; }
  KeepGenerator(const KeepGenerator&) = delete;
  KeepGenerator& operator=(const KeepGenerator&) = delete;

 private:
  Generator before_;
};

// Returns what make() returns, a module or a pointer to one, as an independent copy of `module`:
// with bytes of its own for every parameter and buffer, their values, dtypes, devices and
// requires_grad, the mode of every module, and its hooks, which are given the copy. Hooks that a
// constructor registers are the copy's own. As in PyTorch, a parameter's .grad and tensor hooks are
// not copied, a buffer's .grad is. What is registered nowhere (numbers, flags, pointers) is as
// make() leaves it. Ties are kept: make() must tie what the module ties. What was done to the
// module after its constructor (parametrizations, pruned or replaced layers) make() must do, too.
// Throws Error that lists every module, name, shape and tie that differs, and tensors with a
// history. The default generator is not advanced.
template <class F>
auto copy_of(const Module& module, F make, Where where = Where::current()) {
  auto made = [&] {
    KeepGenerator keep;
    return make();
  }();
  if constexpr (std::derived_from<decltype(made), Module>) {
    copy_module(module, made, where);
  } else {
    if (made == nullptr) throw_error("copy_of", "the factory returned no module", where);
    copy_module(module, *made, where);
  }
  return made;
}
// The same of a class whose constructor needs no arguments.
template <std::derived_from<Module> M>
std::shared_ptr<M> deepcopy(const M& module, Where where = Where::current()) {
  static_assert(std::default_initializable<M>,
                "this module's constructor takes arguments: use copy_of(module, [&] { return "
                "M(arguments ...); })");
  if (typeid(module) != typeid(M)) not_of_class(module, where);
  return copy_of(
      module, [] { return std::make_shared<M>(); }, where);
}

}  // namespace wick::nn
