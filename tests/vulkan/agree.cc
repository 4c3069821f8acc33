#include "tests/vulkan/agree.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/backend/vulkan/graph/graph.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/bounds.h"
#include "tests/vulkan/device.h"

namespace wick::test {

using vulkan::TensorId;
using vulkan::VulkanGraph;

Status run_on_device(OpId op, const void* attrs, const std::vector<Value>& in,
                     const std::vector<Value>& out) {
  VulkanGraph graph(*shared_context(true), default_allocator());
  std::vector<TensorId> in_ids, out_ids;
  std::vector<TensorView> known = views(in);
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t k = 0; k < in.size(); ++k) {
    in_ids.push_back(vulkan::kNoTensor);
    if (!known[k].present() || !vulkan::reads_input(op, k)) continue;
    WICK_ASSIGN(in_ids[k], graph.add_input(known[k].dtype, known[k].shape));
    inputs.push_back(known[k].data);
  }
  for (const Value& v : out) {
    WICK_ASSIGN(TensorId id, graph.add_temporary(v.view().dtype, v.view().shape));
    out_ids.push_back(id);
    outputs.push_back(v.view().data);
  }
  WICK_TRY(graph.add_call(op, attrs, in_ids, out_ids, known));
  for (TensorId id : out_ids) WICK_TRY(graph.add_output(id));
  WICK_TRY(graph.finish());
  return graph.run(inputs, outputs);
}

namespace {

// Compares by value: zeros of either sign are alike, and so are NaNs.
std::string differs(const Value& want, const Value& got) {
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const double a = want.at(i), b = got.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    return fmt::format("element {}: {:.9g}, the CPU's {:.9g}", i, b, a);
  }
  return "";
}

std::string beyond_bounds(OpId op, const void* attrs, const std::vector<Value>& in,
                          const Value& want, const Value& got) {
  const auto bounds = vulkan_bounds(op, attrs, in, want);
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const double a = want.at(i), b = got.at(i), bound = bounds[static_cast<size_t>(i)];
    if (static_cast<float>(a) == static_cast<float>(b) || (std::isnan(a) && std::isnan(b)))
      continue;
    if (!(std::fabs(a - b) <= bound))
      return fmt::format("element {}: {:.9g}, exact {:.9g}, bound {:.3g}", i, b, a, bound);
  }
  return "";
}

}  // namespace

bool agrees(OpId op, const Sample& s, To to) {
  SCOPED_TRACE(s.name);
  const auto in = make_inputs(s), wide_in = make_inputs(s, DType::kF64);
  std::vector<Value> cpu, wide, got;
  if (!run_op(op, s.attrs.get(), in, s.outputs, cpu_sets(), nullptr, &cpu).ok() ||
      cpu[0].view().numel() == 0)
    return false;
  EXPECT_TRUE(run_op(op, s.attrs.get(), wide_in, s.outputs, reference_sets(), nullptr, &wide).ok());
  for (const Value& v : cpu) got.emplace_back(v.view().dtype, v.view().shape);
  const Status status = run_on_device(op, s.attrs.get(), in, got);
  EXPECT_TRUE(status.ok()) << status.message();
  for (size_t k = 0; k < got.size(); ++k) {
    const bool whole = to == To::kCpu || got[k].view().dtype != DType::kF32;
    EXPECT_EQ(whole ? differs(cpu[k], got[k])
                    : beyond_bounds(op, s.attrs.get(), wide_in,
                                    to == To::kOracle ? wide[k] : cpu[k], got[k]),
              "");
  }
  return true;
}

}  // namespace wick::test
