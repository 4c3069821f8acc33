// Allocator statistics, snapshots that find a leak, and the parts of a step's memory: measured, and
// predicted without running it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/models.h"
#include "tests/support/error_of.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/profile/allocator_stats.h"
#include "trainer/profile/step_memory.h"

namespace wick {
namespace {

using test::error_of;
using ::testing::HasSubstr;

int64_t blocks_of(const AllocatorStats& s, size_t bytes, bool live) {
  for (const auto& c : s.classes) {
    if (c.bytes == bytes) return live ? c.live : c.cached;
  }
  return 0;
}

TEST(Allocator, CountsBlocksHitsAndPeaks) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "blocks are malloc's here";
#endif
  empty_cache();
  reset_allocator_peaks();
  const AllocatorStats before = allocator_stats();
  EXPECT_EQ(before.cached, 0u);
  EXPECT_EQ(before.peak_reserved, before.reserved);
  {
    Tensor a = zeros({1 << 20});  // a class of its own: 4 MiB
    Tensor b = zeros({1 << 20});
    const AllocatorStats s = allocator_stats();
    EXPECT_EQ(s.allocated - before.allocated, size_t{8} << 20);
    EXPECT_EQ(s.reserved - before.reserved, size_t{8} << 20);
    EXPECT_EQ(blocks_of(s, 4 << 20, true) - blocks_of(before, 4 << 20, true), 2);
    EXPECT_EQ(s.allocations - before.allocations, 2u);
    EXPECT_EQ(s.cache_hits, before.cache_hits);
    EXPECT_EQ(s.system_allocations - before.system_allocations, 2u);
  }
  AllocatorStats s = allocator_stats();
  EXPECT_EQ(s.allocated, before.allocated);
  EXPECT_EQ(s.cached, size_t{8} << 20);
  EXPECT_EQ(s.reserved - before.reserved, size_t{8} << 20);  // kept
  EXPECT_EQ(blocks_of(s, 4 << 20, false), 2);
  EXPECT_EQ(s.peak_allocated - before.allocated, size_t{8} << 20);
  {
    // 5/4 of 4 MiB is a class: a byte more than 4 MiB takes that
    Tensor c = zeros({1 << 20});
    EXPECT_EQ(allocator_stats().cache_hits - before.cache_hits, 1u);
    Tensor odd = zeros({(1 << 22) + 1}, DType::kU8);
    EXPECT_EQ(blocks_of(allocator_stats(), 5 << 20, true) - blocks_of(before, 5 << 20, true), 1);
  }
  const uint64_t freed = allocator_stats().system_frees;
  empty_cache();
  s = allocator_stats();
  EXPECT_EQ(s.cached, 0u);
  EXPECT_EQ(s.system_frees - freed, 3u);
  EXPECT_EQ(s.reserved, before.reserved);
  EXPECT_EQ(s.peak_reserved - before.reserved, size_t{13} << 20);
  reset_allocator_peaks();
  EXPECT_EQ(allocator_stats().peak_reserved, s.reserved);
  EXPECT_EQ(allocator_stats().peak_allocated, s.allocated);
  EXPECT_THAT(s.text(), HasSubstr("from the cache"));
}

// P9-03: what grows from step to step is named with its line.
TEST(Snapshots, DifferenceNamesTheLeak) {
  manual_seed(0);
  test::Mlp model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.1});
  std::vector<Tensor> log;
  int leak_line = 0;
  auto step = [&] {
    Tensor x = randn({8, 64});
    optimizer.zero_grad();
    Tensor h = model(x);
    leak_line = __LINE__ + 1;
    log.push_back(h.detach() * 2);
    cross_entropy(h, zeros({8}, DType::kI64)).backward();
    optimizer.step();
  };
  step();
  MemoryRecorder recorder;
  step();
  const MemorySnapshot first = memory_snapshot();
  for (int i = 0; i < 3; ++i) step();
  const MemorySnapshot grown = difference(first, memory_snapshot());
  ASSERT_EQ(grown.sites.size(), 1u) << grown.text();
  EXPECT_EQ(grown.sites[0].count, 3);
  EXPECT_EQ(grown.sites[0].bytes, 3 * 8 * 10 * 4);
  EXPECT_EQ(grown.sites[0].op, "mul");
  EXPECT_THAT(grown.sites[0].where,
              testing::EndsWith("memory_test.cc:" + std::to_string(leak_line)));
}

