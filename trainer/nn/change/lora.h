// LoRA (Hu et al., 2021): a Linear layer learns W + alpha / rank * B A, where only A [rank, in] and
// B [out, rank] are trained. Their product is never computed during training.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

// Options of add_lora() (Hu et al., 2021).
struct LoraOptions {
  int64_t rank = 8;    // columns of A, rows of B
  double alpha = 8;    // the update is scaled by alpha / rank
  double dropout = 0;  // on A's input, in training mode
  // Endings of the paths of layers, "fc1" or "attention.query"; empty: every Linear of the model.
  std::vector<std::string> targets = {};
};

// Replaces a Linear, which becomes its child "base_layer"; the other keys are lora_A.weight and
// lora_B.weight, as in PEFT. A is initialized like a Linear's weight, B with zeros: at first the
// output is unchanged.
class LoraLinear : public Module {
 public:
  LoraLinear(std::shared_ptr<Module> base, const LoraOptions& options,
             Where where = Where::current());
  Tensor forward(const Arg& x) override;
  const char* kind() const override { return "LoraLinear"; }
  std::string extra_repr() const override;

  // Adds the update to the base layer's weight, or subtracts it again; forward returns the same, up
  // to rounding. Throws Error if it is done already.
  void merge(Where where = Where::current());
  // Takes it out again. Throws Error if it is not merged.
  void unmerge(Where where = Where::current());
  // Return whether the update is in the weight, and the layer that was replaced.
  bool merged() const { return merged_; }
  Tensor delta() const;  // alpha / rank * B A
  const std::shared_ptr<Module>& base() const { return base_; }

  // A [rank, in] and B [out, rank].
  Tensor lora_a, lora_b;

 private:
  std::shared_ptr<Module> base_;
  double scale_, dropout_;
  bool merged_ = false;
};

// Freezes the model and replaces each target by a LoraLinear; returns their number. Throws Error if
// there is none. References to a replaced layer reach its LoraLinear (Module::replace_module).
int64_t add_lora(Module& model, const LoraOptions& options = {}, Where where = Where::current());
// Restores the plain layers, with the updates added to their weights.
int64_t merge_lora(Module& model, Where where = Where::current());
// Returns the state_dict() of the added tensors only, to be saved besides the model's.
NamedTensors lora_state_dict(Module& model);

}  // namespace wick::nn
