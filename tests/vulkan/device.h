// The Vulkan device the tests of this folder run on.
#pragma once

#include <gtest/gtest.h>

#include "runtime/backend/vulkan/ctx/context.h"

namespace wick::test {

// One context for the whole program; null when there is no device.
vulkan::Context* shared_context(bool force_staging);

// Why shared_context is null.
const char* no_device_reason();

#define WICK_NEED_DEVICE()                                                    \
  if (::wick::test::shared_context(false) == nullptr) {                       \
    GTEST_SKIP() << "no Vulkan device: " << ::wick::test::no_device_reason(); \
  }

}  // namespace wick::test
