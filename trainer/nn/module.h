// nn::Module: a tree of modules, their parameters and buffers, under PyTorch's state_dict names.
//
//   struct Net : nn::Module {
//     nn::Child<nn::Linear> fc1{this, "fc1", 784, 128};
//     nn::Child<nn::Linear> fc2{this, "fc2", 128, 10};
//     Tensor forward(const Arg& x) override { return fc2(relu(fc1(x))); }
//   };
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/nn/hook_forms.h"
#include "trainer/tensor/tensor.h"

namespace wick {
// Tells this thread's recorder (trainer/tensor/recorder.h), if there is one, that a flag is read.
void note_flag_read(const bool* flag);
}  // namespace wick

namespace wick::nn {

// Tensors by name, in order: the state dict of a module.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The result of load_state_dict: PyTorch's missing_keys and unexpected_keys, here `missing` and
// `unexpected`.
struct Mismatch {
  std::vector<std::string> missing, unexpected;
  bool empty() const { return missing.empty() && unexpected.empty(); }  // neither was found
};

// The base of layers and models: torch.nn.Module. A derived class registers its parameters, buffers
// and children (Child) in its constructor and overrides forward(), or defines an operator() with
// other arguments. A module can be moved; copy_of() (trainer/nn/copy_of.h) makes a copy.
class Module {
 public:
  Module() = default;
  Module(Module&& o) noexcept;
  Module& operator=(Module&& o) noexcept;
  virtual ~Module();

  // Runs forward, with this module's name pushed on the thread's module path.
  Tensor operator()(const Arg& x) {
    if (hooks_) return call_with_hooks(x);
    ModuleScope scope(name_);
    return forward(x);
  }
  virtual Tensor forward(const Arg& x);
  // For an operator() of other arguments, or another entry such as LSTM's with_state(): runs
  // f(inputs...) as operator()(x) runs forward, with the module's name, its computed parameters and
  // its hooks. The hooks' list of inputs has the tensors among the arguments, in order and up to
  // the last that is defined; what a pre-hook returns is what f gets. The outputs are the tensors
  // of the result: a Tensor, a pair, tuple, vector or optional of them, or a struct of Wick's
  // layers.
  //
  //   Tensor operator()(const Arg& x, const Tensor& h) {
  //     return hooked([this](const auto&... in) { return forward(in...); }, x, h);
  //   }
  template <class F, class... In>
  std::invoke_result_t<F&, const In&...> hooked(F f, const In&... inputs);
  // The same without hooks, for what is no call of the module: `ModuleScope scope = enter();`
  // pushes the name and recomputes the computed parameters.
  [[nodiscard]] ModuleScope enter() {
    if (hooks_) refresh();
    return ModuleScope(name_);
  }

  // Returns the name in repr(), "Linear"; by default that of the class.
  virtual const char* kind() const;
  // Returns the text in parentheses in repr(): "in_features=784, out_features=128, bias=True".
  virtual std::string extra_repr() const;
  // Returns the tree with one module per line, as PyTorch prints it.
  std::string repr() const;

  // Hooks run in order of registration, at every call by operator() (and hooked()). A hook sees the
  // input as a `const Tensor&`, the first tensor of the call, or as a `const std::vector<Tensor>&`,
  // all of them; outputs and gradients likewise. It may return nothing, a Tensor, which replaces
  // the first, or a vector, which replaces all (as many as there are); undefined or empty replaces
  // nothing.
  // f(module, input) runs before forward; what it returns replaces the input.
  template <class F>
  HookHandle register_forward_pre_hook(F f) {
    return add_pre_hook(hook_forms::pre_hook(std::move(f)));
  }
  // f(module, input, output) runs after forward; what it returns replaces the output.
  template <class F>
  HookHandle register_forward_hook(F f) {
    return add_forward_hook(hook_forms::call_hook<true>(std::move(f)));
  }
  // f(module, grad_input, grad_output) runs in backward when the gradients of all inputs are known;
  // one is undefined where the input needs none or none arrived. What it returns replaces
  // grad_input. If no input needs a gradient, it runs when those of the outputs are known, and must
  // return nothing. The module must still exist then (it may have been moved): otherwise backward
  // is an error.
  template <class F>
  HookHandle register_full_backward_hook(F f) {
    return add_backward_hook(hook_forms::call_hook<false>(std::move(f)));
  }

  // Only parameters, depth first, in the order of registration. A parameter shared by two modules
  // is listed once, under its first name.
  std::vector<Tensor> parameters(bool recurse = true) const;
  NamedTensors named_parameters(const std::string& prefix = "", bool recurse = true) const;
  // The same of buffers: tensors that are saved and moved, but not trained.
  std::vector<Tensor> buffers(bool recurse = true) const;
  NamedTensors named_buffers(const std::string& prefix = "", bool recurse = true) const;
  // Parameters, then persistent buffers, of each module before its children: PyTorch's order and
  // names. A shared tensor is listed under all its names.
  NamedTensors state_dict() const;
  // Copies the values. Missing and unexpected names and wrong shapes are reported in one Error, and
  // then nothing is copied. strict = false: missing and unexpected names are allowed, and returned;
  // wrong shapes are still an Error.
  Mismatch load_state_dict(const NamedTensors& state, Where where = Where::current());
  Mismatch load_state_dict(const NamedTensors& state, bool strict, Where where = Where::current());

