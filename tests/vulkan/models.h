// Whole models for the tests of the backend, with the CPU's answer.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/exec/session.h"
#include "runtime/program/program.h"

namespace wick::test {

struct TestModel {
  std::string name;
  Owned<Program> program;
  std::vector<float> data;  // the input's, float32 or the bits of int32
  TensorView input;
  std::vector<float> want;  // the CPU's output
};

// Made once, from fixed seeds. Null where there is no Vulkan device.
const TestModel* lenet_model();  // [2, 1, 28, 28] -> [2, 10]
const TestModel* gpt_model();    // tokens [1, 8] -> [1, 8, 31]

// A test that they fail in fails.
Owned<VulkanBackend> open_device(const VulkanOptions& options = {});
Owned<Session> open_session(const TestModel& m, VulkanBackend& device, TraceHook* trace = nullptr);

// The output anew each time: where it points to the session's memory that may be gone.
Status run_into(Session& session, const TestModel& m, std::vector<float>& y);

#define WICK_NEED_MODEL(name, model)           \
  const ::wick::test::TestModel* name = model; \
  if (name == nullptr) GTEST_SKIP() << "no Vulkan device: see test_vulkan"

}  // namespace wick::test
