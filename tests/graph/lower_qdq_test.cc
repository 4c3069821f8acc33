// QDQ graphs lowered: which integer op each pattern is, how far from the float form, what stays
// float and why.
#include "graph/passes/lower_qdq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "graph/rewrite/pass.h"
#include "tests/graph/qdq_builder.h"
#include "tests/support/error_of.h"

namespace wick::ir {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Step kIn{0.02F, 120}, kOut{0.05F, 131}, kPositive{0.04F, 0};

// The largest difference of two byte tensors, in steps.
int steps_apart(const HostTensor& a, const HostTensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.shape(), b.shape());
  int most = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    most = std::max(most, std::abs(static_cast<int>(element_as_double(a, i)) -
                                   static_cast<int>(element_as_double(b, i))));
  }
  return most;
}

struct Lowered {
  Graph graph;
  LowerReport report;
};
// Lowered, with bytes at most `room` steps from the float form's; what the exact passes make of it
// has the same bits, and it reads back from its text.
Lowered check(const Graph& g, const std::vector<HostTensor>& in, int room = 1) {
  Lowered l{g, {}};
  lower_qdq(l.graph, &l.report);
  const auto want = run(g, in), got = run(l.graph, in);
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].dtype() != DType::kF32) {
      EXPECT_LE(steps_apart(got[i], want[i]), room) << "output " << i;
      continue;
    }
    double largest = 0;
    for (int64_t k = 0; k < want[i].numel(); ++k)
      largest = std::max(largest, std::fabs(element_as_double(want[i], k)));
    for (int64_t k = 0; k < want[i].numel(); ++k) {
      EXPECT_NEAR(element_as_double(got[i], k), element_as_double(want[i], k), 1e-5 * largest) << k;
    }
  }
  Graph after = l.graph;
  optimize(after);
  const auto fast = run(after, in);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(fast[i], got[i])) << "output " << i;
  EXPECT_EQ(print(parse_graph(print(l.graph, true)), true), print(l.graph, true));
  return l;
}

// LeNet as a calibrated graph has it: a pair behind every layer, relu between a layer and its pair.
struct LeNet : QdqBuilder {
  LeNet() {
    const ValueId x = input("image", Shape{2, 1, 20, 20});
    ValueId v = pair(x, {0.01F, 128}, "first");
    v = conv(v, 0.01F, Shape{6, 1, 3, 3}, 1);
    v = pair(g.emit(OpId::kRelu, {v}, "relu1"), kPositive);
    v = pair(g.emit(OpId::kMaxPool, PoolAttrs{{2, 2}, {2, 2}, {}, {}}, {v}, "pool1"), kPositive);
    v = conv(v, kPositive.scale, Shape{8, 6, 3, 3}, 2);
    v = pair(g.emit(OpId::kRelu, {v}, "relu2"), kPositive);
    v = pair(g.emit(OpId::kAveragePool, PoolAttrs{{2, 2}, {2, 2}, {}, {}}, {v}, "pool2"),
             kPositive);
    v = pair(g.emit(OpId::kFlatten, AxisAttrs{1}, {v}, "flatten"), kPositive);
    const std::vector<float> s(10, 0.002F);
    v = g.emit(OpId::kLinear, {v, weight(Shape{10, 72}, s, 0, 3), bias(kPositive.scale, s, 10)},
               "fc");
    g.add_output("logits", pair(v, {0.3F, 100}));
  }
  ValueId conv(ValueId v, float x_scale, const Shape& shape, int seed) {
    std::vector<float> s;
    for (int64_t i = 0; i < shape[0]; ++i) s.push_back(0.002F + 0.0003F * static_cast<float>(i));
    const ValueId w = weight(shape, s, 0, seed), b = bias(x_scale, s, shape[0]);
    return g.emit(OpId::kConv, ConvAttrs{}, {v, w, b}, "conv" + std::to_string(seed));
  }
};

TEST(LowerQdq, ALeNetIsIntegersFromEndToEnd) {
  const Lowered l = check(LeNet().g, {wave(Shape{2, 1, 20, 20}, 1.2F)}, 2);
  EXPECT_THAT(l.report.stayed, IsEmpty()) << l.report.text();
  EXPECT_EQ(l.report.integer, (std::map<std::string, int>{
                                  {"QLinearConv", 2}, {"QLinearAveragePool", 1}, {"QGemm", 1}}));
  EXPECT_EQ(count_of(l.graph, OpId::kQuantizeLinear), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kDequantizeLinear), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kMaxPool), 1);
  EXPECT_EQ(count_of(l.graph, OpId::kRelu), 0);
}

}  // namespace
}  // namespace wick::ir
