// Recurrent cells at sizes that the rows do not have, against the f64 reference.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/bounds.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/run_call.h"

namespace wick::test {
namespace {

void within_bounds(OpId op, const Sample& s) {
  SCOPED_TRACE(std::string(find_op(op)->name) + " " + s.name);
  const auto in = make_inputs(s), exact = make_inputs(s, DType::kF64);
  std::vector<Value> want, got;
  Status status = run_op(op, s.attrs.get(), exact, s.outputs, reference_sets(), nullptr, &want);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const Value& w : want) got.emplace_back(DType::kF32, w.view().shape);
  status = run_call(*shared_context(true), op, s, in, got);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t k = 0; k < want.size(); ++k) {
    const auto bounds = vulkan_bounds(op, s.attrs.get(), exact, want[k]);
    for (int64_t i = 0; i < want[k].view().numel(); ++i) {
      const double off = std::fabs(got[k].at(i) - want[k].at(i));
      ASSERT_LE(off, bounds[static_cast<size_t>(i)]) << "output " << k << " element " << i;
    }
  }
}

// States of more numbers than a work group has lanes, and of one.
TEST(VulkanRecurrent, StatesOfAnySize) {
  WICK_NEED_DEVICE();
  const struct {
    OpId op;
    int64_t gates;
    int outputs;
  } cells[] = {{OpId::kRNN, 1, 2}, {OpId::kGRU, 3, 2}, {OpId::kLSTM, 4, 3}};
  for (const auto& cell : cells) {
    for (int64_t hidden : {1, 130, 300}) {
      RnnAttrs a;
      a.direction = 2;
      const int64_t rows = cell.gates * hidden;
      const double size = 1 / std::sqrt(static_cast<double>(hidden));
      const Input lengths = {DType::kI32, {3}, 0, 0, {4, 0, 2}};
      const Sample s = sample(
          "H" + std::to_string(hidden),
          {f32({4, 3, 9}, -1, 1), f32({2, rows, 9}, -0.3, 0.3), f32({2, rows, hidden}, -size, size),
           f32({2, 2 * rows}, -0.5, 0.5), lengths, f32({2, 3, hidden}, -1, 1)},
          a, cell.outputs);
      within_bounds(cell.op, s);
    }
  }
}

TEST(VulkanRecurrent, AWrongLengthIsAnError) {
  WICK_NEED_DEVICE();
  for (double wrong : {-1.0, 5.0}) {
    const Sample s = sample("lengths",
                            {f32({4, 2, 3}), f32({1, 5, 3}), f32({1, 5, 5}), f32({1, 10}),
                             Input{DType::kI32, {2}, 0, 0, {4, wrong}}},
                            RnnAttrs{}, 2);
    const auto in = make_inputs(s);
    std::vector<Value> out;
    EXPECT_EQ(run_op(OpId::kRNN, s.attrs.get(), in, 2, reference_sets(), nullptr, &out).code(),
              Code::kInvalidArgument);
    out.clear();
    out.emplace_back(DType::kF32, Shape{4, 1, 2, 5});
    out.emplace_back(DType::kF32, Shape{1, 2, 5});
    const Status status = run_call(*shared_context(false), OpId::kRNN, s, in, out);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_STREQ(status.message(), "a sequence's length is out of range");
  }
}

}  // namespace
}  // namespace wick::test
