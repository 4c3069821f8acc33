// Decides whether steps are worth the copies to a device and back.
#pragma once

#include "runtime/backend/backend.h"

namespace wick::vulkan {

// The work of a step, independent of where it runs.
struct Work {
  uint64_t flops = 0;  // a multiply-add counts as two; moves and look-ups as none
  uint64_t bytes = 0;  // of inputs and outputs, counted once each
};
Work work_of(const KernelQuery& query);
Work work_of(const PartitionSpec& spec, const PlanStep& step);

// Steps between others that run on the CPU go to the device if the CPU would need longer for them
// than their copies and one submission take. The device's own time is ignored: it is assumed to be
// short. Machine-dependent numbers are fixed round values, so that the same program is divided in
// the same way everywhere.
constexpr uint64_t kCpuFlopsPerNs = 50;     // a few cores with SIMD
constexpr uint64_t kCpuBytesPerNs = 10;     // memory
constexpr uint64_t kCopyBytesPerNs = 8;     // between host and device
constexpr uint64_t kSubmissionNs = 50'000;  // time to submit a command buffer and wait for it

// Returns ok, or the estimate that speaks against it.
Status worth_copying(const PartitionSpec& spec);

}  // namespace wick::vulkan
