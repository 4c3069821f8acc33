// The thread's gradient mode: whether ops are recorded for backward.
#pragma once

namespace wick {

// Return and set whether this thread records ops for backward: torch.is_grad_enabled and
// torch.set_grad_enabled.
bool grad_enabled();
void set_grad_enabled(bool on);
// Sets it, and restores the former state when destroyed.
class GradMode {
 public:
  explicit GradMode(bool on);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool saved_;
};
// { NoGrad guard; ... }: ops inside are not recorded. EnableGrad: they are recorded, even under
// NoGrad.
class NoGrad : GradMode {
 public:
  NoGrad() : GradMode(false) {}
};
class EnableGrad : GradMode {
 public:
  EnableGrad() : GradMode(true) {}
};
// NoGrad whose results can never take part in autograd: they have no version, and saving one for
// backward later is an error. Views of tensors from outside behave as their base.
class InferenceMode {
 public:
  explicit InferenceMode(bool on = true);
  ~InferenceMode();
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  bool saved_grad_, saved_;
};
// Returns whether an InferenceMode is open in this thread.
bool inference_mode_enabled();

}  // namespace wick
