// The figures that are made of the times of runs, by hand.
#include "tools/lib/run_times.h"

#include <gtest/gtest.h>

namespace wick::tool {
namespace {

TEST(RunTimes, AQuantileIsTheElementThatSoManyComeBefore) {
  std::vector<double> hundred;
  for (int i = 1; i <= 100; ++i) hundred.push_back(i);
  EXPECT_EQ(quantile(hundred, 0), 1);
  EXPECT_EQ(quantile(hundred, 0.5), 51);  // 50 come before it
  EXPECT_EQ(quantile(hundred, 0.95), 96);
  EXPECT_EQ(quantile(hundred, 0.99), 100);
  EXPECT_EQ(quantile(hundred, 1), 100);  // no later than the last
  EXPECT_EQ(quantile({7}, 0.99), 7);
  EXPECT_EQ(quantile({1, 2, 3}, 0.5), 2);
  EXPECT_EQ(quantile({}, 0.5), 0);
}

TEST(RunTimes, EachClockIsSortedByItself) {
  RunTimes times;
  times.add(4, 1);
  times.add(2, 8);
  times.add(6, 3);
  EXPECT_EQ(times.runs(), 3u);
  EXPECT_EQ(times.total_ms(), 12);
  const TimeFigures wall = times.wall(), cpu = times.cpu();
  EXPECT_EQ(wall.least, 2);
  EXPECT_EQ(wall.p50, 4);
  EXPECT_EQ(wall.p99, 6);
  EXPECT_EQ(wall.mean, 4);
  EXPECT_EQ(cpu.least, 1);
  EXPECT_EQ(cpu.p50, 3);
  EXPECT_EQ(cpu.p95, 8);
  EXPECT_EQ(cpu.mean, 4);
}

TEST(RunTimes, SlicesAreOneList) {
  RunTimes all, slice;
  EXPECT_EQ(all.wall().p50, 0);
  slice.add(5, 2);
  slice.add(9, 4);
  all.add(slice);
  slice = RunTimes();
  slice.add(1, 1);
  all.add(slice);
  EXPECT_EQ(all.runs(), 3u);
  EXPECT_EQ(all.wall().least, 1);
  EXPECT_EQ(all.wall().p50, 5);
  EXPECT_EQ(all.cpu().p50, 2);
}

}  // namespace
}  // namespace wick::tool