// The most bytes there are in a step, beside what the process had before, by the counters that
// neither prediction nor recorder uses.
template <class Make>
void check_prediction(const Make& make, int64_t batch, int64_t parameters_of_state) {
  const auto base = static_cast<int64_t>(live_bytes());
  int64_t independent = 0;
  {
    auto job = make();
    TrainingStep step = job->step();
    const std::string before = state_sha256(job->model.state_dict());
    const MemoryBreakdown predicted = predict_memory(step, batch);
    const MemoryBreakdown measured = measure_memory(step, batch);
    EXPECT_EQ(state_sha256(job->model.state_dict()), before);  // nothing was trained
    for (const Tensor& p : job->model.parameters()) EXPECT_FALSE(p.grad().defined());

    for (int i = 0; i < 2; ++i) {
      const std::vector<Tensor> inputs = step.inputs(batch);
      reset_peak_bytes();
      job->optimizer.zero_grad();
      step.loss(inputs).backward();
      job->optimizer.step();
      independent = static_cast<int64_t>(peak_bytes()) - base;
    }
    const auto near = [&](int64_t got, int64_t want, const char* what) {
      EXPECT_NEAR(static_cast<double>(got), static_cast<double>(want),
                  0.01 * static_cast<double>(want))
          << what << "\npredicted\n"
          << predicted.text() << "measured\n"
          << measured.text();
    };
    near(predicted.total(), independent, "predicted total");
    near(measured.total(), independent, "measured total");
    near(predicted.activations, measured.activations, "activations");
    near(predicted.temporaries, measured.temporaries, "temporaries");
    near(predicted.gradients, measured.gradients, "gradients");
    const Footprint own = memory_footprint(job->model);
    EXPECT_EQ(predicted.parameters, own.parameters);
    EXPECT_EQ(predicted.buffers, own.buffers);
    EXPECT_EQ(predicted.optimizer, parameters_of_state * own.parameters);
    EXPECT_EQ(predicted.inputs, measured.inputs);
    EXPECT_GT(predicted.activations, 0);
    EXPECT_THAT(predicted.text(), HasSubstr("activations"));
  }
}

template <class M, class O, class Options>
struct JobOf {
  M model;
  O optimizer;
  std::function<std::vector<Tensor>(int64_t)> inputs;
  bool tokens = false;
  explicit JobOf(Options o) : optimizer(model.parameters(), o) {}
  TrainingStep step() {
    return {model, optimizer, inputs, [this](const std::vector<Tensor>& in) {
              Tensor y = model(in[0]);
              if (tokens) y = y.reshape({-1, 11});
              return cross_entropy(y, in[1]);
            }};
  }
};

TEST(Memory, PredictedIsMeasuredForAnMlp) {
  manual_seed(1);
  check_prediction(
      [] {
        auto job = std::make_unique<JobOf<test::Mlp, optim::SGD, optim::SgdOptions>>(
            optim::SgdOptions{.lr = 0.1, .momentum = 0.9});
        job->inputs = [](int64_t n) {
          return std::vector<Tensor>{randn({n, 64}), zeros({n}, DType::kI64)};
        };
        return job;
      },
      500, 1);
}

TEST(Memory, PredictedIsMeasuredForACnn) {
  manual_seed(1);
  check_prediction(
      [] {
        auto job = std::make_unique<JobOf<test::Cnn, optim::SGD, optim::SgdOptions>>(
            optim::SgdOptions{.lr = 0.1});
        job->inputs = [](int64_t n) {
          return std::vector<Tensor>{randn({n, 1, 28, 28}), zeros({n}, DType::kI64)};
        };
        return job;
      },
      48, 0);
}

TEST(Memory, PredictedIsMeasuredForTransformerBlocks) {
  manual_seed(1);
  for (int64_t batch : {5, 24}) {
    check_prediction(
        [] {
          auto job = std::make_unique<JobOf<test::Blocks, optim::Adam, optim::AdamOptions>>(
              optim::AdamOptions{.lr = 1e-3});
          job->tokens = true;
          job->inputs = [](int64_t n) {
            return std::vector<Tensor>{randn({n, 16, 32}), zeros({n * 16}, DType::kI64)};
          };
          return job;
        },
        batch, 2);
  }
}

