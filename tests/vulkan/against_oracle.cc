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

Status run(OpId op, const Sample& s, const std::vector<Value>& in, bool staged, Value& out) {
  vulkan::VulkanGraph graph(*shared_context(staged), default_allocator());
  std::vector<TensorId> ids;
  std::vector<const void*> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorView v = in[i].view();
    if (!v.present()) {
      ids.push_back(vulkan::kNoTensor);
    } else if (staged && i > 0) {
      WICK_ASSIGN(TensorId id, graph.add_constant(v.dtype, v.shape, v.data));
      ids.push_back(id);
    } else {
      WICK_ASSIGN(TensorId id, graph.add_input(v.dtype, v.shape));
      ids.push_back(id);
      inputs.push_back(v.data);
    }
  }
  WICK_ASSIGN(TensorId id, graph.add_temporary(out.view().dtype, out.view().shape));
  WICK_TRY(graph.add_call(op, s.attrs.get(), ids, {&id, 1}));
  WICK_TRY(graph.add_output(id));
  WICK_TRY(graph.finish());
  void* to = out.view().data;
  return graph.run(inputs, {&to, 1});
}

}  // namespace

double expect_within_bounds(OpId op, const Sample& s) {
  SCOPED_TRACE(s.name);
  const auto in = make_inputs(s), exact = make_inputs(s, DType::kF64);
  std::vector<Value> want;
  Status status = run_op(op, s.attrs.get(), exact, 1, reference_sets(), nullptr, &want);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return INFINITY;
  Value staged(DType::kF32, want[0].view().shape), direct(DType::kF32, want[0].view().shape);
  for (bool s_ : {true, false}) {
    status = run(op, s, in, s_, s_ ? staged : direct);
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return INFINITY;
  }
  EXPECT_EQ(bits_differ(staged.view(), direct.view()), "");
  const auto bounds = vulkan_bounds(op, s.attrs.get(), exact, want[0]);
  double worst = 0;
  for (int64_t i = 0; i < direct.view().numel(); ++i) {
    const double off = std::fabs(direct.at(i) - want[0].at(i)),
                 bound = bounds[static_cast<size_t>(i)];
    if (off == 0) continue;
    if (!(off <= bound)) {
      ADD_FAILURE() << "element " << i << " is " << direct.at(i) << ", exact " << want[0].at(i)
                    << ", bound " << bound;
      return INFINITY;
    }
    worst = std::fmax(worst, off / bound);
  }
  return worst;
}

}  // namespace wick::test
