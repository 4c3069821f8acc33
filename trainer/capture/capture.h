// capture(): turns a module's forward into a Graph, by running it several times and tracing the
// dispatcher, which every op goes through.
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

// A dimension whose size is free in the graph. Dimensions with the same symbol have the same size.
struct DynamicDim {
  int dim = 0;  // negative ones count from the end
  std::string symbol = "batch";
  int64_t min = 1, max = 1 << 20;  // the sizes that the graph has to work for
  // Only multiples of this are allowed (a U-Net with four halvings needs 16): capture tries no
  // others, and the graph's behavior at others is undefined.
  int64_t multiple_of = 1;
};

// Converts bytes to the model's floats: (x / divisor - mean) / std, three float32 operations in
// this order. mean and std have one value, or one per channel. The graph's input then is the bytes.
struct InputNormalization {
  float divisor = 255;
  std::vector<float> mean = {0};
  std::vector<float> std = {1};
};

// One input of a capture.
struct CaptureInput {
  std::string name;  // its name in the graph
  // A tensor of its dtype and, but for `dynamic`, its shape. Integers of other runs are its own, or
  // smaller ones where they are places along a dimension.
  Tensor example;
  std::vector<DynamicDim> dynamic = {};  // dims whose size may differ from run to run
  // none or one; with one, `example` holds the normalized floats [N, C, ...] that forward sees
  std::vector<InputNormalization> normalization = {};
};

// Options of capture().
struct CaptureOptions {
  std::string output = "output";  // name of the output if there is only one
  // Class names, in order of the last output dim; the graph keeps them.
  std::vector<std::string> labels = {};
  // Names of all outputs; if empty, they are `output`, or output_0, output_1 ...
  std::vector<std::string> outputs = {};
  // Compares the graph's results with those of forward, at the sizes of the runs and at others:
  // they must be equal bit for bit.
  bool verify = true;
};

// Captures the module's forward; the module must be in eval mode. Forward runs at several sizes of
// every dynamic dimension, the smallest among them, with different data each time. Integers and
// constants that differ between the runs are replaced by expressions of the sizes if one is found
// that agrees with all runs: then the graph computes them. Anything else that is baked in (a number
// read from a tensor, a branch on it or on a size) is an Error with the op, the user's file:line
// and the sizes of both runs. It is also an Error if forward fails at a size within the bounds.
ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options = {}, Where where = Where::current());

// Captures a forward of any signature: `call` takes one tensor for each input, in order, and
// returns the outputs. The weights are those of `module`.
using CaptureCall = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
// Returns the graph of `call`.
ir::Graph capture_call(nn::Module& module, const std::vector<CaptureInput>& inputs,
                       const CaptureCall& call, const CaptureOptions& options = {});

namespace detail {
[[noreturn]] void wrong_inputs(size_t takes, size_t given);
}  // namespace detail

// The same for a function of tensors that returns a tensor, or a pair, tuple or vector of them,
// nested at will; outputs are numbered in that order:
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
