// explain(): shows how activations and gradients pass through a model, layer by layer, and gives
// advice.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// One call of a layer or activation in the forward pass.
struct LayerReport {
  std::string layer;         // "layer1.0.conv1"; for a function called outside of modules, its line
  std::string op;            // "linear", "relu"
  Shape output;              // its shape
  double mean = 0, std = 0;  // of the output
  double zeros = 0;          // fraction of output values that are 0
  // For activations: the fraction of units (index 1 of the output) that are 0 (relu), or saturated
  // (tanh beyond +-0.97, sigmoid within 0.03 of 0 or 1), for the whole batch; 0 for other layers.
  double dead = 0, saturated = 0;
  double gradient_rms = 0;  // of the loss's gradient with respect to the output; 0 if there is none
  // Norms of the layer's own parameters and their gradients; 0 if it has none.
  double weight_norm = 0, gradient_norm = 0;
  double update_ratio = 0;  // lr * gradient_norm / weight_norm: the relative change by one SGD step
  std::string verdict;      // "ok", or the problem in a word or two
};

// Says what explain() found in one forward and backward.
struct ExplainReport {
  double loss = 0;                  // of the batch
  std::vector<LayerReport> layers;  // in the order of the forward pass
  std::string verdict;              // about the gradient's flow: "ok", "vanishing", "exploding" ...
  std::vector<std::string> advice;  // one sentence each; empty if all is well
  std::string text() const;         // a table and the advice
};

// Options of explain().
struct ExplainOptions {
  double lr = 0.01;  // for the update ratios
};

// Runs `loss`, which calls the model, and then backward, once each. Afterwards the parameters'
// gradients, buffers and the default generator have their former values. Throws whatever the model
// throws.
ExplainReport explain(nn::Module& model, const std::function<Tensor()>& loss,
                      const ExplainOptions& options = {}, Where where = Where::current());

// Shows why initialization matters: a network of `depth` equal layers with four weight scales,
// measured once. The data can be plotted: the spread of activations and the gradient by depth.
struct InitPoint {
  std::string init;  // "small (0.01)", "xavier", "he", "large (1.0)"
  int layer = 0;     // from 1
  double activation_std = 0,
         gradient_rms =
             0;  // of the layer: standard deviation of outputs, root mean square of gradients
};
// The activation between the layers of compare_inits().
enum class InitActivation { kTanh, kRelu };
// Measures such networks of `width` units per layer: points of every scale and layer, in order.
std::vector<InitPoint> compare_inits(InitActivation activation, int depth = 10, int64_t width = 64,
                                     uint64_t seed = 0);
// Returns a header line and one line per point, comma separated.
std::string init_csv(const std::vector<InitPoint>& points);

}  // namespace wick
