#include "tests/vulkan/against_oracle.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/backend/vulkan/graph/graph.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/bounds.h"
#include "tests/vulkan/device.h"

namespace wick::test {
namespace {

using vulkan::TensorId;

Status run(vulkan::Context& context, OpId op, const Sample& s, const std::vector<Value>& in,
           Value& out) {
  vulkan::VulkanGraph graph(context, default_allocator());
  const bool constants = context.force_staging();
  std::vector<TensorId> ids;
  std::vector<TensorView> known;
  std::vector<const void*> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorView v = in[i].view();
    known.push_back(v);
    if (!v.present() || !vulkan::reads_input(op, i)) {
      ids.push_back(vulkan::kNoTensor);
    } else if (constants && i > 0) {
      WICK_ASSIGN(TensorId id, graph.add_constant(v.dtype, v.shape, v.data));
      ids.push_back(id);
    } else {
      WICK_ASSIGN(TensorId id, graph.add_input(v.dtype, v.shape));
      ids.push_back(id);
      inputs.push_back(v.data);
    }
  }
  WICK_ASSIGN(TensorId id, graph.add_temporary(out.view().dtype, out.view().shape));
  WICK_TRY(graph.add_call(op, s.attrs.get(), ids, {&id, 1}, known));
  WICK_TRY(graph.add_output(id));
  WICK_TRY(graph.finish());
  void* to = out.view().data;
  return graph.run(inputs, {&to, 1});
}

// The worst |got - want| / bound, INFINITY beyond.
double worst_of(const Value& got, const Value& want, const std::vector<double>& bounds) {
  double worst = 0;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    const double off = std::fabs(got.at(i) - want.at(i)), bound = bounds[static_cast<size_t>(i)];
    if (off == 0) continue;
    if (!(off <= bound)) {
      ADD_FAILURE() << "element " << i << " is " << got.at(i) << ", exact " << want.at(i)
                    << ", bound " << bound;
      return INFINITY;
    }
    worst = std::fmax(worst, off / bound);
  }
  return worst;
}

// The f64 result of inputs that are exact in f64.
std::vector<Value> oracle(OpId op, const Sample& s, const std::vector<Value>& exact) {
  std::vector<Value> want;
  const Status status = run_op(op, s.attrs.get(), exact, 1, reference_sets(), nullptr, &want);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) want.clear();
  return want;
}

}  // namespace

double expect_within_bounds(OpId op, const Sample& s) {
  SCOPED_TRACE(s.name);
  const auto in = make_inputs(s), exact = make_inputs(s, DType::kF64);
  const auto want = oracle(op, s, exact);
  if (want.empty()) return INFINITY;
  Value staged(DType::kF32, want[0].view().shape), direct(DType::kF32, want[0].view().shape);
  for (bool first : {true, false}) {
    const Status status = run(*shared_context(first), op, s, in, first ? staged : direct);
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return INFINITY;
  }
  EXPECT_EQ(bits_differ(staged.view(), direct.view()), "");
  return worst_of(direct, want[0], vulkan_bounds(op, s.attrs.get(), exact, want[0]));
}

double expect_halves_within_bounds(vulkan::Context& context, OpId op, const Sample& s) {
  SCOPED_TRACE(s.name);
  const auto in = make_inputs(s);
  std::vector<Value> exact;
  for (const Value& v : in) {
    if (!v.view().present()) {
      exact.emplace_back();
      continue;
    }
    exact.emplace_back(DType::kF64, v.view().shape);
    for (int64_t i = 0; i < v.view().numel(); ++i) exact.back().set(i, v.at(i));
  }
  const auto want = oracle(op, s, exact);
  if (want.empty()) return INFINITY;
  Value got(DType::kF16, want[0].view().shape);
  const Status status = run(context, op, s, in, got);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return INFINITY;
  auto bounds = vulkan_bounds(op, s.attrs.get(), exact, want[0]);
  for (size_t i = 0; i < bounds.size(); ++i)
    bounds[i] += (std::fabs(want[0].at(static_cast<int64_t>(i))) + bounds[i]) * 0x1p-10 + 0x1p-24;
  return worst_of(got, want[0], bounds);
}

bool as_on_the_cpu(vulkan::Context& context, OpId op, const Sample& s) {
  SCOPED_TRACE(s.name);
  const auto in = make_inputs(s);
  std::vector<Value> want;
  Status status = run_op(op, s.attrs.get(), in, 1, cpu_sets(), nullptr, &want);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return false;
  Value got(want[0].view().dtype, want[0].view().shape);
  status = run(context, op, s, in, got);
  if (status.code() == Code::kUnsupported) return false;
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(bits_differ(got.view(), want[0].view()), "");
  return true;
}

}  // namespace wick::test
