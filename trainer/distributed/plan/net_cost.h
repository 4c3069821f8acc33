// What a net costs to train, layer by layer: what plan_parallel() starts from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/nn/models/gpt.h"
#include "trainer/nn/module.h"

namespace wick::distributed {

// Of one sample where it is not said otherwise.
struct LayerCost {
  std::string name;          // of the module
  int64_t parameters = 0;    // elements
  double forward_flops = 0;  // of its ops
  double kept_bytes = 0;     // that its forward leaves for its backward
  double output_bytes = 0;   // what the next layer gets
};

// The layers of a net, and how it can be cut.
struct NetCost {
  std::string name;               // for the heading
  std::vector<LayerCost> layers;  // in the order in which they run
  // Into how many ranks its layers can be cut (a divisor of all that a GPT's plan cuts: heads,
  // vocabulary, widths), and how many stages a pipeline of it can have; 1: not at all.
  int most_tensor = 1, most_stages = 1;
  // Bytes of a sample that a layer that is cut sums over the ranks, in one direction.
  double tensor_sum_bytes = 0;

  // Return the sums over the layers.
  int64_t parameters() const;
  double forward_flops() const;
  double kept_bytes() const;
};

// Returns the costs of a GPT with samples of max_seq_len tokens, in float32, by formulas.
NetCost gpt_cost(const nn::GptOptions& options);
// Returns the costs of a net by running its forward once on `sample`, which has one sample as
// dimension 0.
NetCost measured_cost(nn::Module& net, const Tensor& sample, const std::string& name);

}  // namespace wick::distributed
