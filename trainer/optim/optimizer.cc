#include "trainer/optim/optimizer.h"

#include "trainer/explain/live.h"
#include "trainer/explain/warn.h"
#include "trainer/profile/range.h"

namespace wick::optim {

void Optimizer::accumulate(int64_t k, Where where) {
  if (k < 1) throw_error("accumulate", "k must be at least 1, got " + std::to_string(k), where);
  accumulate_ = k;
  calls_ = 0;
}

bool Optimizer::begin_step() {
  if (accumulate_ > 1 && ++calls_ % accumulate_ != 0) return false;
  if (ranges_heard()) begin_range("optimizer");
  if (accumulate_ > 1) return true;
  int64_t index = 0;
  for (int group = 0; group < groups() && !reported_; ++group) {
    for (const Tensor& p : group_params(group)) {
      const int64_t number = index++;
      const Tensor g = p.grad();
      if (!g.defined() || !g.storage().applied().added_to) continue;
      reported_ = true;
      warn_text(
          "stale-gradient",
          "step " + std::to_string(steps_ + 1) + ": gradient of " +
              (p.name().empty() ? "parameter " + std::to_string(number) : "'" + p.name() + "'") +
              " was already applied in step " + std::to_string(g.storage().applied().step) +
              " and then added to. Call zero_grad() after step(), or declare accumulation "
              "with opt.accumulate(k).");
      break;
    }
  }
  return true;
}

void Optimizer::end_step() {
  ++steps_;
  for (int group = 0; group < groups(); ++group) {
    for (const Tensor& p : group_params(group)) {
      if (Tensor g = p.grad(); g.defined()) g.storage().set_applied(steps_);
    }
  }
  note_optimizer_step(steps_);
  if (accumulate_ > 1) zero_grad();
  if (ranges_heard()) end_range("optimizer");
}

void Optimizer::zero_grad(bool set_to_none) {
  ProfileRange range("zero_grad");
  NoGrad guard;
  for (int group = 0; group < groups(); ++group) {
    for (const Tensor& p : group_params(group)) {
      if (!p.grad().defined()) continue;
      if (set_to_none) {
        p.set_grad(Tensor());
      } else {
        // A fresh tensor: the old gradient may be shared with a graph or with the user.
        p.set_grad(zeros_like(p));
      }
    }
  }
}

}  // namespace wick::optim
