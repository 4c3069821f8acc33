// A module's forward -> Graph, by running it several times and watching the one door that every op
// goes through.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/nn/module.h"

namespace wick {

// Dimensions of one symbol have one size.
struct DynamicDim {
  int dim = 0;
  std::string symbol = "batch";
  int64_t min = 1, max = 1 << 20;  // the sizes that the graph is for
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
  std::vector<DynamicDim> dynamic;
  // none or one; example is what forward sees, floats [N, C, ...]
  std::vector<InputNormalization> normalization;
};

struct CaptureOptions {
  std::string output = "output";
  std::vector<std::string> labels;
};

// The module must be in eval mode. What forward bakes in - a number read from a tensor, a size of a
// dynamic dimension, a branch on either - is an Error with the op, the user's file:line and the
// sizes of both runs: further runs have other data and other sizes of every dynamic dimension, the
// smallest among them, and their graphs must be the same. An Error, too, where forward fails at a
// size that the bounds promise.
ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options = {});

}  // namespace wick
