// Loss scaling: to keep small gradients in float16, the loss is multiplied by a scale, and the
// gradients are divided by it before the update. It is PyTorch's GradScaler; Micikevicius et al.,
// "Mixed Precision Training", 2018, section 3.2.
//
//   GradScaler scaler;
//   {
//     AutocastScope autocast(DType::kF16);
//     loss = cross_entropy(model(x), y);
//   }
//   scaler.scale(loss).backward();
//   scaler.unscale_(optimizer);              // only if the gradients are read, e.g. for clipping
//   scaler.step(optimizer);                  // skipped if a gradient is inf or NaN
//   scaler.update();
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/optim/optimizer.h"
#include "trainer/tensor/autocast.h"

namespace wick::optim {

// Options of GradScaler, with the defaults of torch.cuda.amp.GradScaler.
struct GradScalerOptions {
  double init_scale = 65536;       // the scale at first
  double growth_factor = 2;        // > 1
  double backoff_factor = 0.5;     // in (0, 1)
  int64_t growth_interval = 2000;  // updates without inf or NaN before the scale grows
  bool enabled = true;             // false: all calls pass values through
};

// torch.cuda.amp.GradScaler: multiplies the loss so that float16 gradients do not become 0, and
// leaves out updates whose gradients are inf or NaN.
class GradScaler {
 public:
  explicit GradScaler(const GradScalerOptions& options = {}, Where where = Where::current());

  // Returns outputs * scale, differentiable; in float32 if the output has 16 bits.
  Tensor scale(const Arg& output);
  std::vector<Tensor> scale(const std::vector<Tensor>& outputs, Where where = Where::current());
  // Divides the gradients of the optimizer's parameters by the scale and checks for inf and NaN, in
  // one pass. Call it at most once between two updates, before step(). If the optimizer accumulates
  // (Optimizer::accumulate) and its next step only counts, it does nothing.
  void unscale_(Optimizer& optimizer, Where where = Where::current());
  // Calls optimizer.step() unless a gradient is inf or NaN; unscales first if unscale_() was not
  // called. Returns whether the parameters were updated.
  bool step(Optimizer& optimizer, Where where = Where::current());
  // Called once per iteration, after the steps: multiplies the scale by backoff_factor if any
  // gradient was inf or NaN, and by growth_factor after growth_interval updates in a row without;
  // or sets it to new_scale (finite, > 0).
  void update(std::optional<double> new_scale = {}, Where where = Where::current());

  // The present settings, and the number of updates since the scale last changed. get_scale() is 1
  // when disabled.
  bool is_enabled() const { return options_.enabled; }
  double get_scale() const { return options_.enabled ? static_cast<double>(scale_) : 1; }
  int64_t growth_tracker() const { return growth_tracker_; }
  double get_growth_factor() const { return options_.growth_factor; }
  double get_backoff_factor() const { return options_.backoff_factor; }
  int64_t get_growth_interval() const { return options_.growth_interval; }
  // Set what update() uses; throw Error for a growth factor <= 1, a backoff factor outside of (0,
  // 1) and an interval below 1.
  void set_growth_factor(double factor, Where where = Where::current());
  void set_backoff_factor(double factor, Where where = Where::current());
  void set_growth_interval(int64_t interval, Where where = Where::current());

  // Returns JSON with PyTorch's keys: scale, growth_factor, backoff_factor, growth_interval,
  // _growth_tracker; "{}" when disabled. Loading other text throws Error and changes nothing.
  std::string state_dict() const;
  // Continues from what state_dict() returned.
  void load_state_dict(const std::string& state, Where where = Where::current());

 private:
  enum class Stage : uint8_t { kUnscaled, kStepped };
  struct Seen {  // an optimizer that was used in this iteration
    const Optimizer* optimizer;
    Stage stage;
    bool found_inf;
  };
  Seen* find(const Optimizer& optimizer);
  bool unscale(Optimizer& optimizer, const char* op, const Where& where);

  GradScalerOptions options_;
  float scale_;
  int64_t growth_tracker_ = 0;
  bool scaled_ = false;   // scale() was called
  bool counted_ = false;  // since the last update there was a step that only counts
  std::vector<Seen> seen_;
};

// Options of Amp.
struct AmpOptions {
  DType autocast = DType::kNone;  // kNone: float32 throughout; kBF16; kF16, with a GradScaler
  GradScalerOptions scaler = {};  // used for kF16 only
};

// Automatic mixed precision for a training loop, with the same lines for every precision:
//
//   { auto scope = amp.begin(); loss = ...; }
//   amp.backward(loss);
//   amp.step(optimizer);   // or: amp.unscale_(optimizer); clip; amp.step(optimizer)
class Amp {
 public:
  explicit Amp(const AmpOptions& options = {}, Where where = Where::current());
  // Use it around forward and loss, in training and in evaluation.
  AutocastScope begin() const { return AutocastScope(autocast_); }
  // The loss, scaled where there is a scaler, backwards.
  void backward(const Tensor& loss, Where where = Where::current());
  // GradScaler::unscale_() where there is a scaler: for clipping, before step().
  void unscale_(Optimizer& optimizer, Where where = Where::current());
  // Returns false if gradients were not finite, so that nothing was updated.
  bool step(Optimizer& optimizer, Where where = Where::current());
  // Return the dtype of autocast (kNone: none) and the scaler.
  DType autocast() const { return autocast_; }
  GradScaler& scaler() { return scaler_; }
  const GradScaler& scaler() const { return scaler_; }
  // Returns the scaler's; "{}" without one.
  std::string state_dict() const { return scaler_.state_dict(); }
  // Continues from what state_dict() returned.
  void load_state_dict(const std::string& state, Where where = Where::current()) {
    scaler_.load_state_dict(state, where);
  }

 private:
  DType autocast_;
  GradScaler scaler_;
};

}  // namespace wick::optim
