// A module's forward -> Graph, by running it twice and watching the one door that every op goes
// through.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/nn/module.h"

namespace wick {

struct DynamicDim {
  int dim = 0;
  std::string symbol = "batch";
  int64_t min = 1, max = 1 << 20;
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
// dynamic dimension, a branch on either - is an Error with the op and the user's file:line: the two
// runs differ in data and in the size of every dynamic dimension, and their graphs must be the
// same.
ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options = {});

}  // namespace wick
