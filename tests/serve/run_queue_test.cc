// The line before a model: which requests become one run, whose turn it is, deadlines, a full
// queue.
#include "tools/serve/run_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/core/stop.h"
#include "tests/support/error_of.h"
#include "wick/error.h"

namespace wick::serve {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kMs = 1'000'000;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

HostTensor numbers(std::vector<float> values, int64_t width = 1) {
  return HostTensor::of<float>({static_cast<int64_t>(values.size()) / width, width}, values);
}

// Adds 1, holds all runs but the first `let`, and keeps how many rows each had.
class Model {
 public:
  explicit Model(const RunLimits& limits)
      : queue(
            limits,
            [this](const std::vector<HostTensor>& in, uint64_t deadline) {
              return run(in, deadline);
            },
            &metrics) {}

  std::vector<HostTensor> run(const std::vector<HostTensor>& in, uint64_t deadline_ns) {
    size_t number = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      number = rows.size();
      rows.push_back(in[0].shape()[0]);
    }
    while (number >= let) {
      if (deadline_ns != 0 && now_ns() > deadline_ns) throw Error("late", Code::kDeadline);
      nap();
    }
    HostTensor out(DType::kF32, in[0].shape());
    for (int64_t i = 0; i < out.numel(); ++i) {
      if (in[0].as<float>()[i] == bad) throw Error("a bad number");
      out.as<float>()[i] = in[0].as<float>()[i] + 1;
    }
    return {out};
  }
  void wait_for_queued(int64_t n) const {
    while (metrics.queued != n) nap();
  }
  void wait_for_runs(size_t n) {
    for (;; nap()) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (rows.size() >= n) return;
    }
  }

  ModelMetrics metrics;
  std::atomic<size_t> let{SIZE_MAX};
  float bad = -1;
  std::mutex mutex;
  std::vector<int64_t> rows;
  RunQueue queue;
};

// A thread that runs one request; `got` is its answer's first number, `error` what it threw.
struct Caller {
  Caller(Model* model, std::vector<float> x, uint64_t deadline_ns = 0, int64_t width = 1,
         bool join = true)
      : thread([this, model, x, deadline_ns, width, join] {
          error = error_of([&] {
            const auto out = model->queue.run({numbers(x, width)}, join, deadline_ns);
            for (int64_t i = 0; i < out[0].numel(); ++i) got.push_back(out[0].as<float>()[i]);
          });
        }) {}
  void join() { thread.join(); }
  std::vector<float> got;
  std::string error;
  std::thread thread;
};

TEST(RunQueue, WhatWaitsRunsTogetherInPowersOfTwo) {
  Model model({.instances = 1, .max_batch = 8, .queue = 64});
  model.let = 0;
  std::vector<std::unique_ptr<Caller>> callers;
  callers.push_back(std::make_unique<Caller>(&model, std::vector<float>{0}));
  model.wait_for_runs(1);
  for (int i = 1; i <= 15; ++i) {
    callers.push_back(std::make_unique<Caller>(&model, std::vector<float>{static_cast<float>(i)}));
    model.wait_for_queued(i);
  }
  model.let = SIZE_MAX;
  for (auto& c : callers) c->join();
  for (size_t i = 0; i < callers.size(); ++i)
    EXPECT_THAT(callers[i]->got, ElementsAre(static_cast<float>(i) + 1)) << callers[i]->error;
  EXPECT_THAT(model.rows, ElementsAre(1, 8, 4, 2, 1));
  EXPECT_EQ(model.metrics.running, 0);
  EXPECT_EQ(model.metrics.queue_seconds.count(), 16U);
}

TEST(RunQueue, OnlyRowsOfOneShapeRunTogether) {
  Model model({.instances = 1, .max_batch = 8, .queue = 64});
  model.let = 0;
  Caller first(&model, {0});
  model.wait_for_runs(1);
  Caller a(&model, {1, 2, 3});
  model.wait_for_queued(1);
  Caller wide(&model, {4, 5}, 0, 2);  // one row of two
  model.wait_for_queued(2);
  Caller b(&model, {6});  // with a: four rows
  model.wait_for_queued(3);
  Caller large(&model, {1, 2, 3, 4, 5, 6, 7, 8, 9});  // more than a run of several may have
  model.wait_for_queued(4);
  Caller single(&model, {7}, 0, 1, false);  // not to be joined
  model.wait_for_queued(5);
  model.let = SIZE_MAX;
  for (Caller* c : {&first, &a, &wide, &b, &large, &single}) c->join();
  EXPECT_THAT(model.rows, ElementsAre(1, 4, 1, 9, 1));
  EXPECT_THAT(a.got, ElementsAre(2, 3, 4));
  EXPECT_THAT(b.got, ElementsAre(7));
  EXPECT_THAT(wide.got, ElementsAre(5, 6));
  EXPECT_EQ(large.got.size(), 9U);
  EXPECT_THAT(single.got, ElementsAre(8));
}

