// Branches and loops that depend on data and that a graph cannot hold, or that capture can get
// wrong: they are refused with the line, or right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpreter/interpreter.h"
#include "tests/export/corpus.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_module.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::function<Tensor(const Tensor&)>& f) {
  Program p = form("trap", {2, 6, 8}, {batch(), time(1, 1)}, f);
  return error_of([&] { capture_call(*p.module, p.inputs, p.call); });
}

// A bare branch says how to write it.
TEST(ControlTraps, ReadingAConditionShowsTheRewrite) {
#line 10 "net.cc"
  EXPECT_EQ(
      refusal([](const Tensor& x) { return x.sum().named("score").item() > 0 ? relu(x) : exp(x); }),
      "[capture] item reads the value of a traced tensor: the graph would hold today's number. "
      "A branch on it is cond(score > 0, then_fn, else_fn, {...}), a loop for as long as it "
      "holds while_loop(cond_fn, body_fn, {...}), a loop over time scan(fn, init, xs, dim): "
      "wick/trainer.h (net.cc:10)");
  EXPECT_THAT(refusal([](const Tensor& x) -> Tensor {
                if (x.sum() > 0) return relu(x);
                return exp(x);
              }),
              AllOf(HasSubstr("cond(x > 0, then_fn"), HasSubstr("(net.cc:16)")));
  EXPECT_THAT(refusal([](const Tensor& x) {
                const Tensor sure = (x.amax() > 1).named("sure");
                return bool(sure) ? relu(x) : exp(x);
              }),
              AllOf(HasSubstr("cond(sure, then_fn"), HasSubstr("(net.cc:21)")));
  EXPECT_THAT(refusal([](const Tensor& x) {
                Tensor s = zeros({x.size(0), 8});
                for (int64_t t = 0; t < x.size(1); ++t) s = tanh(s + x.select(1, t));
                return s;
              }),
              HasSubstr("a loop over a dynamic size is scan(fn, init, xs, dim)"));
  EXPECT_THAT(refusal([](const Tensor& x) {
                const Tensor norm = sqrt((x * x).sum()).named("norm");
                return bool(norm >= 1.5) ? x / norm : x;
              }),
              HasSubstr("cond(norm >= 1.5, then_fn"));
#line 52 "control_traps_test.cc"
}

TEST(ControlTraps, BranchesThatDifferAreRefused) {
#line 10 "net.cc"
  EXPECT_EQ(
      refusal([](const Tensor& x) {
        return cond(
            x.sum() > 0, [&] { return relu(x); }, [&] { return argmax(x, 2); });
      }),
      "[cond] output 0 is float32[2,6,8] of then_fn and int64[2,6] of else_fn: the dtypes must "
      "be the same, cast with .to() (net.cc:10)");
  EXPECT_EQ(refusal([](const Tensor& x) {
              return cond(
                  x.sum() > 0,
                  [&] {
                    return std::vector<Tensor>{x, x};
                  },
                  [&] { return std::vector<Tensor>{x}; })[0];
            }),
            "[cond] then_fn returns 2 tensors and else_fn 1: both must return as many (net.cc:17)");
  EXPECT_THAT(refusal([](const Tensor& x) {
                return cond(
                    x.select(2, 0) > 0, [&] { return x; }, [&] { return -x; });
              }),
              HasSubstr("[cond] pred must be one bool, got bool[2,6]"));
  EXPECT_THAT(
      refusal([](const Tensor& x) {
        return cond(
            x.sum(), [&] { return x; }, [&] { return -x; });
      }),
      HasSubstr("[cond] pred must be one bool, got float32[]: compare it, x > 0 (net.cc:31)"));
  // the branch that today's data do not take
  EXPECT_THAT(refusal([](const Tensor& x) {
                return cond(
                    x.sum() > 1e9,
                    [&] {
                      return matmul(x, ones({3, 3}));
                    },
                    [&] { return x; });
              }),
              AllOf(HasSubstr("(net.cc:38)"), HasSubstr("then_fn is not what today's data take")));
#line 90 "control_traps_test.cc"
}

