// Vulkan devices in C++: a backend for SessionOptions::backend, and tensors that stay on the
// device. The library is Wick::vulkan. Example (tests/vulkan/sessions_test.cc):
//
//   auto vulkan = wick::VulkanBackend::create(wick::default_allocator());
//   wick::SessionOptions options;
//   if (vulkan.ok()) options.backend = vulkan->get();  // else the CPU runs all
//   auto session = wick::Session::create(**program, options);
//
// The backend is declared before its sessions, so that it is destroyed after them.
#pragma once

#include "runtime/backend/device_tensor.h"
#include "runtime/backend/vulkan/backend.h"
#include "wick/runtime.h"
