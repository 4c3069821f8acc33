// Control flow that depends on data: branches, loops with a condition, loops over a dimension.
// Names are PyTorch's (torch.cond, torch.while_loop, and scan from its higher-order ops).
//
//   Tensor y = cond(x.sum() > 0, [](const Tensor& x) { return x * 2; },
//                   [](const Tensor& x) { return -x; }, {x});
//   auto [i, z] = while_loop([](const Tensor& i, const Tensor& z) { return i < 10; },
//                            [](const Tensor& i, const Tensor& z) { return std::tuple(i + 1, z *
//                            z); }, std::tuple(i0, z0));
//   auto [h, all] = scan([&](const Tensor& h, const Tensor& x_t) {
//                     Tensor next = tanh(linear(x_t, w) + linear(h, u));
//                     return std::pair(next, next);
//                   }, zeros({x.size(0), 32}), x, /*dim=*/1);
//
// In eager mode the functions run like an `if` or a `for`, and autograd records the ops that ran.
// Under capture() each function is run once and becomes a region of an If or Loop of the graph,
// which then decides by its own data and makes as many trips as its own sizes require.
//
// A function may read any tensor around it and call modules. It returns its results: an in-place
// write to one of its arguments is an error, and under capture also a write to any other tensor
// from outside. The returned tensors never share bytes with the arguments.
#pragma once

#include <functional>

#include "trainer/tensor/tensor_tree.h"