  // This module ("") and its descendants, each before its children.
  std::vector<std::pair<std::string, Module*>> named_modules(const std::string& prefix = "");
  std::vector<Module*> modules();
  // Look up a dotted path, "layer1.0.conv1"; "" is this module. An unknown path is an Error that
  // lists the existing ones.
  Module& get_submodule(const std::string& path, Where where = Where::current());
  Tensor get_parameter(const std::string& path, Where where = Where::current());
  Tensor get_buffer(const std::string& path, Where where = Where::current());
  // Calls f(module) for every descendant, children before parents, and last for this module.
  void apply(const std::function<void(Module&)>& f);

  // Sets the mode: dropout and batch norm, for example, differ in training and eval mode.
  void train(bool on = true);
  // Sets the eval mode: train(false).
  void eval() { train(false); }
  // Returns whether the module is in training mode.
  bool training() const {
    note_flag_read(&training_);
    return training_;
  }
  // Removes the gradients, or (set_to_none = false) sets existing ones to zero.
  void zero_grad(bool set_to_none = true);
  void to(DType dtype);  // converts floating-point parameters, their gradients, and buffers
  // Moves parameters, their gradients, and buffers to a device.
  void to(const Device& device, Where where = Where::current());
  // Sets it for all parameters.
  void requires_grad_(bool on = true);
  // Sets it for the parameters whose names begin with `prefix` ("features."); returns their number.
  // Throws Error if there are none.
  size_t requires_grad_(const std::string& prefix, bool on, Where where = Where::current());

  // Return the name that the parent gave, and the children with their names.
  const std::string& name() const { return name_; }
  const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& children() const {
    return children_;
  }
  // Registers a child under a name. An empty name, a name with a dot or one that is taken throws
  // Error; so does a module that has a parent.
  void register_module(const std::string& name, std::shared_ptr<Module> module);
  // Replaces the child at `path` by `module`, in the same mode, and returns the old one. Calls of
  // the old one by a Child member or a shared_ptr reach the new one as long as the parent lives.
  // The new one itself may call the old one, and may have it as its child: then use `wrap`, which
  // is given the old one. Members of the old one ("fc->weight") remain its own.
  std::shared_ptr<Module> replace_module(const std::string& path, std::shared_ptr<Module> module,
                                         Where where = Where::current());
  std::shared_ptr<Module> replace_module(
      const std::string& path,
      const std::function<std::shared_ptr<Module>(const std::shared_ptr<Module>&)>& wrap,
      Where where = Where::current());
  // Removes a child and returns it. Throws Error if there is none of that name.
  std::shared_ptr<Module> unregister_module(const std::string& name,
                                            Where where = Where::current());

  // Both return the handle to keep as a member. An undefined tensor registers nothing (bias =
  // false). A buffer that is not persistent is not in state_dict().
  Tensor register_parameter(const std::string& name, const Tensor& value);
  Tensor register_buffer(const std::string& name, const Tensor& value, bool persistent = true);
  // Removes the tensor from the parameters or buffers. Its handle, which is returned, stays valid.
  Tensor unregister(const std::string& name, Where where = Where::current());

  // Makes the parameter `name` a computed one: it is not registered any more, and every handle of
  // it, also the layer's member, gets the value f(module) before each forward, so that gradients
  // flow to the tensors that f reads. f must return the parameter's shape and dtype. The former
  // parameter is returned as a new leaf on the same bytes, to be registered under another name and
  // read by f. Gradients go to that leaf: an optimizer made before only knows the old handle. Only
  // one forward of the module may run at a time, as threads would share the handle.
  Tensor compute_parameter(const std::string& name, std::function<Tensor(Module&)> f,
                           Where where = Where::current());
  // Reverses this: makes it a parameter again, last in order, on the bytes of `value`; it requires
  // grad if `value` does.
  void restore_parameter(const std::string& name, const Tensor& value,
                         Where where = Where::current());
  // Returns whether the parameter is computed.
  bool is_computed(const std::string& name) const;
  // Returns the handle of this module's parameter or buffer, registered or computed; undefined if
  // there is none.
  Tensor find_tensor(const std::string& name) const;
  // Recomputes the computed parameters. Done before each forward.
  void refresh();

 protected:
  // Removes all parameters, buffers and children, so that others can be registered. Name, mode and
  // hooks are kept.
  void forget_registered();

