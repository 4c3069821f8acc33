// Calls that together run every kernel, with sizes that leave partial tiles, blocks and words.
#pragma once

#include "runtime/core/arena.h"
#include "runtime/kernels/kernel.h"

namespace wick::vulkan {

// Receives each call. It also handles calls without a shader.
class SelfTestCalls {
 public:
  // Outputs have the shapes that the op's rule gives.
  virtual Status call(const KernelQuery& query) = 0;

 protected:
  ~SelfTestCalls() = default;
};

Status self_test_cases(SelfTestCalls& calls, Allocator& allocator);

}  // namespace wick::vulkan