TEST(ControlTraps, AStateThatChangesIsRefused) {
#line 10 "net.cc"
  EXPECT_THAT(refusal([](const Tensor& x) {
                return while_loop([](const Tensor& y) { return y.sum() < 100; },
                                  [](const Tensor& y) { return y.to(DType::kF64); }, x);
              }),
              AllOf(HasSubstr("the state is float32[2,6,8], and the function returns float64"),
                    HasSubstr("(net.cc:10)")));
  EXPECT_THAT(refusal([](const Tensor& x) {
                return while_loop([](const Tensor& y) { return y.sum() < 1e9; },
                                  [](const Tensor& y) {
                                    return cat({y, y}, 1);
                                  },
                                  x);
              }),
              AllOf(HasSubstr("returns float32[2,12,8] for it"), HasSubstr("(net.cc:16)")));
  EXPECT_THAT(refusal([](const Tensor& x) {
                return scan(
                           [](const Tensor& s, const Tensor& x_t) { return std::pair(s + x_t, s); },
                           zeros({}), x, 1)
                    .first;
              }),
              HasSubstr("the carry is float32[], and the function returns float32[2,8]"));
#line 110 "control_traps_test.cc"
}

TEST(ControlTraps, WritesToTheOutsideAreRefused) {
  nn::BatchNorm1d norm(8);
#line 10 "net.cc"
  const auto written = [](auto write) {
    return refusal([&, write](const Tensor& x) {
      Tensor y = x * 2, mine = zeros({8});
      return cond(
          x.sum() > 0, [&] { return write(y, mine), y + mine; }, [&] { return y; });
    });
  };
  const std::string y = written([](Tensor& y, Tensor&) { y.add_(1); });
  EXPECT_THAT(y, HasSubstr("writes in then_fn of cond (net.cc:13) to a tensor of outside"));
  EXPECT_THAT(y, HasSubstr("return the new value (net.cc:17)"));
  EXPECT_THAT(written([](Tensor& y, Tensor&) { y.select(2, 0).fill_(1); }),
              HasSubstr("to a tensor of outside"));
  EXPECT_THAT(written([](Tensor&, Tensor& mine) { mine.add_(1); }),
              HasSubstr("to a tensor of outside"));
  EXPECT_THAT(written([](Tensor&, Tensor& mine) { mine.mutable_data<float>()[0] = 1; }),
              HasSubstr("to a tensor of outside"));
  EXPECT_THAT(written([](Tensor& y, Tensor&) { y.unsqueeze_(0); }),
              HasSubstr("to a tensor of outside"));
  // what a loop hands in
  EXPECT_THAT(refusal([](const Tensor& x) {
                return while_loop([](const Tensor& y) { return y.sum() < 0; },
                                  [](const Tensor& y) { return y.add_(1); }, x);
              }),
              HasSubstr("writes in body_fn of while_loop (net.cc:29) to a tensor of outside"));
#line 150 "control_traps_test.cc"
}

TEST(ControlTraps, WhatABranchMadeStaysInIt) {
#line 10 "net.cc"
  EXPECT_THAT(
      refusal([](const Tensor& x) {
        Tensor kept;
        const Tensor y = cond(
            x.sum() > 0, [&] { return kept = relu(x); }, [&] { return x; });
        return y + kept;
      }),
      AllOf(HasSubstr("a tensor that then_fn of cond (net.cc:10) made is used outside of it"),
            HasSubstr("return it from there (net.cc:10)")));
  EXPECT_THAT(
      refusal([](const Tensor& x) {
        Tensor kept;
        scan([&](const Tensor& s, const Tensor& x_t) { return std::pair(kept = s + x_t, s); },
             zeros({x.size(0), 8}), x, 1);
        return kept;
      }),
      HasSubstr("[capture]"));
  EXPECT_THAT(refusal([](const Tensor& x) {
                Tensor kept;
                const Tensor y = cond(
                    x.sum() > 0, [&] { return kept = relu(x); }, [&] { return x; });
                return cond(
                    x.sum() < 0, [&] { return kept + 1; }, [&] { return y; });
              }),
              HasSubstr("is used outside of it"));
#line 175 "control_traps_test.cc"
}

