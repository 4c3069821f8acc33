// The forms that a hook of a module may have, brought to one: lists of tensors, and a list that
// replaces one of them (empty: nothing is replaced). And the tensors among the arguments of a call.
// Internal to nn::Module.
#pragma once

#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/tensor/tensor_tree.h"

namespace wick::nn {

class Module;

namespace hook_forms {

using TensorList = std::vector<Tensor>;
using PreHook = std::function<TensorList(Module&, const TensorList&)>;
using CallHook = std::function<TensorList(Module&, const TensorList&, const TensorList&)>;

inline Tensor first_of(const TensorList& list) { return list.empty() ? Tensor() : list[0]; }

// Calls a hook and returns what replaces `list`: of a Tensor that it returns, the list with that
// one first.
template <class F, class... Args>
TensorList answer(const TensorList& list, F& f, Args&... args) {
  using Result = std::invoke_result_t<F&, Args&...>;
  if constexpr (std::is_void_v<Result>) {
    f(args...);
    return {};
  } else if constexpr (std::is_convertible_v<Result, TensorList>) {
    return f(args...);
  } else {
    const Tensor one = f(args...);
    if (!one.defined()) return {};
    TensorList all = list;
    if (all.empty()) all.emplace_back();
    all[0] = one;
    return all;
  }
}

// f(module, input), where the input is the first tensor of the call, or the list of all.
template <class F>
PreHook pre_hook(F f) {
  return [f = std::move(f)](Module& m, const TensorList& in) mutable -> TensorList {
    if constexpr (std::is_invocable_v<F&, Module&, const Tensor&>) {
      const Tensor x = first_of(in);
      return answer(in, f, m, x);
    } else {
      static_assert(std::is_invocable_v<F&, Module&, const TensorList&>,
                    "a forward pre-hook takes (nn::Module&, const Tensor&) or (nn::Module&, const "
                    "std::vector<Tensor>&)");
      return answer(in, f, m, in);
    }
  };
}

// f(module, a, b), each a tensor or a list. What it returns replaces b if `kSecond`, else a.
template <bool kSecond, class F>
CallHook call_hook(F f) {
  return [f = std::move(f)](Module& m, const TensorList& a,
                            const TensorList& b) mutable -> TensorList {
    const TensorList& changed = kSecond ? b : a;
    [[maybe_unused]] const Tensor x = first_of(a), y = first_of(b);
    if constexpr (std::is_invocable_v<F&, Module&, const Tensor&, const Tensor&>) {
      return answer(changed, f, m, x, y);
    } else if constexpr (std::is_invocable_v<F&, Module&, const TensorList&, const TensorList&>) {
      return answer(changed, f, m, a, b);
    } else if constexpr (std::is_invocable_v<F&, Module&, const TensorList&, const Tensor&>) {
      return answer(changed, f, m, a, y);
    } else {
      static_assert(std::is_invocable_v<F&, Module&, const Tensor&, const TensorList&>,
                    "a hook of a call takes (nn::Module&, a, b), each a const Tensor& or a const "
                    "std::vector<Tensor>&");
      return answer(changed, f, m, x, b);
    }
  };
}

// Says whether values of a type consist of tensors: a Tensor, an Arg, a struct that layers return,
// and lists of these.
template <class T>
struct Holds : std::bool_constant<std::is_base_of_v<Tensor, T> || std::is_same_v<T, Arg> ||
                                  wick::detail::HasParts<T>> {};
template <class T>
struct Holds<std::vector<T>> : Holds<T> {};
template <class T>
struct Holds<std::optional<T>> : Holds<T> {};
template <class A, class B>
struct Holds<std::pair<A, B>> : std::conjunction<Holds<A>, Holds<B>> {};
template <class... T>
struct Holds<std::tuple<T...>> : std::conjunction<Holds<T>...> {};

// An argument of a call, kept until the call runs with what the hooks made of its tensors.
template <class T>
struct Held {
  explicit Held(const T& v) : value(v) {}
  void list(TensorList* all) const {
    if constexpr (Holds<T>::value) wick::detail::flatten(value, all);
  }
  void take([[maybe_unused]] const TensorList& from, [[maybe_unused]] size_t* at) {
    if constexpr (Holds<T>::value) wick::detail::refill(&value, from, at);
  }
  const T& get() const { return value; }
  T value;
};
template <>
struct Held<Arg> {
  explicit Held(const Arg& x) : value(x.tensor), where(x.where) {}
  void list(TensorList* all) const { all->push_back(value); }
  void take(const TensorList& from, size_t* at) { value = from[(*at)++]; }
  Arg get() const { return {value, where}; }
  Tensor value;
  Where where;
};

template <class T>
TensorList tensors_of(const T& value) {
  TensorList all;
  Held<T>(value).list(&all);
  return all;
}

// Returns the caller's line, which the first Arg knows, or a Where among the arguments.
template <class T, class... Rest>
Where line_of(const T& first, const Rest&... rest) {
  if constexpr (std::is_same_v<T, Arg>) {
    return first.where;
  } else if constexpr (std::is_same_v<T, Where>) {
    return first;
  } else if constexpr (sizeof...(Rest) > 0) {
    return line_of(rest...);
  } else {
    return Where();
  }
}

}  // namespace hook_forms
}  // namespace wick::nn