// Similarities of all with all: the size of a tensor goes with the square of the batch.
TEST(Memory, SquaresOfTheBatchArePredicted) {
  test::Mlp model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.1});
  const TrainingStep step{model, optimizer,
                          [](int64_t n) {
                            return std::vector<Tensor>{randn({n, 64})};
                          },
                          [&](const std::vector<Tensor>& in) {
                            Tensor h = model(in[0]);
                            return mean(exp(matmul(h, h.t()) * 0.01));
                          }};
  const MemoryBreakdown predicted = predict_memory(step, 300), measured = measure_memory(step, 300);
  EXPECT_EQ(predicted.total(), measured.total()) << predicted.text() << measured.text();
  EXPECT_GT(predicted.activations, 300 * 300 * 4);
}

TEST(Memory, BranchesOnTheBatchAndBadArgumentsAreRefused) {
  test::Mlp model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.1});
  const auto inputs = [](int64_t n) { return std::vector<Tensor>{randn({n, 64})}; };
  const auto loss = [&](const std::vector<Tensor>& in) {
    Tensor h = model(in[0]);
    if (in[0].size(0) > 3) h = exp(h);
    return sum(h);
  };
  EXPECT_THAT(error_of([&] {
                predict_memory({model, optimizer, inputs, loss}, 8);
              }),
              HasSubstr("do not make the same tensors"));
  EXPECT_THAT(error_of([&] {
                predict_memory({model, optimizer, inputs, loss}, 0);
              }),
              HasSubstr("batch must be at least 1, got 0"));
  EXPECT_THAT(error_of([&] {
                measure_memory({model, optimizer, inputs, nullptr}, 1);
              }),
              HasSubstr("lacks inputs or loss"));
  {
    MemoryRecorder recorder;
    EXPECT_THAT(error_of([&] {
                  measure_memory({model, optimizer, inputs, loss}, 1);
                }),
                HasSubstr("a MemoryRecorder is recording already"));
    EXPECT_NO_THROW(memory_snapshot());
  }
  EXPECT_NO_THROW(measure_memory({model, optimizer, inputs, loss}, 1));
}

// Measuring changes nothing that training has: weights, statistics, the optimizer, the generator.
TEST(Memory, MeasuringTrainsNothing) {
  auto run = [](bool measured) {
    manual_seed(5);
    test::Cnn model;
    optim::Adam optimizer(model.parameters(), optim::AdamOptions{.lr = 1e-3});
    const TrainingStep step{
        model, optimizer,
        [](int64_t n) {
          return std::vector<Tensor>{randn({n, 1, 28, 28}), zeros({n}, DType::kI64)};
        },
        [&](const std::vector<Tensor>& in) { return cross_entropy(model(in[0]), in[1]); }};
    for (int i = 0; i < 3; ++i) {
      if (measured) predict_memory(step, 7);
      const auto in = step.inputs(4);
      optimizer.zero_grad();
      step.loss(in).backward();
      optimizer.step();
    }
    return state_sha256(model.state_dict());
  };
  EXPECT_EQ(run(true), run(false));
}

// A weight that lies in a larger matrix, with gaps.
struct InGaps : nn::Module {
  Tensor whole = randn({3, 4});
  Tensor w = register_parameter("w", whole.narrow(1, 0, 2));
  Tensor forward(const Arg& x) override { return matmul(x, {w, x.where}); }
};

TEST(Memory, MeasuringLeavesStridedWeightsAsTheyWere) {
  InGaps model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.5});
  const std::vector<float> before = model.whole.to_vector<float>();
  measure_memory({model, optimizer,
                  [](int64_t n) {
                    return std::vector<Tensor>{ones({n, 3})};
                  },
                  [&](const std::vector<Tensor>& in) { return sum(model(in[0])); }},
                 2);
  EXPECT_EQ(model.whole.to_vector<float>(), before);
}

}  // namespace
}  // namespace wick
