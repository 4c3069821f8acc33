// explain(): how signal and gradient go through a model, layer by layer, and what to do about it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// One call of a layer or activation in the forward pass.
struct LayerReport {
  std::string layer;  // "layer1.0.conv1"; of a function called outside of a leaf module, its line
  std::string op;     // "linear", "relu"
  Shape output;
  double mean = 0, std = 0;  // of the output
  double zeros = 0;          // fraction of output values that are 0
  // Of activations: the fraction of units (index 1 of the output) that are 0 (relu) or at a flat
  // end (tanh beyond 0.97, sigmoid beyond 0.03 of either) for the whole batch; of the others 0.
  double dead = 0, saturated = 0;
  double gradient_rms = 0;  // of the loss with respect to the output; 0 where none arrives
  // Of the layer's own parameters; 0 without.
  double weight_norm = 0, gradient_norm = 0;
  double update_ratio = 0;  // lr * gradient_norm / weight_norm: what one SGD step moves
  std::string verdict;      // "ok", or what is wrong in a word or two
};

struct ExplainReport {
  double loss = 0;
  std::vector<LayerReport> layers;  // in the order of the forward pass
  std::string verdict;              // of the gradient's way: "ok", "vanishing", "exploding" ...
  std::vector<std::string> advice;  // what to do, a sentence each; none when all is well
  std::string text() const;         // a table and the advice
};

struct ExplainOptions {
  double lr = 0.01;  // for the update ratios
};

// Runs `loss` once (it calls the model), then backward. Parameters' gradients, buffers and the
// default generator are afterwards what they were. Throws what the model throws.
ExplainReport explain(nn::Module& model, const std::function<Tensor()>& loss,
                      const ExplainOptions& options = {}, Where where = Where::current());

// Why initialisation matters: a network of `depth` equal layers under four weight scales, measured
// once. Data for a plot: how the activations' spread and the gradient go with depth.
struct InitPoint {
  std::string init;  // "small (0.01)", "xavier", "he", "large (1.0)"
  int layer = 0;     // from 1
  double activation_std = 0, gradient_rms = 0;
};
enum class InitActivation { kTanh, kRelu };
std::vector<InitPoint> compare_inits(InitActivation activation, int depth = 10, int64_t width = 64,
                                     uint64_t seed = 0);
// A header line and a line a point, comma separated.
std::string init_csv(const std::vector<InitPoint>& points);

}  // namespace wick
