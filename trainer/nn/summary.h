// summary(): the cost of each module of a model, measured by running it once on zeros.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/nn/module.h"

namespace wick::nn {

// One module costs this in one forward.
struct ModuleCost {
  std::string path, kind;                 // path: dotted, "" for the model; kind: "Linear"
  int depth = 0;                          // number of parents
  bool leaf = true;                       // no children
  bool called = false;                    // it ran: its own forward, or ops under its name
  std::vector<Shape> inputs, outputs;     // of each call
  int64_t parameters = 0, trainable = 0;  // its own, without those of its children
  double macs = 0, other_flops = 0;       // of its own ops, without those of its children
  uint64_t parameter_bytes = 0, buffer_bytes = 0,
           output_bytes = 0;  // of dtypes' sizes, once per tensor
};

// A model costs this in one forward: see summary().
struct ModelSummary {
  std::vector<ModuleCost> modules;        // in the order of named_modules(), "" first
  Shape input;                            // shape with the batch
  int64_t parameters = 0, trainable = 0;  // shared parameters count once
  double macs = 0;                        // multiply-adds of products, convolutions, recurrences
  double other_flops = 0;  // activations, norms, sums ...: one per element and operation
  double flops() const { return 2 * macs; }  // as papers count: 2 in out for a Linear
  uint64_t input_bytes = 0, parameter_bytes = 0, buffer_bytes = 0;  // sizes of all tensors
  uint64_t activation_bytes = 0;  // of all modules without children: about what training saves

  // Returns the sums of a module and its descendants.
  ModuleCost total(const std::string& path) const;
  std::string text() const;  // a table
  std::string json() const;  // the same as JSON
};

// Runs forward once, in eval mode and without recording, on zeros of that shape, which includes the
// batch; the mode is restored. Ops that run in plain functions are counted for the module that
// calls them. Use int64 for token ids.
ModelSummary summary(Module& model, const Shape& input, DType dtype = DType::kF32,
                     Where where = Where::current());
// The same with your own example, for models whose input must not be zeros.
ModelSummary summary(Module& model, const Tensor& example, Where where = Where::current());

// Returns the number of values in all parameters; shared ones count once.
int64_t count_parameters(const Module& model, bool trainable_only = false);
// Returns summary().flops(): two for each multiply-add.
double count_flops(Module& model, const Shape& input, Where where = Where::current());

}  // namespace wick::nn
