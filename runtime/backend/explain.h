// ExplainHook: receives where a session's present binding runs, why, and what that costs.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"

namespace wick {

// A node of the program, in order of execution.
struct PlacedStep {
  const char *op, *node;  // names: "Conv", "features.0.conv"
  const char* backend;    // "cpu", "vulkan"
  const char* kernel;     // the CPU's; "" on a device, which reports its kernels by themselves
  const char* why;        // why it is not on the session's backend; "": it is, or there is none
  int64_t index;          // step number as in traces; -1: not a step of a run
  // Its region, as a number in EntryDef::regions.
  size_t region;
  Span<const TensorView> in, out;  // dtypes and shapes
};

// A kernel that a device runs for a step.
struct PlacedKernel {
  const char* name;                      // the shader's name
  int64_t index;                         // the step's
  uint32_t groups[3], group_size[3];     // how many run, and of how many invocations each
  uint32_t shared_bytes, subgroup_size;  // of a group
  Span<const uint32_t> constants;        // specialisation
  uint64_t read_bytes, written_bytes;    // of memory
};

// A value that is copied between host and device in every run.
struct PlacedCopy {
  const char* value;
  TensorView type;  // dtype and shape
  bool to_device;   // else from it
  // These describe the step at the other end; "": it is an input or an output of the program.
  const char *op, *node, *backend;
};

// Consecutive steps that a device runs at once. Bytes are per run, except those that are held.
struct PlacedPart {
  const char* backend;                                  // "vulkan"
  size_t kernels, barriers;                             // that are recorded
  uint64_t read_bytes, written_bytes;                   // by kernels
  uint64_t flops;                                       // floating-point operations
  uint64_t arena_bytes, constant_bytes, staging_bytes;  // held
};

// Receives the placement of a session's steps: Session::explain.
class ExplainHook {
 public:
  // For a device's part the order is: its copies to the device, its steps, its kernels, the part
  // itself, its copies back.
  virtual void on_step(const PlacedStep& step) = 0;
  virtual void on_kernel(const PlacedKernel&) {}
  virtual void on_copy(const PlacedCopy&) {}
  virtual void on_part(const PlacedPart&) {}

 protected:
  ~ExplainHook() = default;
};

}  // namespace wick
