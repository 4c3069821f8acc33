// The verdict on four synthetic trainings, each slow in one place, and on figures.
#include "trainer/data/step_profile.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/data/folder.h"

namespace wick {
namespace {

using namespace data;
using ::testing::AllOf;
using ::testing::HasSubstr;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

struct Slow : Dataset {
  int decode_ms, read_ms;
  Slow(int decode, int read) : decode_ms(decode), read_ms(read) {}
  int64_t size() const override { return 12; }
  Item get(int64_t i) const override {
    {
      ReadScope time;
      ReadScope inside;  // counted once
      sleep_ms(read_ms);
      inside.add(100);
    }
    sleep_ms(decode_ms);
    return {full({}, i, DType::kI64)};
  }
};

StepReport train(int decode, int read, int transfer, int compute, int workers) {
  DataLoader loader(std::make_shared<Slow>(decode, read), {.workers = workers});
  StepProfile profile;
  Batch batch;
  while (profile.next(loader, batch)) {
    {
      auto time = profile.measure(Phase::kTransfer);
      sleep_ms(transfer);
    }
    auto time = profile.measure(Phase::kForward);
    sleep_ms(compute);
  }
  return profile.report();
}

TEST(Profile, FourSyntheticTrainings) {
  for (int workers : {0, 2}) {
    StepReport loader = train(30, 0, 1, 2, workers);
    EXPECT_EQ(loader.verdict, Bottleneck::kLoader) << loader.to_text();
    StepReport disk = train(2, 30, 1, 2, workers);
    EXPECT_EQ(disk.verdict, Bottleneck::kDisk) << disk.to_text();
    EXPECT_GE(disk.reading, 12 * 0.03);           // sleeps are no shorter than asked for
    EXPECT_LE(disk.reading, disk.making + 1e-9);  // a part of it
    StepReport transfer = train(1, 0, 25, 2, workers);
    EXPECT_EQ(transfer.verdict, Bottleneck::kTransfer) << transfer.to_text();
    StepReport compute = train(1, 0, 1, 25, workers);
    EXPECT_EQ(compute.verdict, Bottleneck::kCompute) << compute.to_text();
    EXPECT_EQ(compute.steps, 12);
    EXPECT_GE(compute.seconds[static_cast<size_t>(Phase::kForward)], 12 * 0.025);
  }
}

TEST(Profile, MoreWorkersMoveTheVerdict) {
  EXPECT_EQ(train(20, 0, 1, 10, 0).verdict, Bottleneck::kLoader);
  EXPECT_EQ(train(20, 0, 1, 10, 6).verdict, Bottleneck::kCompute);
}

TEST(Profile, JudgesFigures) {
  StepReport r;
  auto set = [&](Phase p, double s) { r.seconds[static_cast<size_t>(p)] = s; };
  set(Phase::kWait, 3);
  set(Phase::kForward, 1);
  set(Phase::kBackward, 1.5);
  r.making = 4;
  r.reading = 1.9;
  EXPECT_EQ(judge(r), Bottleneck::kLoader);
  r.reading = 2.1;
  EXPECT_EQ(judge(r), Bottleneck::kDisk);
  set(Phase::kOptimizer, 0.6);  // forward, backward and optimizer are computing together
  EXPECT_EQ(judge(r), Bottleneck::kCompute);
  set(Phase::kComm, 9);
  EXPECT_EQ(judge(r), Bottleneck::kComm);
  set(Phase::kTransfer, 10);
  EXPECT_EQ(judge(r), Bottleneck::kTransfer);
}

TEST(Profile, PrintsTheTable) {
  StepReport r = train(10, 0, 1, 1, 0);
  EXPECT_THAT(r.to_text(),
              AllOf(HasSubstr("wait for the loader"), HasSubstr("  threads: reading files"),
                    HasSubstr("transfer"), HasSubstr("forward"), HasSubstr("wall"),
                    HasSubstr("verdict: loader-bound (more workers")));
  EXPECT_THAT(r.to_text(), ::testing::Not(HasSubstr("backward")));  // nothing was measured for it
}

}  // namespace
}  // namespace wick
