// Ops over 16-bit floats compute in float32 and round once: at most a step from the CPU's result.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/sets.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

class VulkanHalf : public testing::TestWithParam<DType> {
 protected:
  Value random(const Shape& shape, const char* name, double lo = -2, double hi = 2) const {
    return make_inputs(sample(name, {of(GetParam(), shape, lo, hi)}))[0];
  }
  void within_a_step(OpId op, const void* attrs, const std::vector<Value>& in) const {
    std::vector<Value> want, got;
    Status s = run_op(op, attrs, in, 1, reference_sets(), nullptr, &want);
    ASSERT_TRUE(s.ok()) << s.message();
    ASSERT_EQ(want[0].view().dtype, GetParam());
    got.emplace_back(GetParam(), want[0].view().shape);
    s = run_call(op, attrs, in, got);
    ASSERT_TRUE(s.ok()) << s.message();
    const double step = GetParam() == DType::kF16 ? 0x1p-10 : 0x1p-7;
    for (int64_t i = 0; i < want[0].view().numel(); ++i) {
      const double a = got[0].at(i), b = want[0].at(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      ASSERT_LE(std::fabs(a - b), step * std::fabs(b) + 0x1p-24) << find_op(op)->name << " " << i;
    }
  }
};

TEST_P(VulkanHalf, ElementwiseOddLengthsAndBroadcasts) {
  WICK_NEED_DEVICE();
  for (OpId op : {OpId::kExp, OpId::kTanh, OpId::kSilu, OpId::kRelu, OpId::kFloor})
    within_a_step(op, nullptr, {random({7, 9}, "x", -4, 4)});
  for (OpId op : {OpId::kAdd, OpId::kMul, OpId::kDiv, OpId::kMax})
    within_a_step(op, nullptr, {random({5, 1, 7}, "a"), random({3, 1}, "b", 0.5, 2)});
  within_a_step(OpId::kPRelu, nullptr, {random({5, 3, 7}, "x"), random({3, 1}, "slope")});
}

TEST_P(VulkanHalf, SumsAndProducts) {
  WICK_NEED_DEVICE();
  within_a_step(OpId::kMatMul, nullptr, {random({3, 17, 33}, "a"), random({33, 9}, "b")});
  AxisAttrs axis;
  axis.axis = -1;
  within_a_step(OpId::kSoftmax, &axis, {random({5, 37}, "x", -8, 8)});
  ConvAttrs conv;
  within_a_step(OpId::kConv, &conv,
                {random({2, 3, 9, 9}, "x"), random({4, 3, 3, 3}, "w"), random({4}, "b")});
  ReduceAttrs reduce;
  for (OpId op : {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceMax})
    within_a_step(op, &reduce, {random({6, 35}, "x")});
}

INSTANTIATE_TEST_SUITE_P(Types, VulkanHalf, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& p) { return std::string(dtype_name(p.param)); });

}  // namespace
}  // namespace wick::test
