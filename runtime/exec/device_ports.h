// DevicePorts: the inputs and outputs of a run that are tensors on the session's device.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/exec/runner.h"
#include "runtime/exec/session.h"

namespace wick {

class DevicePorts {
 public:
  DevicePorts(SessionValues& values, SessionMemory& memory, const Backend* backend)
      : values_(values),
        memory_(memory),
        home_(backend == nullptr ? nullptr : backend->home()),
        has_backend_(backend != nullptr) {}
  ~DevicePorts() {
    for (Buffer& buffer : staging_) memory_.release(buffer);
  }

  // Takes the tensors of the run that begins, and its inputs. Only the first run with some
  // allocates.
  Status take(const RunOptions& options, Span<const TensorView> inputs) {
    any_ = overwritten_ = lacked_memory_ = false;
    if (options.device_inputs.empty() && options.device_outputs.empty()) return {};
    // Machines with little memory have no such devices, and no room for the code.
    if (WICK_SMALL) return Status(Code::kUnsupported, "this build has no tensors on devices");
    return take_some(options, inputs);
  }
  // Returns whether the run has any.
  bool any() const { return !WICK_SMALL && any_; }
  // Return the tensor of a port; null: the host has it.
  DeviceTensor* input(size_t i) const { return any() ? inputs_[i] : nullptr; }
  DeviceTensor* output(size_t i) const { return any() ? outputs_[i] : nullptr; }
  // Returns the run's inputs, where those on the device have a dtype, a shape, and no data but what
  // bring() read; `given` if none is there.
  Span<const TensorView> views_or(Span<const TensorView> given) const {
    return any() ? Span<const TensorView>(views_) : given;
  }

  // Call it when the session is bound: finds which values stay on the device, and reads the inputs
  // that do not. `device`: the backend in use; null: only the CPU.
  Status bring(const Runner& runner, const Backend* device) {
    return any() ? bring_some(runner, device) : Status();
  }
  // Checks the tensors of outputs, whose shapes are known.
  Status check_outputs() const { return any() ? check_some() : Status(); }
  // Sets the run's tensors by value.
  void lend(RunCtx& ctx) const {
    if (!any()) return;
    ctx.device_in = direct_in_;
    ctx.device_out = direct_out_;
  }
  // All steps have run: tensors that stayed on the device have their new values.
  void ran() { overwritten_ = any() && updates_; }
  // Returns whether an input of this run was overwritten by an output, so that it cannot run again.
  bool overwritten() const { return overwritten_; }
  // Copies an output that did not stay on the device to its tensor.
  Status give(size_t i);
  // Returns whether a transfer of this run had no memory: the device is healthy, and the CPU alone
  // would need the same transfer.
  bool lacked_memory() const { return lacked_memory_; }

 private:
  Status reserve();
  Status take_some(const RunOptions& options, Span<const TensorView> inputs);
  Status bring_some(const Runner& runner, const Backend* device);
  Status check_some() const;
  bool is_input(const DeviceTensor* tensor) const;
  bool stays(const StagePlan& plan, const Backend* device, uint32_t value, bool made,
             bool last = false) const;
  Status noted(Status transferred);

  SessionValues& values_;
  SessionMemory& memory_;
  const void* home_;
  bool has_backend_, any_ = false;
  bool updates_ = false, overwritten_ = false;  // outputs that stay on the device are inputs, too
  bool lacked_memory_ = false;
  Span<DeviceTensor*> inputs_, outputs_;        // by port
  Span<DeviceTensor*> direct_in_, direct_out_;  // by value: those that stay on the device
  Span<TensorView> views_;                      // of inputs
  Span<Buffer> staging_;                        // of inputs that the host reads, by port
};

}  // namespace wick
