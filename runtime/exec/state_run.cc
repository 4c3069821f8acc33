#include "runtime/exec/state_run.h"

#include <cstring>

namespace wick {
namespace {

bool has(Span<DeviceTensor* const> tensors, size_t port) {
  return port < tensors.size() && tensors[port] != nullptr;
}

}  // namespace

Status StateRun::take(const RunOptions& options, const Program& program, const EntryDef& entry) {
  release();
  RecurrentState* const state = options.state;
  if (state == nullptr) return {};
  if (&state->program_ != &program || (!state->links().empty() && &state->entry_ != &entry))
    return Status(Code::kInvalidArgument, "the state was made for another program or entry point");
  for (const RecurrentState::Slot& link : state->links()) {
    const bool in = has(options.device_inputs, link.input);
    if (!in && !has(options.device_outputs, link.output)) continue;
    const uint32_t port = in ? entry.body().inputs[link.input] : entry.body().outputs[link.output];
    return error(Code::kInvalidArgument,
                 "%s %.60s is linked by the state and has a tensor on the device as well: give one "
                 "of the two",
                 in ? "input" : "output", entry.values[port].name);
  }
  if (state->in_run_.exchange(1, std::memory_order_acquire) != 0) {
    return Status(Code::kInvalidArgument,
                  "another run uses this state: the steps of a stream come one after the other");
  }
  state_ = state;
  for (RecurrentState::Slot& slot : state->slots_) slot.made = false;
  return {};
}

void StateRun::release() {
  if (state_ == nullptr) return;
  state_->in_run_.store(0, std::memory_order_release);
  state_ = nullptr;
}

Status StateRun::join_inputs(Span<const TensorView> given, Span<TensorView> all) const {
  const auto links = state_->links();
  if (given.size() + links.size() != all.size()) {
    return error(Code::kInvalidArgument,
                 "%zu inputs given, the program has %zu besides those that the state links",
                 given.size(), all.size() - links.size());
  }
  for (const RecurrentState::Slot& link : links) all[link.input] = link.view(link.now);
  size_t next = 0;
  for (TensorView& v : all) {
    if (!v.present()) v = given[next++];
  }
  return {};
}

Status StateRun::join_outputs(Span<const TensorView> given, Span<TensorView> all) const {
  const auto links = state_->links();
  if (given.size() + links.size() != all.size()) {
    return error(Code::kInvalidArgument,
                 "%zu outputs given, the program has %zu besides those that the state links",
                 given.size(), all.size() - links.size());
  }
  size_t next = 0, link_of[kMostLinked] = {};
  for (size_t i = 0; i < links.size(); ++i) link_of[links[i].output] = i + 1;
  for (size_t k = 0; k < all.size(); ++k) {
    if (link_of[k] == 0) {
      all[k] = given[next++];
      continue;
    }
    RecurrentState::Slot& link = links[link_of[k] - 1];
    all[k] = link.view(1 - link.now);
    link.made = true;
  }
  return {};
}

void StateRun::part_outputs(Span<const TensorView> all, Span<TensorView> given) const {
  size_t next = 0;
  for (size_t k = 0; k < all.size(); ++k) {
    if (!links_output(state_, k)) given[next++] = all[k];
  }
}

TensorView StateRun::next(size_t output) const {
  if (state_ == nullptr) return {};
  for (const RecurrentState::Slot& link : state_->links()) {
    if (link.output == output) return link.view(1 - link.now);
  }
  return {};
}

bool StateRun::links_input(const RecurrentState* state, size_t input) {
  if (state == nullptr) return false;
  for (const RecurrentState::Slot& link : state->links()) {
    if (link.input == input) return true;
  }
  return false;
}

bool StateRun::links_output(const RecurrentState* state, size_t output) {
  if (state == nullptr) return false;
  for (const RecurrentState::Slot& link : state->links()) {
    if (link.output == output) return true;
  }
  return false;
}

void StateRun::write(uint32_t state, const void* from) {
  RecurrentState::Slot& slot = state_->slots_[state];
  const TensorView to = slot.view(1 - slot.now);
  if (to.nbytes() != 0) memcpy(to.data, from, to.nbytes());
  slot.made = true;
}

void StateRun::succeed() {
  if (state_ == nullptr) return;
  for (RecurrentState::Slot& slot : state_->slots_) {
    if (slot.made) slot.now = 1 - slot.now;
    slot.made = false;
  }
}

}  // namespace wick
