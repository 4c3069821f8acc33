// Calls that between them run every kernel, at sizes that leave no tile, block or word full.
#pragma once

#include "runtime/core/arena.h"
#include "runtime/kernels/kernel.h"

namespace wick::vulkan {

// What each call is handed to. A call that has no shader is its business.
class SelfTestCalls {
 public:
  // Outputs have the shapes that the op's rule gives.
  virtual Status call(const KernelQuery& query) = 0;

 protected:
  ~SelfTestCalls() = default;
};

Status self_test_cases(SelfTestCalls& calls, Allocator& allocator);

}  // namespace wick::vulkan
