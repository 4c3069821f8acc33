// What wick plan predicts: formulas of bytes, costs beside those of nets that run, and the rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/distributed/thread_ranks.h"
#include "tests/support/error_of.h"
#include "wick/distributed.h"
#include "wick/trainer.h"

namespace wick::distributed {
namespace {

using ::testing::HasSubstr;

// Ten layers of 10 MB, with 1 MB kept a sample each.
NetCost ten_layers() {
  NetCost net;
  net.name = "ten";
  for (int i = 0; i < 10; ++i)
    net.layers.push_back({"l" + std::to_string(i), 2500000, 1e9, 1e6, 1e5});
  net.most_stages = 10;
  net.most_tensor = 4;
  net.tensor_sum_bytes = 2e6;
  return net;
}

PlanRequest four_ranks() {
  PlanRequest r;
  r.ranks = 4;
  r.batch = 32;
  r.latency_s = 0;
  return r;
}

const PlanChoice& of(const ParallelPlan& plan, Way way) {
  for (const PlanChoice& c : plan.choices) {
    if (c.way == way) return c;
  }
  throw Error("no such way");
}

TEST(Plan, HasTheBytesOfTheFormulas) {
  const ParallelPlan plan = plan_parallel(ten_layers(), four_ranks());
  EXPECT_EQ(plan.shards, 8);
  constexpr double kP = 1e8;  // bytes of the parameters
  // Two parts a rank: a sum of gradients has two nodes; a part has 4 samples of 10 MB.
  EXPECT_DOUBLE_EQ(of(plan, Way::kData).bytes, kP * (1 + 1 + 2 + 2) + 4e7);
  EXPECT_DOUBLE_EQ(of(plan, Way::kZero1).bytes, kP * (1 + 1 + 2) + kP / 4 * 4 + 4e7);
  EXPECT_DOUBLE_EQ(of(plan, Way::kZero2).bytes, kP * (1 + 2) + kP / 4 * 4 + 4e7);
  EXPECT_DOUBLE_EQ(of(plan, Way::kZero3).bytes, kP / 4 * 4 + 1e7 * 5 + 8e7);
  EXPECT_DOUBLE_EQ(of(plan, Way::kData).sent, 2 * 3.0 / 4 * kP);
  EXPECT_DOUBLE_EQ(of(plan, Way::kZero1).sent, 3 * 3.0 / 4 * kP);
  EXPECT_DOUBLE_EQ(of(plan, Way::kZero2).sent, 2 * 3.0 / 4 * kP);
  EXPECT_DOUBLE_EQ(of(plan, Way::kZero3).sent, 3 * 3.0 / 4 * kP);
  EXPECT_DOUBLE_EQ(of(plan, Way::kData).compute_s, 3 * 1e10 * 8 / 1e11);
}

TEST(Plan, StagesHaveTheirBubble) {
  PlanRequest r = four_ranks();
  r.shards = 16;
  NetCost net = ten_layers();
  net.most_tensor = 1;
  const PlanChoice c = of(plan_parallel(net, r), Way::kPipeline);
  EXPECT_DOUBLE_EQ(c.bubble, bubble_of(c.pipe, static_cast<size_t>(16 / c.data)));
  EXPECT_GT(c.step_s, c.compute_s / (1 - c.bubble));
}

TEST(Plan, TheFirstThatFitsUnlessALaterOneIsFaster) {
  PlanRequest r = four_ranks();
  ParallelPlan plan = plan_parallel(ten_layers(), r);
  EXPECT_EQ(plan.choices[static_cast<size_t>(plan.chosen)].way, Way::kData);
  EXPECT_THAT(plan.rule, HasSubstr("data parallel is the first that fits."));
  r.memory_bytes = 4.5e8;
  plan = plan_parallel(ten_layers(), r);
  EXPECT_EQ(plan.choices[static_cast<size_t>(plan.chosen)].way, Way::kZero2);
  EXPECT_THAT(plan.rule, HasSubstr("data parallel needs 640.00 MB of 450.00 MB."));
  EXPECT_THAT(plan.text(), HasSubstr("* ZeRO-2          4 x 1 x 1"));
  // A slow network: parameters that stay where they are win.
  r.memory_bytes = 0;
  r.net_bytes_per_s = 1e7;
  plan = plan_parallel(ten_layers(), r);
  EXPECT_EQ(plan.choices[static_cast<size_t>(plan.chosen)].way, Way::kPipeline);
  EXPECT_THAT(plan.rule, HasSubstr("pipeline is predicted to be a tenth faster"));
  r.memory_bytes = 1e6;
  plan = plan_parallel(ten_layers(), r);
  EXPECT_EQ(plan.chosen, -1);
  EXPECT_THAT(plan.rule, HasSubstr("Nothing fits"));
  r.ranks = 0;
  EXPECT_THAT(test::error_of([&] { plan_parallel(ten_layers(), r); }), HasSubstr("[plan] takes"));
}

bool has(const ParallelPlan& plan, Way way) {
  return std::any_of(plan.choices.begin(), plan.choices.end(),
                     [way](const PlanChoice& c) { return c.way == way; });
}

// What is offered can be run: the classes refuse the rest.
TEST(Plan, OffersWhatTheClassesTake) {
  PlanRequest r = four_ranks();
  EXPECT_TRUE(has(plan_parallel(ten_layers(), r), Way::kZero3));
  r.batch = 7;  // of 8 shards: stage 3 needs a sample in each
  EXPECT_FALSE(has(plan_parallel(ten_layers(), r), Way::kZero3));
  EXPECT_TRUE(has(plan_parallel(ten_layers(), r), Way::kZero2));
  EXPECT_THAT(plan_parallel(ten_layers(), r).rule,
              HasSubstr("Not ZeRO-3: each of the 8 shards needs a sample, and the batch has 7."));
  // Ranks that would have nothing to do: of 8 shards, samples are in the first 4.
  r.batch = 4;
  const ParallelPlan idle = plan_parallel(ten_layers(), r);
  for (const PlanChoice& c : idle.choices) EXPECT_LE(c.data, 2) << to_text(c.way);
  EXPECT_THAT(idle.rule, HasSubstr("Not data parallel, ZeRO-1, ZeRO-2, ZeRO-3: 2 of 4 ranks would "
                                   "have no sample: the batch has 4, in 8 shards."));
  r = four_ranks();
  NetCost net = ten_layers();
  net.layers[3].parameters = 3;  // fewer than ranks
  EXPECT_FALSE(has(plan_parallel(net, r), Way::kZero3));
  EXPECT_THAT(plan_parallel(net, r).rule,
              HasSubstr("Not ZeRO-3: each rank needs an element of each layer, and the smallest "
                        "has 3."));
  net.most_stages = net.most_tensor = 1;
  r.shards = 2;
  const ParallelPlan none = plan_parallel(net, r);
  EXPECT_EQ(none.chosen, -1);
  EXPECT_THAT(none.rule, HasSubstr("No way is for 4 ranks: a data rank needs a shard, of 2"));

  nn::GptOptions gpt{
      .vocab_size = 50257, .embed_dim = 64, .num_layers = 2, .num_heads = 16, .max_seq_len = 8};
  EXPECT_EQ(gpt_cost(gpt).most_tensor, 1);  // the table's rows are not divisible
  gpt.vocab_size = 50264;
  EXPECT_EQ(gpt_cost(gpt).most_tensor, 8);
  EXPECT_THAT(run_ranks(2,
                        [&](Group w) {
                          nn::GPT net({.vocab_size = 9, .embed_dim = 16, .num_heads = 4});
                          TensorParallel tp(net, w, gpt_plan());
                        }),
              ::testing::Each(HasSubstr("has 9 rows, which 2 shards do not divide")));
}

// Stages are those of take_stage(): even in parameters, not in work.
TEST(Plan, CutsStagesAsTakeStageDoes) {
  NetCost net;
  for (int64_t parameters : {3000000, 1000000, 1000000, 1000000})
    net.layers.push_back({"l", parameters, parameters > 1000000 ? 1e6 : 1e9, 0, 0});
  net.most_stages = 4;
  PlanRequest r = four_ranks();
  r.ranks = 2;
  const PlanChoice c = of(plan_parallel(net, r), Way::kPipeline);
  // Eight parts a rank: a sum of gradients has four nodes.
  EXPECT_DOUBLE_EQ(c.bytes, 4 * 3e6 * (1 + 1 + 2 + 4));
  EXPECT_DOUBLE_EQ(c.compute_s, 3 * 3e9 * 32 / 1e11);  // the second stage's
}

// The formulas of a GPT beside the net itself.
TEST(Plan, KnowsAGpt) {
  nn::GptOptions o{
      .vocab_size = 64, .embed_dim = 32, .num_layers = 3, .num_heads = 4, .max_seq_len = 48};
  nn::GPT gpt(o);
  const NetCost formula = gpt_cost(o);
  const NetCost measured = measured_cost(gpt, zeros({1, 48}, DType::kI64), "gpt");
  EXPECT_EQ(formula.parameters(), measured.parameters());
  EXPECT_NEAR(formula.forward_flops() / measured.forward_flops(), 1, 0.1);
  EXPECT_GT(formula.kept_bytes() / measured.kept_bytes(), 0.6);
  EXPECT_LT(formula.kept_bytes() / measured.kept_bytes(), 1.2);
}

}  // namespace
}  // namespace wick::distributed
