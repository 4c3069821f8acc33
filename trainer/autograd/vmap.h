// vmap: a function of one example, called for every element of a batch, as torch.vmap.
//
//   auto products = vmap([](const Tensor& a, const Tensor& b) { return matmul(a, b); });
//   Tensor y = products(as, bs);                                   // [N, n, m], [N, m, p] -> [N,
//   n, p] auto scaled = vmap(f, {1, std::nullopt}, {-1});   // dim 1 of x, w as it is; the last of
//   the result
//
// It is a loop: f runs on one slice after the other, in order, and the results are stacked. So
// every function is allowed (branches on values, item(), modules, grad() within), results have the
// bits of the calls one by one, and it takes their time; for speed, write f for batches. Everything
// is made of recorded ops: gradients, forward mode and nested vmaps work as in the loop. The
// gradient of a mapped input is the sum of one padded gradient an element.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/autograd/functional.h"
#include "trainer/tensor/tensor_tree.h"

namespace wick {

// Which random numbers a function that vmap() runs may draw.
enum class Randomness : uint8_t {
  kError,      // none: a draw is an Error
  kDifferent,  // each element draws its own
  kSame,       // all elements have the numbers of the first
};

namespace detail {

// Runs f on the slices, and stacks each of its outputs.
std::vector<Tensor> map_slices(const TensorFunction& f, const std::vector<Tensor>& inputs,
                               const std::vector<std::optional<int>>& in_dims,
                               const std::vector<int>& out_dims, Randomness randomness,
                               const Where& where);

}  // namespace detail

// vmap() returns this: a function of batches.
template <class F>
class Vmapped {
 public:
  Vmapped(F f, std::vector<std::optional<int>> in_dims, std::vector<int> out_dims,
          Randomness randomness)
      : f_(std::move(f)),
        in_dims_(std::move(in_dims)),
        out_dims_(std::move(out_dims)),
        randomness_(randomness) {}

  // Takes f's inputs, which are all tensors, with the batch dim in those that are mapped.
  template <class... Rest>
    requires std::is_invocable_v<F&, const Tensor&,
                                 std::conditional_t<true, const Tensor&, Rest>...>
  auto operator()(const Arg& x, const Rest&... rest) const {
    return run({x.tensor, detail::plain(rest)...}, x.where,
               std::make_index_sequence<1 + sizeof...(Rest)>());
  }
  // The same for a function of a list.
  template <std::same_as<std::vector<Tensor>> List = std::vector<Tensor>>
    requires std::is_invocable_v<F&, const List&>
  auto operator()(const List& inputs, Where where = Where::current()) const {
    return stacked(inputs, where,
                   [this](const std::vector<Tensor>& in) { return detail::plain(f_(in)); });
  }

 private:
  template <size_t... I>
  auto run(const std::vector<Tensor>& inputs, const Where& where, std::index_sequence<I...>) const {
    return stacked(inputs, where,
                   [this](const std::vector<Tensor>& in) { return detail::plain(f_(in[I]...)); });
  }
  // A result has the form of f's: one tensor, or a pair, tuple, vector or struct of them.
  template <class Call>
  auto stacked(const std::vector<Tensor>& inputs, const Where& where, Call call) const {
    using Result = std::invoke_result_t<Call&, const std::vector<Tensor>&>;
    std::optional<Result> form;
    const std::vector<Tensor> out = detail::map_slices(
        [&](const std::vector<Tensor>& in) {
          Result result = call(in);
          std::vector<Tensor> parts = detail::flat(result);
          if (!form) form.emplace(std::move(result));
          return parts;
        },
        inputs, in_dims_, out_dims_, randomness_, where);
    return detail::refilled(std::move(*form), out);
  }

  mutable F f_;
  std::vector<std::optional<int>> in_dims_;
  std::vector<int> out_dims_;
  Randomness randomness_;
};

// Returns a function that calls f for each element of a batch and stacks what it returns. f takes
// tensors, or a list of them; other arguments are captured. in_dims: for each input the dim that
// holds the batch, or nullopt for an input that all elements share; empty: dim 0 of every input.
// out_dims: for each output the dim of the result that holds the batch; empty: 0. Negative dims
// count from the end. A call throws Error for batches of several sizes, for an empty one (f would
// never run, and its shapes are not known), for outputs whose number, shape or dtype differs
// between elements, and for random numbers, unless `randomness` allows them.
template <class F>
Vmapped<std::decay_t<F>> vmap(F&& f, std::vector<std::optional<int>> in_dims = {},
                              std::vector<int> out_dims = {},
                              Randomness randomness = Randomness::kError) {
  return {std::forward<F>(f), std::move(in_dims), std::move(out_dims), randomness};
}

}  // namespace wick
