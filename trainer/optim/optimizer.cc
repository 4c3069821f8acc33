#include "trainer/optim/optimizer.h"

#include <fmt/core.h>

#include <cmath>

#include "trainer/autograd/sparse_slot.h"
#include "trainer/explain/live.h"
#include "trainer/explain/warn.h"
#include "trainer/profile/range.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/recorder.h"

namespace wick::optim {

void check_not_negative(const char* op, const char* name, double value, const Where& where) {
  if (std::isfinite(value) && value >= 0) return;
  throw_error(op, fmt::format("{} must be finite and >= 0, got {}", name, value), where);
}

void check_fraction(const char* op, const char* name, double value, const Where& where) {
  if (value >= 0 && value < 1) return;
  throw_error(op, fmt::format("{} must be in [0, 1), got {}", name, value), where);
}

std::string OptimizerFootprint::text() const {
  return fmt::format(
      "parameters {} bytes, optimizer state {} bytes ({:.1f}x)", parameters, state,
      parameters == 0 ? 0.0 : static_cast<double>(state) / static_cast<double>(parameters));
}

OptimizerFootprint Optimizer::memory_footprint() const {
  OptimizerFootprint bytes;
  for (int group = 0; group < groups(); ++group) {
    for (const Tensor& p : group_params(group)) {
      bytes.parameters += static_cast<int64_t>(p.layout().nbytes());
    }
  }
  for (const auto& [name, tensor] : state_dict().tensors) {
    bytes.state += static_cast<int64_t>(tensor.layout().nbytes());
  }
  return bytes;
}

Optimizer::GroupFields Optimizer::checked_fields(int group) const {
  if (group < 0 || group >= groups()) {
    throw Error(fmt::format("[{}] group {} of {}", name(), group, groups()),
                Code::kInvalidArgument);
  }
  return fields(group);
}

const std::vector<Tensor>& Optimizer::params(int group) const {
  checked_fields(group);
  return group_params(group);
}

double Optimizer::lr(int group) const { return *checked_fields(group).lr; }
void Optimizer::set_lr(int group, double lr) {
  const GroupFields f = checked_fields(group);
  if (!std::isfinite(lr)) {
    throw Error(fmt::format("[{}] lr must be finite, got {}", name(), lr), Code::kInvalidArgument);
  }
  *f.lr = lr;
}
double Optimizer::initial_lr(int group) const {
  const GroupFields f = checked_fields(group);
  return *f.initial_lr < 0 ? *f.lr : *f.initial_lr;
}
void Optimizer::set_initial_lr(int group, double lr) { *checked_fields(group).initial_lr = lr; }
bool Optimizer::has_momentum() const { return checked_fields(0).momentum != nullptr; }
bool Optimizer::has_betas() const { return checked_fields(0).momentum_is_beta1; }

double Optimizer::momentum(int group) const {
  const GroupFields f = checked_fields(group);
  if (f.momentum == nullptr) throw Error(std::string("[") + name() + "] has no momentum");
  return *f.momentum;
}
void Optimizer::set_momentum(int group, double momentum) {
  const GroupFields f = checked_fields(group);
  if (f.momentum == nullptr) throw Error(std::string("[") + name() + "] has no momentum");
  *f.momentum = momentum;
}

Optimizer::~Optimizer() { note_owner_gone(this); }

void Optimizer::step() {
  if (Recorder* r = modes().recorder) [[unlikely]] {
    r->on_optimizer(*this);
    r->on_host(name(), this, [this] { step_now(); });
  } else {
    step_now();
  }
}

void Optimizer::step_now() {
  if (accumulate_ > 1 && ++calls_ % accumulate_ != 0) return;
  refuse_float16();
  ProfileRange range("optimizer");
  if (accumulate_ == 1) report_stale();
  NoGrad guard;
  update();
  mark_applied(++steps_);
  note_optimizer_step(steps_);
  if (accumulate_ > 1) zero_grad();
}

void Optimizer::take_gradients() {
  refuse_float16();
  report_stale();
  mark_applied(steps_ + 1);
}

void Optimizer::count_step() { note_optimizer_step(++steps_); }

void Optimizer::accumulate(int64_t k, Where where) {
  if (k < 1) throw_error("accumulate", "k must be at least 1, got " + std::to_string(k), where);
  accumulate_ = k;
  calls_ = 0;
}

void Optimizer::skip_step() {
  note_host_read("skip_step", Where());
  if (accumulate_ > 1 && ++calls_ % accumulate_ == 0) zero_grad();
}

void Optimizer::refuse_float16() const {
  for (int group = 0; group < groups(); ++group) {
    for (const Tensor& p : group_params(group)) {
      if (!has_sparse_grad(p) && !p.grad().defined()) continue;
      if (!met_float16(p)) continue;
      throw Error(
          fmt::format("[{}] the gradient of {} came through float16 autocast, where small values "
                      "are lost and large ones become inf: let an optim::GradScaler do "
                      "scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update(), or "
                      "use bfloat16, which needs none",
                      name(), p.name().empty() ? "a parameter" : "'" + p.name() + "'"),
          Code::kInvalidArgument);
    }
  }
}

void Optimizer::report_stale() {
  int64_t index = 0;
  for (int group = 0; group < groups() && !reported_; ++group) {
    for (const Tensor& p : group_params(group)) {
      const int64_t number = index++;
      const SparseSlot* rows = sparse_slot(p.impl());
      const Tensor g = rows == nullptr ? p.grad() : Tensor();
      const bool added_to =
          rows != nullptr ? rows->added_to : g.defined() && g.storage().applied().added_to;
      if (!added_to) continue;
      const int64_t applied = rows != nullptr ? rows->applied_step : g.storage().applied().step;
      reported_ = true;
      warn_text(
          "stale-gradient",
          "step " + std::to_string(steps_ + 1) + ": gradient of " +
              (p.name().empty() ? "parameter " + std::to_string(number) : "'" + p.name() + "'") +
              " was already applied in step " + std::to_string(applied) +
              " and then added to. Call zero_grad() after step(), or declare accumulation "
              "with opt.accumulate(k).");
      break;
    }
  }
}

void Optimizer::mark_applied(int64_t step) {
  for (int group = 0; group < groups(); ++group) {
    for (const Tensor& p : group_params(group)) {
      if (SparseSlot* rows = sparse_slot(p.impl())) {
        rows->applied_step = step;
        rows->added_to = false;
      } else if (Tensor g = p.grad(); g.defined()) {
        g.storage().set_applied(step);
      }
    }
  }
}

void Optimizer::zero_grad(bool set_to_none) {
  ProfileRange range("zero_grad");
  NoGrad guard;
  for (int group = 0; group < groups(); ++group) {
    for (const Tensor& p : group_params(group)) {
      const bool sparse = has_sparse_grad(p);
      if (!sparse && !p.grad().defined()) continue;
      if (sparse && !set_to_none) {
        set_no_rows(p);
      } else if (set_to_none) {
        p.set_grad(Tensor());
      } else {
        // A new tensor, because the old gradient may be shared with a graph or the user.
        p.set_grad(zeros_like(p));
      }
    }
  }
}

}  // namespace wick::optim
