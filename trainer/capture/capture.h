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
#include "trainer/tensor/tensor_tree.h"

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
  constexpr size_t n = detail::arity<const F, 1>();
  static_assert(n != detail::kNoArity,
                "the call takes const Tensor&, one for each input, up to 16");
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
