// Thresholds that no example reaches: a graph is right on both sides of them, or its sizes end
// before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "graph/interpreter/interpreter.h"
#include "tests/export/corpus.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using F = std::function<Tensor(const Tensor&)>;
const std::vector<DynamicDim> kOpen = {{0, "batch"}, {1, "time"}};

struct Captured {
  std::optional<ir::Graph> graph;
  std::string refusal;
  // The largest size of a dimension that the graph is for.
  int64_t most(int dim) const { return graph->value(graph->inputs()[0]).shape[dim].max(); }
};
Captured captured(const F& f, const std::vector<DynamicDim>& dims) {
  Program p = form("threshold", {2, 6, 2}, dims, f);
  Captured c;
  c.refusal = error_of([&] { c.graph = capture_call(*p.module, p.inputs, p.call); });
  return c;
}
// Forward's bits at every one of these sizes that the graph is for.
void right_at(const F& f, const std::vector<DynamicDim>& dims, const std::vector<Shape>& shapes) {
  Captured c = captured(f, dims);
  ASSERT_TRUE(c.graph) << c.refusal;
  NoGrad guard;
  for (const Shape& s : shapes) {
    ASSERT_LE(s[0], c.most(0));
    ASSERT_LE(s[1], c.most(1)) << "promised by nobody";
    const Tensor x = some_floats(s);
    const HostTensor in = host_copy(x);
    EXPECT_TRUE(same_bits(ir::run(*c.graph, {&in, 1})[0], host_copy(f(x)))) << to_text(s).text;
  }
}

TEST(Thresholds, ABranchFarAwayIsRefusedWithBothSizes) {
  const Captured c =
      captured([](const Tensor& x) { return x.size(1) > 5000 ? relu(x) : exp(x); }, kOpen);
  EXPECT_THAT(c.refusal, testing::HasSubstr("5001"));
  EXPECT_THAT(c.refusal, testing::HasSubstr("thresholds_test.cc:"));
}

TEST(Thresholds, OneSizeAmongAMillionIsFound) {
  const Captured c =
      captured([](const Tensor& x) { return x.size(1) == 777 ? relu(x) : exp(x); }, kOpen);
  EXPECT_THAT(c.refusal, testing::HasSubstr("777"));
}

TEST(Thresholds, AProductOfSizesIsFound) {
  const Captured c =
      captured([](const Tensor& x) { return x.numel() >= 20000 ? relu(x) : exp(x); }, kOpen);
  EXPECT_THAT(c.refusal, testing::HasSubstr("thresholds_test.cc:"));
}

TEST(Thresholds, EqualSizesAreFound) {
  const Captured c =
      captured([](const Tensor& x) { return x.size(0) == x.size(1) ? relu(x) : exp(x); }, kOpen);
  EXPECT_THAT(c.refusal, testing::HasSubstr("thresholds_test.cc:"));
}

// One that is asked only where another holds.
TEST(Thresholds, TwoThatMustMeetAreFound) {
  const F both = [](const Tensor& x) {
    return x.size(1) == 60 && x.size(0) == 2 ? x * 2 : relu(x);
  };
  EXPECT_THAT(captured(both, kOpen).refusal, testing::HasSubstr("time = 60"));
  const F three = [](const Tensor& x) {
    return x.size(1) > 500 && x.size(0) % 7 == 3 && x.size(1) == 1000 ? relu(x) : x * 2;
  };
  EXPECT_THAT(captured(three, kOpen).refusal, testing::HasSubstr("time = 1000"));
}

TEST(Thresholds, ABranchBeyondTheRangeIsNone) {
  const F f = [](const Tensor& x) { return x.size(1) > 5000 ? relu(x) : exp(x); };
  right_at(f, {{0, "batch"}, {1, "time", 1, 5000}}, {{1, 5000, 2}, {3, 1, 2}});
}

TEST(Thresholds, ABranchThatMakesTheSameGraphIsNone) {
  const F f = [](const Tensor& x) {
    const Dim n = x.size(1);
    return n > 3000 ? relu(x.slice(1, 0, n)) : relu(x.slice(1, 0, x.size(1)));
  };
  right_at(f, kOpen, {{1, 2999, 2}, {1, 3001, 2}, {2, 40000, 2}});
}

TEST(Thresholds, TheLastOfManyIsRight) {
  const F f = [](const Tensor& x) {
    return x.slice(1, std::max(x.size(1) - 8192, int64_t{0}), x.size(1));
  };
  right_at(f, {{0, "batch"}, {1, "time", 1, 32768}},
           {{1, 8191, 2}, {1, 8192, 2}, {2, 8193, 2}, {1, 32768, 2}});
}

TEST(Thresholds, TheFirstOfManyIsRight) {
  const F f = [](const Tensor& x) { return x.slice(1, 0, std::min(x.size(1), Dim(5000))); };
  right_at(f, kOpen, {{1, 4999, 2}, {1, 5001, 2}, {1, 70000, 2}});
}