// Sizes, data and calls inside are what they are outside.
TEST(ControlTraps, WhatDiffersFromRunToRunInsideIsRefused) {
#line 10 "net.cc"
  EXPECT_THAT(refusal([](const Tensor& x) {
                return cond(
                    x.sum() > 0, [&] { return x.size(1) > 3 ? relu(x) : exp(x); },
                    [&] { return x; });
              }),
              AllOf(HasSubstr("control flow depends on"), HasSubstr("Relu (net.cc:10)"),
                    HasSubstr("a size that is read at net.cc:10 is compared")));
  EXPECT_THAT(refusal([](const Tensor& x) {
                return cond(
                    x.sum() > 0, [&] { return x * x.mean().item(); }, [&] { return x; });
              }),
              AllOf(HasSubstr("item reads"), HasSubstr("(net.cc:17)")));
  EXPECT_THAT(refusal([](const Tensor& x) {
                return cond(
                    x.sum() > 0, [&] { return x + rand({8}); }, [&] { return x; });
              }),
              HasSubstr("baked in"));
  EXPECT_THAT(refusal([](const Tensor& x) {
                return cond(
                    full({}, x.size(1) > 3, DType::kBool), [&] { return -x; }, [&] { return x; });
              }),
              HasSubstr("baked in"));
  EXPECT_THAT(refusal([](const Tensor& x) {
                return scan(
                           [&](const Tensor& s, const Tensor& x_t) {
                             return std::pair(s * std::sin(static_cast<double>(x.size(1))) + x_t,
                                              s);
                           },
                           zeros({x.size(0), 8}), x, 1)
                    .first;
              }),
              HasSubstr("baked in"));
#line 205 "control_traps_test.cc"
}

// The data of the further runs are made up: a loop that ends on the example's may not end there.
TEST(ControlTraps, ALoopWithoutEndIsRefused) {
#line 10 "net.cc"
  EXPECT_EQ(
      refusal([](const Tensor& x) {
        return while_loop([](const Tensor& y) { return y.sum() >= -1e9; },
                          [](const Tensor& y) { return y + 1; }, x);
      }),
      "[while_loop] it goes on after 50000 trips on data that capture() makes of the example: "
      "give it max_trips (net.cc:10)");
#line 220 "control_traps_test.cc"
}

// A captured graph is a module, which is captured again: as a program of branches and loops.
TEST(ControlTraps, AGraphsBranchesAreCapturedAgain) {
  Program p;
  for (Program& each : control_programs()) {
    if (each.name == "control_while_in_scan_in_cond") p = each;
  }
  const ir::Graph first = capture_call(*p.module, p.inputs, p.call);
  nn::GraphModule module(first);
  module.eval();
  const ir::Graph second = capture(module, p.inputs);
  for (double scale : {1.0, -1.0}) {
    const HostTensor x = host_copy(some_floats({3, 4, 8}) * scale);
    EXPECT_TRUE(same_bits(ir::run(first, {&x, 1})[0], ir::run(second, {&x, 1})[0]));
  }
}

// A graph decides by its data, and the gradient is of what it did.
TEST(ControlTraps, AnImportedGraphTrainsByTheTripsTaken) {
  nn::Identity none;
  const auto f = [](const Tensor& x) {
    return while_loop([](const Tensor& y) { return y.amax() < 10; },
                      [](const Tensor& y) { return y * y; }, x, 20);
  };
  const ir::Graph g = capture(none, {{"x", tensor({2.f, 1.f}), {{0, "n"}}}}, f);
  nn::GraphModule module(g);
  const Tensor x = tensor({1.5f, 0.5f}).requires_grad_(), y = tensor({1.5f, 0.5f}).requires_grad_();
  module(x).sum().backward();
  f(y).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), y.grad().to_vector<float>());
}

}  // namespace
}  // namespace wick::test
