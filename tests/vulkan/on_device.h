// Makes one call on the device and on the CPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/backend/vulkan/graph/graph.h"
#include "tests/ops/values.h"

namespace wick::test {

// Puts calls into a graph, and what they are made of.
class IntoGraph final : public vulkan::Builder {
 public:
  explicit IntoGraph(vulkan::VulkanGraph& graph) : graph_(graph) {}
  // Adds one call if the device has shaders for it, else its parts.
  Status add(const vulkan::WholeCall& call);
  Result<vulkan::TensorId> temporary(DType dtype, const Shape& shape) override {
    return graph_.add_temporary(dtype, shape);
  }
  Result<vulkan::TensorId> constant(DType dtype, double value) override;
  Status call(OpId op, const void* attrs, Span<const vulkan::TensorId> in,
              Span<const vulkan::TensorId> out) override {
    return graph_.add_call(op, attrs, in, out);
  }

 private:
  vulkan::VulkanGraph& graph_;
  std::vector<std::unique_ptr<Value>> kept_;
};

// Sets `out`, whose dtypes and shapes are known. Inputs that the device does not see are known.
Status run_call(OpId op, const void* attrs, const std::vector<Value>& in, std::vector<Value>& out);

// "" when the device's bits are those of the CPU's reference kernel (NaNs alike), else what is
// different or why it did not run.
std::string differs_from_cpu(OpId op, const void* attrs, const std::vector<Value>& in,
                             int outputs = 1);

// The device gives the CPU's bits; in a test of a device.
#define WICK_EXPECT_AS_CPU(op, attrs, ...) \
  EXPECT_EQ(::wick::test::differs_from_cpu(op, attrs, {__VA_ARGS__}), "")

}  // namespace wick::test
