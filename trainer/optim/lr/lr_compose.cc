#include "trainer/optim/lr/lr_compose.h"

#include <fmt/core.h>

#include <algorithm>

namespace wick::optim {
namespace {

Optimizer& optimizer_of(const char* op, const std::vector<LrScheduler*>& parts,
                        const Where& where) {
  if (parts.empty()) throw_error(op, "no schedules", where);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == nullptr) throw_error(op, fmt::format("schedule {} is null", i), where);
    if (&parts[i]->optimizer() != &parts[0]->optimizer()) {
      throw_error(op, fmt::format("schedule {} is of another optimizer than schedule 0", i), where);
    }
    if (parts[i]->wants_metric()) {
      throw_error(op, fmt::format("schedule {}, {}, steps by a metric", i, parts[i]->name()),
                  where);
    }
  }
  return parts[0]->optimizer();
}

[[noreturn]] void no_jump(const char* name) {
  throw Error(std::string("[") + name + "] cannot jump: its rate depends on all of its steps",
              Code::kUnsupported);
}

}  // namespace

ChainedScheduler::ChainedScheduler(std::vector<LrScheduler*> schedulers, Where where)
    : LrScheduler(optimizer_of("chained_scheduler", schedulers, where), "chained_scheduler"),
      parts_(std::move(schedulers)) {
  last_step_ = 0;  // step 0 was done by the parts' constructors
}

void ChainedScheduler::set_last_step(int64_t) { no_jump(name_); }

void ChainedScheduler::fields(Fields& f) {
  for (LrScheduler* part : parts_) f.part(*part);
}

void ChainedScheduler::advance(const double*) {
  ++last_step_;
  ++step_count_;
  for (LrScheduler* part : parts_) part->step();
  for (int i = 0; i < groups(); ++i) last_lr_[static_cast<size_t>(i)] = lr(i);
}

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<LrScheduler*> schedulers,
                           std::vector<int64_t> milestones, Where where)
    : LrScheduler(optimizer, "sequential_lr"),
      parts_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  if (&optimizer_of(name_, parts_, where) != &optimizer) {
    throw_error(name_, "the schedules are of another optimizer", where);
  }
  for (const LrScheduler* part : parts_) {
    if (dynamic_cast<const SequentialLR*>(part) || dynamic_cast<const ChainedScheduler*>(part)) {
      throw_error(name_, std::string(part->name()) + " cannot be a part", where);
    }
  }
  if (milestones_.size() + 1 != parts_.size()) {
    throw_error(name_,
                fmt::format("{} schedules need {} milestones, got {}", parts_.size(),
                            parts_.size() - 1, milestones_.size()),
                where);
  }
  if (std::adjacent_find(milestones_.begin(), milestones_.end(), std::greater_equal<>()) !=
          milestones_.end() ||
      (!milestones_.empty() && milestones_[0] < 1)) {
    throw_error(name_, "milestones must be positive and ascend", where);
  }
  for (int i = 0; i < groups(); ++i) optimizer.set_lr(i, base(i));
  // Undoes step 0 of the constructors; the first part repeats it.
  for (LrScheduler* part : parts_) --part->last_step_;
  parts_[0]->start();
  last_lr_ = parts_[0]->last_lr_;
  last_step_ = 0;
}

void SequentialLR::set_last_step(int64_t) { no_jump(name_); }

void SequentialLR::fields(Fields& f) {
  for (LrScheduler* part : parts_) f.part(*part);
}

void SequentialLR::advance(const double*) {
  ++last_step_;
  ++step_count_;
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), last_step_);
  LrScheduler& part = *parts_[static_cast<size_t>(next - milestones_.begin())];
  if (next != milestones_.begin() && *(next - 1) == last_step_) {
    part.set_last_step(0);
  } else {
    part.step();
  }
  last_lr_ = part.last_lr_;
}

}  // namespace wick::optim
