// The Vulkan device that the tests of this folder run on.
#pragma once

#include <gtest/gtest.h>

#include "runtime/backend/vulkan/ctx/context.h"

namespace wick::test {

// One context for the whole program; null when there is no device.
vulkan::Context* shared_context(bool force_staging);

// The same device, as if its shaders saw few bytes of a tensor and its allocations were small.
constexpr uint64_t kNarrow[] = {768, 1 << 13};
vulkan::Context* narrow_context(size_t i);

// Why shared_context is null.
const char* no_device_reason();

#define WICK_NEED_DEVICE()                                                    \
  if (::wick::test::shared_context(false) == nullptr) {                       \
    GTEST_SKIP() << "no Vulkan device: " << ::wick::test::no_device_reason(); \
  }

}  // namespace wick::test