namespace wick {

// The arguments of a function: {x, y}, or a std::vector<Tensor>.
class Operands {
 public:
  Operands() = default;
  Operands(std::initializer_list<Arg> each) {  // NOLINT(google-explicit-constructor)
    for (const Arg& a : each) tensors_.push_back(a.tensor);
  }
  Operands(std::vector<Tensor> all)  // NOLINT(google-explicit-constructor)
      : tensors_(std::move(all)) {}
  // Returns the tensors, in order.
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

namespace detail {

[[noreturn]] void wrong_operands(const char* what, size_t takes, size_t given, const Where& where);

// The type that F returns for a list of tensors; F takes that many tensors, or the list.
template <class F>
constexpr auto call_type() {
  constexpr size_t n = arity<F>();
  if constexpr (n != kNoArity) {
    return std::type_identity<typename CallType<F, std::make_index_sequence<n>>::Type>();
  } else {
    static_assert(std::is_invocable_v<F&, const std::vector<Tensor>&>,
                  "the function takes tensors, up to 16, or a std::vector<Tensor>");
    return std::type_identity<std::invoke_result_t<F&, const std::vector<Tensor>&>>();
  }
}
template <class F>
using ResultOf = Plain<typename decltype(call_type<std::remove_reference_t<F>>())::type>;

// `what` names the function in errors: "cond: then_fn".
template <class F>
ResultOf<F> call_with(F& f, const std::vector<Tensor>& in, const char* what, const Where& where) {
  constexpr size_t n = arity<F>();
  if constexpr (n != kNoArity) {
    if (in.size() != n) wrong_operands(what, n, in.size(), where);
    return [&]<size_t... I>(std::index_sequence<I...>) -> ResultOf<F> {
      return f(in[I]...);
    }(std::make_index_sequence<n>());
  } else {
    return f(in);
  }
}

using TensorsOf = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::vector<Tensor> run_cond(const Arg& pred, const TensorsOf& then_fn, const TensorsOf& else_fn,
                             const std::vector<Tensor>& operands);
std::vector<Tensor> run_while(const std::function<Tensor(const std::vector<Tensor>&)>& cond_fn,
                              const TensorsOf& body_fn, const std::vector<Tensor>& state,
                              int64_t max_trips, const Where& where);
struct ScanResult {
  std::vector<Tensor> carry, stacked;
};
// One step: maps carry and slices to the next carry and the step's outputs.
using ScanStep =
    std::function<ScanResult(const std::vector<Tensor>& carry, const std::vector<Tensor>& slices)>;
ScanResult run_scan(const ScanStep& step, const std::vector<Tensor>& init,
                    const std::vector<Tensor>& xs, int dim, bool reverse, const Where& where);

template <class C, class B, class S>
S while_of(C& cond_fn, B& body_fn, const S& state, int64_t max_trips, const Where& where) {
  static_assert(std::is_same_v<ResultOf<C>, Tensor>,
                "while_loop: cond_fn returns one bool, as a Tensor: i < 10");
  return refilled(state, run_while(
                             [&](const std::vector<Tensor>& s) {
                               return call_with(cond_fn, s, "while_loop: cond_fn", where);
                             },
                             [&](const std::vector<Tensor>& s) {
                               return flat(call_with(body_fn, s, "while_loop: body_fn", where));
                             },
                             flat(state), max_trips, where));
}

}  // namespace detail

// Returns then_fn(operands...) if pred is true, else else_fn(operands...). pred is one bool, of any
// rank. The functions take the operands, each as a Tensor or all as a std::vector<Tensor>, or
// nothing: captured variables need not be listed. Both return the same type: a Tensor, or a vector,
// pair or tuple of them, with the same number and dtypes. Their shapes may differ: in a graph such
// dims are unknown. Errors name the line where pred was passed.
template <class T, class E>
detail::ResultOf<T> cond(const Arg& pred, T&& then_fn, E&& else_fn, const Operands& operands = {}) {
  using R = detail::ResultOf<T>;
  static_assert(std::is_same_v<R, detail::ResultOf<E>>,
                "cond: both functions return the same type: a Tensor, or a std::vector, std::pair "
                "or std::tuple of them");
  std::optional<R> form;
  auto branch = [&](auto& f, const char* what) {
    return [&form, &f, &pred, what](const std::vector<Tensor>& in) {
      form.emplace(detail::call_with(f, in, what, pred.where));
      return detail::flat(*form);
    };
  };
  const std::vector<Tensor> made = detail::run_cond(
      pred, branch(then_fn, "cond: then_fn"), branch(else_fn, "cond: else_fn"), operands.tensors());
  return detail::refilled(std::move(*form), made);
}

// Repeats state = body_fn(state) while cond_fn(state) is true, at most max_trips times, and returns
// the state. state is a Tensor, or a vector, pair or tuple of them; the functions take its tensors
// one by one, or all as a std::vector<Tensor>. cond_fn returns one bool (a Tensor), body_fn as many
// tensors as the state has, with the same dtypes and shapes: to collect results, write them into a
// tensor that is large enough. Gradients are those of the trips that ran.
template <class C, class B, class S>
detail::Plain<S> while_loop(C&& cond_fn, B&& body_fn, const S& state, int64_t max_trips = INT64_MAX,
                            Where where = Where::current()) {
  return detail::while_of(cond_fn, body_fn, detail::plain(state), max_trips, where);
}
// while_loop(cond_fn, body_fn, {i, x}) returns a vector.
template <class C, class B>
std::vector<Tensor> while_loop(C&& cond_fn, B&& body_fn, const Operands& state,
                               int64_t max_trips = INT64_MAX, Where where = Where::current()) {
  return detail::while_of(cond_fn, body_fn, state.tensors(), max_trips, where);
}

// Calls fn(carry, x_t), which returns a pair or tuple (carry, y_t), for each slice x_t of xs along
// dim, from the first to the last, or with `reverse` from the last to the first. Returns the last
// carry and all y_t, stacked along a new first dimension: ys[t] always belongs to slice t of xs.
// x_t lacks dimension dim. init and xs are a Tensor, or a vector, pair or tuple of them, and fn
// takes the same types; so may y_t be. All of xs have the same size along dim (negative dims count
// from the end). The carry keeps its dtypes and shapes, and every y_t those of the first. Without
// any slice, scan returns init, and ys of size 0, whose other dims are found by a call of fn with
// zeros.
template <class F, class C, class X>
auto scan(F&& fn, const C& init, const X& xs, int dim = 0, bool reverse = false,
          Where where = Where::current()) {
  using Carry = detail::Plain<C>;
  using Slices = detail::Plain<X>;
  static_assert(std::is_invocable_v<F&, const Carry&, const Slices&>,
                "scan: fn takes the carry and a slice, of the types of init and xs");
  using R = detail::Plain<std::invoke_result_t<F&, const Carry&, const Slices&>>;
  static_assert(std::tuple_size_v<R> == 2,
                "scan: fn returns std::pair(carry, y), or a std::tuple of the two");
  using Ys = std::tuple_element_t<1, R>;
  const Carry start = detail::plain(init);
  const Slices slices = detail::plain(xs);
  std::optional<Ys> form;
  const detail::ScanResult made = detail::run_scan(
      [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& at) {
        R r = fn(detail::refilled(start, carry), detail::refilled(slices, at));
        detail::ScanResult step{detail::flat(std::get<0>(r)), detail::flat(std::get<1>(r))};
        form.emplace(std::move(std::get<1>(r)));
        return step;
      },
      detail::flat(start), detail::flat(slices), dim, reverse, where);
  return std::pair<Carry, Ys>(detail::refilled(start, made.carry),
                              detail::refilled(std::move(*form), made.stacked));
}

}  // namespace wick
