// A model by its numbers: one run of it on zeros, a row a module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/nn/module.h"

namespace wick::nn {

struct ModuleCost {
  std::string path, kind;
  int depth = 0;
  bool leaf = true;                       // no children
  bool called = false;                    // it ran: by its own forward, or by ops under its name
  std::vector<Shape> inputs, outputs;     // of each call
  int64_t parameters = 0, trainable = 0;  // its own, without its children's
  double macs = 0, other_flops = 0;       // of its own ops, without its children's
  uint64_t parameter_bytes = 0, buffer_bytes = 0, output_bytes = 0;
};

struct ModelSummary {
  std::vector<ModuleCost> modules;  // in the order of named_modules(), "" first
  Shape input;
  int64_t parameters = 0, trainable = 0;  // a shared parameter once
  double macs = 0;                        // multiply-adds of products, convolutions, recurrences
  double other_flops = 0;  // activations, norms, sums ...: one an element and operation
  double flops() const { return 2 * macs; }  // as papers count: Linear is 2 in out
  uint64_t input_bytes = 0, parameter_bytes = 0, buffer_bytes = 0;
  uint64_t activation_bytes = 0;  // of all modules without children: what training keeps, about

  // Without children's and with: the sums below a module, itself included.
  ModuleCost total(const std::string& path) const;
  std::string text() const;  // a table
  std::string json() const;
};

// Runs forward once, in eval mode and without recording, on zeros of that shape, batch included;
// the mode is put back. What runs as plain functions counts for the module that calls them.
// int64: token ids.
ModelSummary summary(Module& model, const Shape& input, DType dtype = DType::kF32,
                     Where where = Where::current());
// On an example of your own, integers or what must not be zeros.
ModelSummary summary(Module& model, const Tensor& example, Where where = Where::current());

int64_t count_parameters(const Module& model, bool trainable_only = false);
double count_flops(Module& model, const Shape& input, Where where = Where::current());

}  // namespace wick::nn
