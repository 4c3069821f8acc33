// A module's forward -> Graph, by running it several times and watching the one door that every op
// goes through.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/nn/module.h"

namespace wick {

// Dimensions of one symbol have one size.
struct DynamicDim {
  int dim = 0;  // negative ones count from the end
  std::string symbol = "batch";
  int64_t min = 1, max = 1 << 20;  // the sizes that the graph is for
  // Only multiples of it, which a U-Net of four halvings takes at 16: capture tries no others, and
  // what the graph makes of them is not said.
  int64_t multiple_of = 1;
};

// How bytes become the model's floats: (x / divisor - mean) / std, three f32 operations in this
// order; mean and std one value, or one a channel. The graph then takes the bytes.
struct InputNormalization {
  float divisor = 255;
  std::vector<float> mean = {0};
  std::vector<float> std = {1};
};

struct CaptureInput {
  std::string name;
  Tensor example;
  std::vector<DynamicDim> dynamic = {};
  // none or one; example is what forward sees, floats [N, C, ...]
  std::vector<InputNormalization> normalization = {};
};

struct CaptureOptions {
  std::string output = "output";  // the name of the only output
  std::vector<std::string> labels;
  // Names of all of them; empty: `output`, or output_0, output_1 ...
  std::vector<std::string> outputs = {};
  // The graph is run beside forward, at the sizes of the runs and at others: the bits must be
  // equal.
  bool verify = true;
};

// The module must be in eval mode. Forward runs at several sizes of every dynamic dimension, the
// smallest among them, with other data each time. Integers and constants that differ between the
// runs are expressions of the sizes where one is found that all runs agree with: then the graph
// computes them. What is left baked in - a number read from a tensor, a branch on it or on a size -
// is an Error with the op, the user's file:line and the sizes of both runs. An Error, too, where
// forward fails at a size that the bounds promise.
ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options = {}, Where where = Where::current());

// A forward of any signature: `call` is given a tensor for each input, in their order, and returns
// the outputs. The weights are those of `module`.
using CaptureCall = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
ir::Graph capture_call(nn::Module& module, const std::vector<CaptureInput>& inputs,
                       const CaptureCall& call, const CaptureOptions& options = {});

namespace detail {
inline void flatten(const Tensor& t, std::vector<Tensor>* all) { all->push_back(t); }
template <class T>
void flatten(const std::vector<T>& list, std::vector<Tensor>* all) {
  for (const T& t : list) flatten(t, all);
}
template <class T>
void flatten(const std::optional<T>& t, std::vector<Tensor>* all) {
  if (t) flatten(*t, all);
}
template <class... T>
void flatten(const std::tuple<T...>& each, std::vector<Tensor>* all);
// What layers return: LSTM's {output, h_n, c_n}, attention's {output, weights}, sort's {values,
// indices}, a cell's {h, c}. What is undefined is none.
template <class R>
void flatten(const R& r, std::vector<Tensor>* all)
  requires requires { r.output.defined(), r.h_n.defined(), r.c_n.defined(); }
{
  for (const Tensor* t : {&r.output, &r.h_n, &r.c_n})
    if (t->defined()) all->push_back(*t);
}
template <class R>
void flatten(const R& r, std::vector<Tensor>* all)
  requires requires { r.output.defined(), r.weights.defined(); }
{
  all->push_back(r.output);
  if (r.weights.defined()) all->push_back(r.weights);
}
template <class R>
void flatten(const R& r, std::vector<Tensor>* all)
  requires requires { r.values.defined(), r.indices.defined(); }
{
  all->insert(all->end(), {r.values, r.indices});
}
template <class R>
void flatten(const R& r, std::vector<Tensor>* all)
  requires requires { r.h.defined(), r.c.defined(); }
{
  all->insert(all->end(), {r.h, r.c});
}
template <class A, class B>
void flatten(const std::pair<A, B>& both, std::vector<Tensor>* all) {
  flatten(both.first, all);
  flatten(both.second, all);
}
template <class... T>
void flatten(const std::tuple<T...>& each, std::vector<Tensor>* all) {
  std::apply([&](const T&... t) { (flatten(t, all), ...); }, each);
}

template <class F, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<const F&, decltype((void(I), std::declval<const Tensor&>()))...>;
}
constexpr size_t kMostInputs = 16;
// How many tensors F takes.
template <class F, size_t N = 1>
constexpr size_t arity() {
  if constexpr (N > kMostInputs) {
    return 0;
  } else if constexpr (takes<F>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return arity<F, N + 1>();
  }
}
[[noreturn]] void wrong_inputs(size_t takes, size_t given);
}  // namespace detail

// The same with a function of tensors, which returns one, or a pair, tuple or vector of them,
// nested as it likes; outputs are numbered in that order:
//
//   capture(model, {{"source", s}, {"target", t}},
//           [&](const Tensor& source, const Tensor& target) { return model.decode(source, target);
//           })
template <class F>
  requires(!std::is_same_v<std::decay_t<F>, CaptureOptions> &&
           !std::is_convertible_v<F, CaptureOptions>)
ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs, const F& call,
                  const CaptureOptions& options = {}) {
  constexpr size_t n = detail::arity<F>();
  static_assert(n != 0, "the call takes const Tensor&, one for each input, up to 16");
  if (inputs.size() != n) detail::wrong_inputs(n, inputs.size());
  return capture_call(
      module, inputs,
      [&](const std::vector<Tensor>& in) {
        std::vector<Tensor> out;
        [&]<size_t... I>(std::index_sequence<I...>) {
          detail::flatten(call(in[I]...), &out);
        }(std::make_index_sequence<n>());
        return out;
      },
      options);
}

}  // namespace wick
