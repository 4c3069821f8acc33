// The trace of ops, one op end to end, and the strict broadcast check.
#include <gtest/gtest.h>

#include <sstream>

#include "trainer/explain/broadcast_check.h"
#include "trainer/explain/trace_ops.h"
#include "trainer/explain/warn.h"
#include "trainer/nn/layers.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

TEST(TraceOps, OneAddEndToEnd) {
  Tensor a = ones({2, 3}).named("a").requires_grad_();
  Tensor b = ones({3}).named("b");
  std::ostringstream out;
  {
    TraceOps trace(out, {.times = false, .detail = true});
#line 12 "example.cc"
    Tensor c = a + b;
    Tensor d = c.t();
#line 25 "trace_test.cc"
  }
  EXPECT_EQ(out.str(),
            "1 add float32[2,3] float32[3] -> float32[2,3] add.f32.simd (example.cc:12)\n"
            "    call      add(float32[2,3] float32[3]), op Add\n"
            "    shapes    the rule of Add: -> float32[2,3]\n"
            "    dispatch  first match of cpu: add.f32.simd\n"
            "    kernel    add.f32.simd: float32[2,3] float32[3] -> float32[2,3]\n"
            "    node      add, gradient to input 0 (leaf 'a'); keeps nothing for backward\n"
            "2 permute float32[2,3] -> float32[3,2] view (example.cc:13)\n"
            "    call      permute(float32[2,3]), op Transpose\n"
            "    shapes    the rule of Transpose: -> float32[3,2]\n"
            "    dispatch  none: the result is a view of input 0, no bytes move\n"
            "    node      permute, gradient to input 0 (add); keeps nothing for backward\n");
}

TEST(TraceOps, ReferenceKernelsOnRequest) {
  Tensor a = ones({2});
  std::ostringstream out;
  {
    ReferenceKernelsScope reference;
    TraceOps trace(out, {.times = false});
#line 20 "example.cc"
    Tensor b = a * a;
#line 48 "trace_test.cc"
  }
  EXPECT_EQ(out.str(), "1 mul float32[2] float32[2] -> float32[2] mul.f32.ref (example.cc:20)\n");
}

TEST(TraceOps, BackwardAndModules) {
  struct Net : nn::Module {
    nn::Child<nn::Linear> fc{this, "fc", 2, 1};
    Tensor forward(const Arg& x) override { return fc(x); }
  } net;
  std::ostringstream out;
  Tensor x = ones({1, 2});
  {
    TraceOps trace(out, {.times = false});
#line 30 "example.cc"
    net(x).sum().backward();
#line 63 "trace_test.cc"
  }
  const std::string text = out.str();
  EXPECT_NE(text.find("1 fc linear float32[1,2] float32[1,2] float32[1] -> float32[1,1] "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("backward of sum (example.cc:30), gradient float32[]\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("backward of linear in fc (example.cc:30), gradient float32[1,1]\n"),
            std::string::npos)
      << text;
}

TEST(BroadcastCheck, FindsRankExpansionAndTwoWay) {
  CollectWarnings collected;
  BroadcastCheck check;
  Tensor square = ones({4, 4}), row = ones({4}).named("bias"), column = ones({4, 1});
  square* square;        // equal
  square* column;        // written out
  square * 2.0;          // a number
  square* ones({1, 1});  // one element
  EXPECT_EQ(check.findings().size(), 0U);
#line 40 "example.cc"
  Tensor s = square + row;
  Tensor t = row - column;
#line 87 "trace_test.cc"
  ASSERT_EQ(check.findings().size(), 2U);
  EXPECT_EQ(check.findings()[0],
            "[add] left [4,4] and 'bias' [4] give [4,4]: the right one is repeated along the "
            "leading dimensions. (Rule: shapes are aligned at their last dimension; a missing or "
            "1-sized dimension is repeated.) Both axes have this size: if one value a row was "
            "meant, reshape({4, 1}) (or keepdim = true where it was reduced) (example.cc:40)");
  EXPECT_EQ(check.findings()[1],
            "[sub] 'bias' [4] and right [4,1] give [4,4]: both are stretched, every one meets "
            "every other one. (Rule: shapes are aligned at their last dimension; a missing or "
            "1-sized dimension is repeated.) Element by element: give both one shape, e.g. "
            "right.reshape({4}) (example.cc:41)");
  EXPECT_EQ(collected.warnings().size(), 2U);
}

// It also finds two of one rank: the text must not speak of leading dimensions.
TEST(BroadcastCheck, FindsTwoWayOfOneRank) {
  CollectWarnings collected;
  BroadcastCheck check;
#line 42 "example.cc"
  Tensor t = ones({4, 1}) - ones({1, 4});
#line 112 "trace_test.cc"
  ASSERT_EQ(check.findings().size(), 1U);
  EXPECT_EQ(check.findings()[0],
            "[sub] left [4,1] and right [1,4] give [4,4]: both are stretched, every one meets "
            "every other one. (Rule: shapes are aligned at their last dimension; a missing or "
            "1-sized dimension is repeated.) Element by element: give both one shape, e.g. "
            "right.reshape({4, 1}) (example.cc:42)");
}

// The library's own layers broadcast on purpose; backward does, too.
TEST(BroadcastCheck, LayersAndBackwardAreQuiet) {
  nn::Sequential net(nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::Flatten(),
                     nn::Linear(4 * 4, 10));
  BroadcastCheck check;
  cross_entropy(net(rand({3, 1, 4, 4})), zeros({3}, DType::kI64)).backward();
  EXPECT_EQ(check.findings(), std::vector<std::string>());
}

}  // namespace
}  // namespace wick
