#include "runtime/exec/device_ports.h"

namespace wick {
namespace {

size_t count_of(Span<const uint32_t> ids, uint32_t id) {
  size_t n = 0;
  for (uint32_t other : ids) n += other == id ? 1 : 0;
  return n;
}

}  // namespace

// The lists live as long as the session.
Status DevicePorts::reserve() {
  if (!inputs_.empty() || !outputs_.empty()) return {};
  const RegionDef& body = values_.entry.body();
  const size_t ins = body.inputs.size(), outs = body.outputs.size(),
               values = values_.entry.values.size();
  WICK_ASSIGN(views_, values_.frame.array<TensorView>(ins));
  WICK_ASSIGN(staging_, values_.frame.array<Buffer>(ins));
  WICK_ASSIGN(const auto all, values_.frame.array<DeviceTensor*>(ins + outs + 2 * values));
  direct_in_ = all.subspan(0, values);
  direct_out_ = all.subspan(values, values);
  inputs_ = all.subspan(2 * values, ins);
  outputs_ = all.subspan(2 * values + ins, outs);
  return {};
}

Status DevicePorts::take_some(const RunOptions& options, Span<const TensorView> inputs) {
  const RegionDef& body = values_.entry.body();
  if (!has_backend_) {
    return Status(Code::kInvalidArgument,
                  "tensors on a device are given, and the session has no device: open it with "
                  "SessionOptions::backend");
  }
  if (inputs.size() != body.inputs.size()) return {};  // which is refused later
  WICK_TRY(reserve());
  for (size_t i = 0; i < inputs.size(); ++i) views_[i] = inputs[i];
  bool some = false;
  for (const bool out : {false, true}) {
    const Span<DeviceTensor* const> given = out ? options.device_outputs : options.device_inputs;
    const Span<const uint32_t> ids = out ? body.outputs : body.inputs;
    const Span<DeviceTensor*> tensors = out ? outputs_ : inputs_;
    if (given.size() > ids.size()) {
      return error(Code::kInvalidArgument, "%zu device %s given, the program has %zu", given.size(),
                   out ? "outputs" : "inputs", ids.size());
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      DeviceTensor* t = tensors[i] = i < given.size() ? given[i] : nullptr;
      if (t == nullptr) continue;
      some = true;
      const char* name = values_.entry.values[ids[i]].name;
      if (t->home() != home_ || home_ == nullptr) {
        return error(Code::kInvalidArgument,
                     "%s %.60s: its tensor is on another device than the session's",
                     out ? "output" : "input", name);
      }
      if (!out) views_[i] = {nullptr, t->dtype(), t->shape()};
      for (size_t k = 0; out && k < i; ++k) {
        if (tensors[k] != t) continue;
        return error(Code::kInvalidArgument, "outputs %.60s and %.60s have the same device tensor",
                     values_.entry.values[ids[k]].name, name);
      }
    }
  }
  any_ = some;
  return {};
}

bool DevicePorts::is_input(const DeviceTensor* tensor) const {
  for (const DeviceTensor* input : inputs_) {
    if (input == tensor) return true;
  }
  return false;
}

// A value stays on the device if the device alone reads or makes it, and a run has it once. The
// host reads what becomes a state. `last`: only the last partition may make it.
bool DevicePorts::stays(const StagePlan& plan, const Backend* device, uint32_t value, bool made,
                        bool last) const {
  if (count_of(values_.entry.body().outputs, value) != (made ? 1u : 0u)) return false;
  for (const StateUpdateDef& u : values_.entry.state_updates) {
    if (u.value == value) return false;
  }
  bool makes = false;
  for (const BoundPartition& part : plan.partitions) {
    if (count_of(part.inputs, value) != 0 && (made || part.backend != device)) return false;
    if (count_of(part.outputs, value) == 0) continue;
    makes = part.backend == device && (!last || &part == &plan.partitions.back());
  }
  return !made || makes;
}

Status DevicePorts::bring_some(const Runner& runner, const Backend* device) {
  const RegionDef& body = values_.entry.body();
  // Of several stages, regions and later stages may read anything.
  const StagePlan* plan =
      device != nullptr && runner.whole() ? &runner.regions()[0]->plan : nullptr;
  for (size_t v = 0; v < direct_in_.size(); ++v) direct_in_[v] = direct_out_[v] = nullptr;
  updates_ = overwritten_ = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] == nullptr) continue;
    const uint32_t v = body.inputs[i];
    views_[i].data = nullptr;
    if (plan != nullptr && stays(*plan, device, v, false)) {
      direct_in_[v] = inputs_[i];
      continue;
    }
    WICK_TRY(noted(memory_.grow(staging_[i], views_[i].nbytes() + 1)));
    views_[i].data = staging_[i].data;
    WICK_TRY(annotate(noted(inputs_[i]->read(views_[i])),
                      "input %.60s: ", values_.entry.values[v].name));
  }
  for (size_t i = 0; plan != nullptr && i < outputs_.size(); ++i) {
    const uint32_t v = body.outputs[i];
    if (outputs_[i] == nullptr) continue;
    // Later partitions, or the CPU after a failure, would read an input that was overwritten early.
    const bool updates = is_input(outputs_[i]);
    if (!stays(*plan, device, v, true, updates)) continue;
    direct_out_[v] = outputs_[i];
    updates_ = updates_ || updates;
  }
  return {};
}

Status DevicePorts::check_some() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == nullptr) continue;
    const uint32_t v = values_.entry.body().outputs[i];
    const TensorView& have = values_.views[v];
    const char* name = values_.entry.values[v].name;
    if (outputs_[i]->dtype() != have.dtype) {
      return error(Code::kTypeMismatch, "output %.60s is %s, its tensor on the device %s", name,
                   dtype_name(have.dtype), dtype_name(outputs_[i]->dtype()));
    }
    if (outputs_[i]->shape() != have.shape) {
      return error(Code::kShapeMismatch, "output %.60s has shape %s, its tensor on the device %s",
                   name, to_text(have.shape).text, to_text(outputs_[i]->shape()).text);
    }
  }
  return {};
}

Status DevicePorts::give(size_t i) {
  const uint32_t v = values_.entry.body().outputs[i];
  if (direct_out_[v] != nullptr) return {};
  return annotate(noted(outputs_[i]->write(values_.views[v])),
                  "output %.60s: ", values_.entry.values[v].name);
}

Status DevicePorts::noted(Status transferred) {
  lacked_memory_ = lacked_memory_ || transferred.code() == Code::kOutOfMemory;
  return transferred;
}

}  // namespace wick
