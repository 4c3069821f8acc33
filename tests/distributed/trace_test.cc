// One trace of all ranks: sums of gradients lie under backward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/distributed/nets.h"
#include "tests/distributed/thread_ranks.h"
#include "tests/support/temp_folder.h"

namespace wick::distributed {
namespace {

using namespace testing;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Whether a sum of gradients of this rank had been called, and was not done, when an op of backward
// began.
bool sum_under_backward(const nlohmann::json& events, int rank) {
  for (const auto& sum : events) {
    if (sum.at("pid") != rank || sum.value("cat", "") != "collective") continue;
    if (sum.at("name").get<std::string>().find("gradients of") == std::string::npos) continue;
    const double begin = sum.at("ts"), end = begin + sum.at("dur").get<double>();
    for (const auto& op : events) {
      if (op.at("pid") != rank || op.value("cat", "") != "backward op") continue;
      if (op.at("ts") > begin && op.at("ts") < end) return true;
    }
  }
  return false;
}

TEST(RankTrace, ShowsSumsUnderBackward) {
  const std::string path = test::temp_folder() + "ranks.json";
  auto job = std::make_shared<ThreadJob>(3);
  job->delay = std::chrono::milliseconds(30);  // a sum takes long beside an op
  EXPECT_THAT(run_ranks(
                  3,
                  [&](Group w) {
                    LeNet net;
                    DataParallel ddp(net, w, {.shards = 3, .bucket_bytes = 1 << 8});
                    const auto batch =
                        samples("lenet", 6)->get_batch(std::vector<int64_t>{0, 1, 2, 3, 4, 5});
                    RankTrace trace(w);
                    ddp.step(batch, [&](Part& p) { return cross_entropy(ddp(p.x), p.y); });
                    const std::vector<Overlap> overlaps = trace.save(path);
                    ASSERT_EQ(overlaps.size(), 3u);
                    for (const Overlap& o : overlaps) {
                      EXPECT_GT(o.communication_s, 0);
                      EXPECT_GT(o.hidden_s, 0);
                      EXPECT_LE(o.fraction(), 1);
                    }
                    trace.save(path);
                  },
                  quick_faults(), job),
              Each(HasSubstr("[rank_trace] was saved before")));
  std::ifstream file(path);
  const nlohmann::json events = nlohmann::json::parse(file).at("traceEvents");
  std::set<std::string> tracks;
  for (const auto& e : events) {
    if (e.at("ph") == "M") tracks.insert(e.at("args").at("name").get<std::string>());
  }
  EXPECT_THAT(tracks, ::testing::IsSupersetOf({"rank 0", "rank 1", "rank 2", "training thread",
                                               "collectives of data_parallel"}));
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(sum_under_backward(events, rank)) << rank;
}

TEST(RankTrace, AFileThatCannotBeWrittenIsAnErrorOfAllRanks) {
  EXPECT_THAT(run_ranks(2, [](Group w) { RankTrace(w).save("/proc/nowhere/ranks.json"); }),
              Each(HasSubstr("[rank_trace] cannot write /proc/nowhere/ranks.json")));
  EXPECT_DOUBLE_EQ(Overlap{}.fraction(), 1);
  EXPECT_THAT(run_ranks(1,
                        [](Group w) {
                          EXPECT_EQ(RankTrace(w).save(test::temp_folder() + "alone.json").size(),
                                    1u);
                        }),
              Each(IsEmpty()));
}

}  // namespace
}  // namespace wick::distributed
