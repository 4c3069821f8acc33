// Functions with a user-defined gradient:
//
//   struct MyRelu : Function<MyRelu> {
//     static Tensor forward(AutogradContext& ctx, const Tensor& x, double slope) {
//       ctx.save_for_backward({x});
//       ctx.saved_data["slope"] = slope;
//       return where(gt(x, 0), x, x * slope);
//     }
//     static variable_list backward(AutogradContext& ctx, const variable_list& g) {
//       Tensor x = ctx.get_saved_variables()[0];
//       double slope = std::any_cast<double>(ctx.saved_data["slope"]);
//       return {where(gt(x, 0), g[0], g[0] * slope), Tensor()};
//     }
//   };
//   Tensor y = MyRelu::apply(x, 0.1);
//
// forward is not recorded (a capture sees its ops). backward takes the gradient of each output and
// returns one for each argument of forward, undefined for arguments that are not tensors. If it is
// made of ops it is differentiable itself, to any order and in forward mode.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

// The tensors of a Function's forward and backward, as in PyTorch's C++ API.
using variable_list = std::vector<Tensor>;
class FunctionNode;

// Passes data from forward to backward, like PyTorch's ctx.
class AutogradContext {
 public:
  // Saves tensors with their versions: a later in-place write to one of them is an error in
  // backward. They may be inputs, outputs and intermediate values.
  void save_for_backward(variable_list tensors) { to_save_ = std::move(tensors); }
  // Returns the saved tensors, in order. Throws Error if one was written to since.
  variable_list get_saved_variables() const;
  std::map<std::string, std::any> saved_data;  // data that is not a tensor

  // Marks outputs that never require grad (those of integer dtypes do not anyway).
  void mark_non_differentiable(const variable_list& outputs) { non_differentiable_ = outputs; }
  // Marks inputs that forward wrote in place and returns.
  void mark_dirty(const variable_list& inputs) { dirty_ = inputs; }
  // Sets whether the gradient of an output that none flowed into is passed as zeros (true, the
  // default) or undefined.
  void set_materialize_grads(bool on) { materialize_ = on; }
  // In backward: returns whether the gradient of argument i of forward is needed.
  bool needs_input_grad(size_t argument) const;

 private:
  friend class FunctionNode;
  friend struct FunctionCall;
  variable_list to_save_, non_differentiable_, dirty_;
  bool materialize_ = true;
  const FunctionNode* node_ = nullptr;
};

// The type-erased half of Function::apply; internal.
struct FunctionCall {
  // The function's name, whether its backward may be differentiated again, and that backward.
  std::string name;
  bool once_differentiable = false;
  std::function<variable_list(AutogradContext&, const variable_list&)> backward;
  // For each tensor among forward's arguments: the tensor, and the index of its argument.
  variable_list inputs;
  std::vector<size_t> argument_of;
  size_t arguments = 0;  // of forward
  Where where;           // the caller's line

  // Count an argument of forward; tensors among them are recorded. run() calls forward and records
  // the node.
  void add(const Tensor& t);
  void add(const Arg& t) { add(t.tensor); }
  void add(const variable_list& list);
  template <class T>
  void add(const T&) {
    ++arguments;
  }
  variable_list run(const std::function<variable_list(AutogradContext&)>& forward);
};

// Returns the type's name with "Backward" appended: "MyReluBackward".
std::string function_name(const std::type_info& type);

// The base of a function with a backward of your own, T: torch.autograd.Function. T has static
// forward(AutogradContext&, ...) and backward(AutogradContext&, variable_list).
template <class T>
class Function {
 public:
  // The first argument is a tensor, or a list of them. Errors name the line where it was passed.
  template <class... Args>
  static auto apply(const Arg& first, Args&&... rest) {
    return run(first.where, first.tensor, std::forward<Args>(rest)...);
  }
  template <class... Args>
  static auto apply(const variable_list& first, Args&&... rest) {
    return run(Where::current(), first, std::forward<Args>(rest)...);
  }

 private:
  template <class... Args>
  static auto run(const Where& where, const Args&... args) {
    using Result = decltype(T::forward(std::declval<AutogradContext&>(), args...));
    FunctionCall call;
    call.name = function_name(typeid(T));
    if constexpr (requires { T::once_differentiable; }) {
      call.once_differentiable = T::once_differentiable;
    }
    call.backward = [](AutogradContext& c, const variable_list& g) { return T::backward(c, g); };
    call.where = where;
    (call.add(args), ...);
    variable_list out = call.run([&](AutogradContext& ctx) -> variable_list {
      if constexpr (std::is_same_v<Result, Tensor>) {
        return {T::forward(ctx, args...)};
      } else {
        return T::forward(ctx, args...);
      }
    });
    if constexpr (std::is_same_v<Result, Tensor>) {
      return Tensor(out[0]);
    } else {
      return out;
    }
  }
};

// -- straight-through estimators: the value of one tensor with the gradient of another
// Returns `value` (x's shape and dtype) and passes the gradient to x unchanged.
Tensor straight_through(const Arg& value, const Arg& x);
// round() and sign() with the gradient of x; round() takes half to even.
Tensor round_ste(const Arg& x);  // half to even
Tensor sign_ste(const Arg& x);

}  // namespace wick
