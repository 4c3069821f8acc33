// LoRA (Hu et al., 2021): a Linear layer learns W + alpha / rank * B A, where A [rank, in] and
// B [out, rank] alone are trained. The product of the two is never made while it trains.
#pragma once

#include "trainer/nn/module.h"

namespace wick::nn {

struct LoraOptions {
  int64_t rank = 8;
  double alpha = 8;    // the update is scaled by alpha / rank
  double dropout = 0;  // of what A sees, in training mode
  // Layers whose path ends so, "fc1" or "attention.query"; none: every Linear below the model.
  std::vector<std::string> targets;
};

// Stands for a Linear, "base_layer" below it; keys lora_A.weight and lora_B.weight, as PEFT has
// them. A starts like a Linear's weight, B with zeros: at first nothing changes.
class LoraLinear : public Module {
 public:
  LoraLinear(std::shared_ptr<Module> base, const LoraOptions& options,
             Where where = Where::current());
  Tensor forward(const Arg& x) override;
  const char* kind() const override { return "LoraLinear"; }
  std::string extra_repr() const override;

  // Puts the update into the base layer's weight, and takes it out again; forward is the same, up
  // to rounding. Twice is an Error.
  void merge(Where where = Where::current());
  void unmerge(Where where = Where::current());
  bool merged() const { return merged_; }
  Tensor delta() const;  // alpha / rank * B A
  const std::shared_ptr<Module>& base() const { return base_; }

  Tensor lora_a, lora_b;

 private:
  std::shared_ptr<Module> base_;
  double scale_, dropout_;
  bool merged_ = false;
};

// Freezes the model and puts a LoraLinear in the place of each target; how many there are. None is
// an Error. Whoever holds a replaced layer reaches its LoraLinear (Module::replace_module).
int64_t add_lora(Module& model, const LoraOptions& options = {}, Where where = Where::current());
// The plain layers again, with the updates in their weights.
int64_t merge_lora(Module& model, Where where = Where::current());
// state_dict() of what was added alone, to be saved beside the model's.
NamedTensors lora_state_dict(Module& model);

}  // namespace wick::nn