TEST(Thresholds, AQuotientThatIsZeroInEveryExampleIsRight) {
  const F f = [](const Tensor& x) { return x * (x.size(1) / 1000); };
  right_at(f, kOpen, {{1, 999, 2}, {1, 1000, 2}, {2, 123456, 2}});
}

TEST(Thresholds, ARemainderIsRight) {
  const F f = [](const Tensor& x) { return x * (x.size(1) % 4096); };
  right_at(f, kOpen, {{1, 4095, 2}, {1, 4096, 2}, {1, 100000, 2}});
}

TEST(Thresholds, APlainIntegersRangeEndsWhereItWasTried) {
  const F f = [](const Tensor& x) {
    const int64_t n = x.size(1);
    return n > 900000 ? relu(x) : exp(x);
  };
  Captured c = captured(f, kOpen);
  // Within the range that was tried, it takes both ways.
  EXPECT_THAT(c.refusal, testing::HasSubstr("thresholds_test.cc:"));
  const F wide = [](const Tensor& x) {
    const int64_t n = x.size(1);
    return n > 900000 ? relu(x) : exp(matmul(x, ones({2, 64})));
  };
  c = captured(wide, kOpen);
  ASSERT_TRUE(c.graph) << c.refusal;
  EXPECT_LE(c.most(1), 900000);
  EXPECT_EQ(c.most(0), DynamicDim().max) << "the batch was never read";
}

TEST(Thresholds, SizesThatForwardRefusesAreNotPromised) {
  const F f = [](const Tensor& x) {
    if (x.size(1) > 512) throw Error("at most 512");
    return relu(x);
  };
  const Captured c = captured(f, kOpen);
  ASSERT_TRUE(c.graph) << c.refusal;
  EXPECT_EQ(c.most(1), 512);
  // Somebody promised them.
  const Captured stated = captured(f, {{0, "batch"}, {1, "time", 1, 1000}});
  EXPECT_THAT(stated.refusal, testing::HasSubstr("at most 512"));
}

// The file says so.
TEST(Thresholds, WhatWasNotVerifiedIsToldByTheGraph) {
  Program p = form("unverified", {2, 6, 2}, kOpen, [](const Tensor& x) { return relu(x); });
  EXPECT_EQ(capture_call(*p.module, p.inputs, p.call).metadata.count("wick.capture"), 0U);
  CaptureOptions options;
  options.verify = false;
  const ir::Graph g = capture_call(*p.module, p.inputs, p.call, options);
  EXPECT_EQ(g.metadata.at("wick.capture"), "not verified");
}

TEST(Thresholds, AGptsTimeEndsWithItsTable) {
  nn::GPT model(
      {.vocab_size = 11, .embed_dim = 8, .num_layers = 1, .num_heads = 2, .max_seq_len = 40});
  model.eval();
  const ir::Graph g =
      capture(model, {{"tokens", some_ids({2, 5}, 11), {{0, "batch"}, {1, "time"}}}});
  EXPECT_EQ(g.value(g.inputs()[0]).shape[1].max(), 40);
}

// Two halvings and back meet what they came from at multiples of four alone.
TEST(Thresholds, MultiplesAreTriedAlone) {
  const F f = [](const Tensor& x) {
    Tensor y = avg_pool1d(avg_pool1d(x.transpose(1, 2), 2), 2);
    return x + repeat_interleave(y, 4, 2).transpose(1, 2);
  };
  Program p = form("halves", {2, 8, 2}, {{0, "batch"}, {1, "time", 4, 4096, 4}}, f);
  const ir::Graph g = capture_call(*p.module, p.inputs, p.call);
  NoGrad guard;
  for (int64_t n : {4, 12, 100, 4096}) {
    const HostTensor in = host_copy(some_floats({3, n, 2}));
    EXPECT_TRUE(same_bits(ir::run(g, {&in, 1})[0], host_copy(f(some_floats({3, n, 2}))))) << n;
  }
  // The file says so, and a session that cannot run a size.
  EXPECT_EQ(g.metadata.at("wick.multiple_of.time"), "4");
  EXPECT_EQ(g.metadata.count("wick.multiple_of.batch"), 0U);
  p = form("halves", {2, 8, 2}, {{0, "batch"}, {1, "time", 4}}, f);
  EXPECT_THAT(error_of([&] { capture_call(*p.module, p.inputs, p.call); }),
              testing::HasSubstr("multiple_of"));
}

TEST(Thresholds, ASizeThatDataDecidesIsNotCompared) {
  const Captured c = captured(
      [](const Tensor& x) {
        const Tensor at = nonzero(gt(x, 10));
        return at.size(0) == 0 ? relu(x) : exp(x);
      },
      kOpen);
  EXPECT_THAT(c.refusal, testing::HasSubstr("depends on data"));
  EXPECT_THAT(c.refusal, testing::HasSubstr("thresholds_test.cc:"));
}

}  // namespace
}  // namespace wick::test
