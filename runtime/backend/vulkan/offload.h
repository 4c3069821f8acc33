// Whether steps are worth their way to a device and back.
#pragma once

#include "runtime/backend/backend.h"

namespace wick::vulkan {

// What a step must do wherever it runs.
struct Work {
  uint64_t flops = 0;  // a multiplication and an addition are two; moving and looking up are none
  uint64_t bytes = 0;  // of inputs and outputs, each once
};
Work work_of(const KernelQuery& query);
Work work_of(const PartitionSpec& spec, const PlanStep& step);

// Steps between others that run on the CPU go to the device where the CPU would need longer for
// them than their copies and one submission take. A device's own time is left out: that it is
// shorter is why there is one. What machines differ in is set to round numbers, so that the same
// program is cut the same way everywhere.
constexpr uint64_t kCpuFlopsPerNs = 50;     // a few cores with SIMD
constexpr uint64_t kCpuBytesPerNs = 10;     // memory
constexpr uint64_t kCopyBytesPerNs = 8;     // between host and device
constexpr uint64_t kSubmissionNs = 50'000;  // to hand a command buffer over and wait for it

// Ok, or the estimate that speaks against it.
Status worth_copying(const PartitionSpec& spec);

}  // namespace wick::vulkan
