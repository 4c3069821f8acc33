// nn::Module: a tree of modules, their parameters and buffers, under PyTorch's state_dict names.
//
//   struct Net : nn::Module {
//     nn::Child<nn::Linear> fc1{this, "fc1", 784, 128};
//     nn::Child<nn::Linear> fc2{this, "fc2", 128, 10};
//     Tensor forward(const Arg& x) override { return fc2(relu(fc1(x))); }
//   };
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

class Module {
 public:
  Module() = default;
  Module(Module&& o) noexcept;
  Module& operator=(Module&& o) noexcept;
  virtual ~Module();

  // Runs forward with this module's name pushed on the thread's module path.
  Tensor operator()(const Arg& x) {
    ModuleScope scope(name_);
    return hooks_ ? call_with_hooks(x) : forward(x);
  }
  virtual Tensor forward(const Arg& x);

  // Hooks run in order of registration; one that returns a defined tensor replaces the value. Their
  // functions may return nothing.
  // f(module, input), before forward.
  template <class F>
  HookHandle register_forward_pre_hook(F f) {
    return add_pre_hook(returning_tensor<F, Module&, const Tensor&>(std::move(f)));
  }
  // f(module, input, output), after forward.
  template <class F>
  HookHandle register_forward_hook(F f) {
    return add_forward_hook(
        returning_tensor<F, Module&, const Tensor&, const Tensor&>(std::move(f)));
  }
  // f(module, grad_input, grad_output), in backward once the gradient of the input is known;
  // grad_input is undefined where the input needs none. Returns a new grad_input, or nothing. The
  // module must live until then, moved or not: else backward is an error.
  template <class F>
  HookHandle register_full_backward_hook(F f) {
    return add_backward_hook(
        returning_tensor<F, Module&, const Tensor&, const Tensor&>(std::move(f)));
  }

  // Parameters only, depth first in the order of registration.
  std::vector<Tensor> parameters() const;
  NamedTensors named_parameters() const;
  NamedTensors named_buffers() const;
  // Parameters, then buffers, of each module before its children: PyTorch's order and names.
  NamedTensors state_dict() const;
  // Copies values in. Missing and unexpected names and wrong shapes are reported all at once.
  void load_state_dict(const NamedTensors& state, Where where = Where::current());

  // Dropout and batch norm behave differently in the two modes.
  void train(bool on = true);
  void eval() { train(false); }
  bool training() const { return training_; }
  void zero_grad();
  void to(DType dtype);  // floating-point parameters and buffers
  void requires_grad_(bool on = true);
  // Of the parameters whose names begin with `prefix`, "features.": how many there are. None is an
  // Error.
  size_t requires_grad_(const std::string& prefix, bool on, Where where = Where::current());

  const std::string& name() const { return name_; }
  const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& children() const {
    return children_;
  }
  void register_module(const std::string& name, std::shared_ptr<Module> module);

 protected:
  // Both return the handle to keep as a member. An undefined tensor registers nothing (bias =
  // false).
  Tensor register_parameter(const std::string& name, const Tensor& value);
  Tensor register_buffer(const std::string& name, const Tensor& value);
  // Parameters, buffers and children, so that others can be registered. Name, mode and hooks stay.
  void forget_registered();

 private:
  struct Hooks;
  template <class F, class... Args>
  static std::function<Tensor(Args...)> returning_tensor(F f) {
    if constexpr (std::is_void_v<std::invoke_result_t<F, Args...>>) {
      return [f = std::move(f)](Args... args) {
        f(args...);
        return Tensor();
      };
    } else {
      return f;
    }
  }
  Hooks& hooks();
  HookHandle add_pre_hook(std::function<Tensor(Module&, const Tensor&)> f);
  HookHandle add_forward_hook(std::function<Tensor(Module&, const Tensor&, const Tensor&)> f);
  HookHandle add_backward_hook(std::function<Tensor(Module&, const Tensor&, const Tensor&)> f);
  Tensor call_with_hooks(const Arg& x);
  void check_name(const std::string& name) const;
  template <class F>
  void visit(const std::string& prefix, const F& f) const;

  std::string name_;  // given by the parent
  bool training_ = true;
  std::shared_ptr<Hooks> hooks_;  // null: none was ever registered
  NamedTensors parameters_, buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
};

// A submodule as a member: registers itself with the parent, so that its name is written once.
template <class M>
class Child {
 public:
  template <class... Args>
  Child(Module* parent, const std::string& name, Args&&... args)
      : module_(std::make_shared<M>(std::forward<Args>(args)...)) {
    parent->register_module(name, module_);
  }
  Tensor operator()(const Arg& x) const { return (*module_)(x); }
  M* operator->() const { return module_.get(); }
  M& operator*() const { return *module_; }

 private:
  std::shared_ptr<M> module_;
};

}  // namespace wick::nn