 private:
  friend class TensorSwap;  // functional_call.h
  friend class ModuleCopy;  // copy_of.h
  struct Hooks;
  Hooks& hooks();
  HookHandle add_pre_hook(hook_forms::PreHook f);
  HookHandle add_forward_hook(hook_forms::CallHook f);
  HookHandle add_backward_hook(hook_forms::CallHook f);
  Tensor call_with_hooks(const Arg& x);
  // Runs `body` on the inputs, with hooks before, behind and in backward; returns the outputs.
  std::vector<Tensor> run_hooked(
      std::vector<Tensor> in, const Where& where,
      const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body);
  void stand_in(const std::string& name, const std::shared_ptr<Module>& old,
                const std::shared_ptr<Module>& now);
  void check_name(const std::string& name) const;
  void list_modules(const std::string& prefix,
                    std::vector<std::pair<std::string, const Module*>>& all) const;
  void repr_to(std::string& out, size_t indent) const;

  std::string name_;  // set by the parent
  bool training_ = true;
  std::shared_ptr<Hooks> hooks_;  // null: nothing was ever registered
  NamedTensors parameters_, buffers_;
  std::vector<std::string> transient_;  // buffers that are not saved
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
};

template <class F, class... In>
std::invoke_result_t<F&, const In&...> Module::hooked(F f, const In&... inputs) {
  using Result = std::invoke_result_t<F&, const In&...>;
  if (!hooks_) {
    ModuleScope scope(name_);
    return f(inputs...);
  }
  std::tuple<hook_forms::Held<In>...> held{hook_forms::Held<In>(inputs)...};
  std::vector<Tensor> given;
  std::apply([&](const auto&... each) { (each.list(&given), ...); }, held);
  const size_t tensors = given.size();
  while (given.size() > 1 && !given.back().defined()) given.pop_back();
  std::optional<Result> result;
  const std::vector<Tensor> out =
      run_hooked(std::move(given), hook_forms::line_of(inputs...), [&](std::vector<Tensor> now) {
        now.resize(tensors);
        size_t at = 0;
        std::apply([&](auto&... each) { (each.take(now, &at), ...); }, held);
        std::apply([&](const auto&... each) { result.emplace(f(each.get()...)); }, held);
        return hook_forms::tensors_of(*result);
      });
  if constexpr (hook_forms::Holds<Result>::value) {
    size_t at = 0;
    wick::detail::refill(&*result, out, &at);
  }
  return std::move(*result);
}

namespace child_arguments {
// M::Options and M::Kernel: the types of a layer's last arguments, which are often written in
// braces. A layer without them has a type here that no argument converts to.
struct NoArgument {
  NoArgument() = delete;
};
template <class M, class = void>
struct OptionsOf {
  using type = NoArgument;
};
template <class M>
struct OptionsOf<M, std::void_t<typename M::Options>> {
  using type = typename M::Options;
};
template <class M, class = void>
struct KernelOf {
  using type = NoArgument;
};
template <class M>
struct KernelOf<M, std::void_t<typename M::Kernel>> {
  using type = typename M::Kernel;
};
}  // namespace child_arguments

// A submodule as a member. It registers itself with the parent, so that its name is written only
// once. The other arguments are the layer's own, options in braces among them:
// Child<Conv2d> conv{this, "conv", 3, 32, 3, {.stride = 2}}.
template <class M>
class Child {
 public:
  using Options = typename child_arguments::OptionsOf<M>::type;  // of the layer's last argument
  using Kernel = typename child_arguments::KernelOf<M>::type;    // of its kernel_size
  template <class... Args>
  Child(Module* parent, const std::string& name, Args&&... args)
      : module_(std::make_shared<M>(std::forward<Args>(args)...)) {
    parent->register_module(name, module_);
  }
  // Braces have no type that a template could take.
  Child(Module* parent, const std::string& name, const Options& options)
      : Child(parent, name, std::make_shared<M>(options)) {}
  Child(Module* parent, const std::string& name, int64_t size, const Options& options)
      : Child(parent, name, std::make_shared<M>(size, options)) {}
  Child(Module* parent, const std::string& name, int64_t in, int64_t out, const Options& options)
      : Child(parent, name, std::make_shared<M>(in, out, options)) {}
  Child(Module* parent, const std::string& name, int64_t in, int64_t out, Kernel kernel,
        const Options& options)
      : Child(parent, name, std::make_shared<M>(in, out, kernel, options)) {}
  Tensor operator()(const Arg& x) const { return (*module_)(x); }
  // For modules that take more arguments: cell(x, h).
  template <class... Rest>
    requires(sizeof...(Rest) > 0)
  auto operator()(const Arg& x, Rest&&... rest) const
      -> std::invoke_result_t<M&, const Arg&, Rest...> {
    return (*module_)(x, std::forward<Rest>(rest)...);
  }
  M* operator->() const { return module_.get(); }
  M& operator*() const { return *module_; }

 private:
  Child(Module* parent, const std::string& name, std::shared_ptr<M> module)
      : module_(std::move(module)) {
    parent->register_module(name, module_);
  }

  std::shared_ptr<M> module_;
};

std::ostream& operator<<(std::ostream& out, const Module& module);  // repr()

}  // namespace wick::nn