TEST(RunQueue, AFullQueueAnswersAtOnce) {
  Model model({.instances = 1, .max_batch = 1, .queue = 1});
  model.let = 0;
  Caller runs(&model, {0});
  model.wait_for_runs(1);
  Caller waits(&model, {1});
  model.wait_for_queued(1);
  try {
    model.queue.run({numbers({2})}, true, 0);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kBusy);
    EXPECT_STREQ(e.what(), "1 requests wait for this model already: try again later");
  }
  model.let = SIZE_MAX;
  runs.join(), waits.join();
  EXPECT_EQ(waits.error, "no error");
}

TEST(RunQueue, ADeadlineEndsTheWaitAndTheNextTakesItsPlace) {
  Model model({.instances = 1, .max_batch = 1, .queue = 8});
  model.let = 0;
  Caller runs(&model, {0});
  model.wait_for_runs(1);
  Caller late(&model, {1}, now_ns() + 100 * kMs);
  Caller patient(&model, {2});
  late.join();
  EXPECT_EQ(late.error, "the deadline passed in the queue");
  model.wait_for_queued(1);
  model.let = SIZE_MAX;
  runs.join(), patient.join();
  EXPECT_EQ(patient.error, "no error");
  EXPECT_THAT(model.rows, ElementsAre(1, 1));
}

// A request that another one's thread runs is answered at its own deadline.
TEST(RunQueue, ADeadlineEndsTheWaitForARunOfSeveral) {
  Model model({.instances = 1, .max_batch = 4, .queue = 8});
  model.let = 0;
  Caller runs(&model, {0});
  model.wait_for_runs(1);
  Caller leads(&model, {1});
  model.wait_for_queued(1);
  Caller taken(&model, {2}, now_ns() + 1000 * kMs);
  model.wait_for_queued(2);
  model.let = 1;  // then the two run together, for as long as the one without a deadline may
  runs.join();
  taken.join();
  EXPECT_EQ(taken.error, "the deadline passed during the run");
  model.let = SIZE_MAX;
  leads.join();
  EXPECT_THAT(leads.got, ElementsAre(2));
  EXPECT_THAT(model.rows, ElementsAre(1, 2));
}

TEST(RunQueue, AMistakeIsItsOwnersAlone) {
  Model model({.instances = 1, .max_batch = 4, .queue = 8});
  model.bad = 2;
  model.let = 0;
  Caller runs(&model, {0});
  model.wait_for_runs(1);
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 1; i <= 4; ++i) {
    callers.push_back(std::make_unique<Caller>(&model, std::vector<float>{static_cast<float>(i)}));
    model.wait_for_queued(i);
  }
  model.let = SIZE_MAX;
  runs.join();
  for (auto& c : callers) c->join();
  EXPECT_EQ(callers[1]->error, "a bad number");
  for (const size_t i : {0, 2, 3})
    EXPECT_THAT(callers[i]->got, ElementsAre(static_cast<float>(i) + 2)) << callers[i]->error;
  EXPECT_THAT(model.rows, ElementsAre(1, 4, 1, 1, 1, 1));
}

TEST(RunQueue, InstancesRunAtOnce) {
  Model model({.instances = 2, .max_batch = 1, .queue = 8});
  model.let = 0;
  Caller a(&model, {1}), b(&model, {2});
  model.wait_for_runs(2);
  EXPECT_EQ(model.metrics.running, 2);
  Caller c(&model, {3});
  model.wait_for_queued(1);
  model.let = SIZE_MAX;
  a.join(), b.join(), c.join();
  EXPECT_THAT(c.got, ElementsAre(4));
  EXPECT_EQ(model.metrics.running, 0);
}

TEST(RunQueue, ManyThreadsAllGetTheirOwn) {
  Model model({.instances = 2, .max_batch = 8, .queue = 64});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto v = static_cast<float>(t * 1000 + i);
        const auto out = model.queue.run({numbers({v, v + 0.5F})}, true, 0);
        wrong += out[0].as<float>()[0] != v + 1 || out[0].as<float>()[1] != v + 1.5F ? 1 : 0;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(model.metrics.running, 0);
  EXPECT_EQ(model.metrics.queued, 0);
  EXPECT_EQ(static_cast<int>(model.metrics.batch_rows.sum()), 8 * 200 * 2);
}

}  // namespace
}  // namespace wick::serve
