// What ranks that disagree, end or are silent lead to: one report, on every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/distributed/thread_ranks.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "trainer/distributed/comm/flight_recorder.h"
#include "trainer/distributed/hang_report.h"
#include "trainer/tensor/ops.h"

namespace wick::distributed {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Rank 1 calls something else than ranks 0 and 2.
Reports differ(const std::function<void(Group)>& usual, const std::function<void(Group)>& other) {
  return run_ranks(3, [&](Group world) { world.rank() == 1 ? other(world) : usual(world); });
}

TEST(Faults, AnotherKindShapeDTypeOrFunction) {
  const auto sum = [](Group w) { w.all_reduce(ones({4}), {.name = "x"}); };
  EXPECT_THAT(differ(sum, [](Group w) { w.broadcast(ones({4}), 0, {.name = "x"}); }),
              Each(AllOf(HasSubstr("collective #1 of group 'world' is not the same on all ranks "
                                   "(other kind): ranks 0, 2: all_reduce float32[4] sum 'x' "
                                   "(fault_test.cc:"),
                         HasSubstr("rank 1: broadcast float32[4] from 0 'x' (fault_test.cc:"))));
  EXPECT_THAT(differ(sum, [](Group w) { w.all_reduce(ones({6}), {.name = "x"}); }),
              Each(AllOf(HasSubstr("(other size)"), HasSubstr("rank 1: all_reduce float32[6]"))));
  EXPECT_THAT(differ(sum, [](Group w) { w.all_reduce(ones({4}, DType::kF64), {.name = "x"}); }),
              Each(AllOf(HasSubstr("(other dtype)"), HasSubstr("rank 1: all_reduce float64[4]"))));
  EXPECT_THAT(
      differ(sum, [](Group w) { w.all_reduce(ones({4}), {.op = ReduceOp::kMax, .name = "x"}); }),
      Each(AllOf(HasSubstr("(other function or root)"), HasSubstr("float32[4] max 'x'"))));
  EXPECT_THAT(differ([](Group w) { w.broadcast(ones({4}), 0, {.name = "x"}); },
                     [](Group w) { w.broadcast(ones({4}), 1, {.name = "x"}); }),
              Each(HasSubstr("(other function or root)")));
}

// Two sums of one shape in another order: elsewhere wrong numbers without an error.
TEST(Faults, AnotherOrder) {
  const auto a = [](Group w) { w.all_reduce(ones({4})); };
  const auto b = [](Group w) { w.all_reduce(ones({4})); };
  EXPECT_THAT(differ([&](Group w) { a(w), b(w); }, [&](Group w) { b(w), a(w); }),
              Each(HasSubstr("(other name or line)")));
}

TEST(Faults, ARankThatEndsWithoutTheCall) {
  const Reports r = run_ranks(3, [](Group w) {
    w.barrier();
    if (w.rank() != 1) w.all_reduce(ones({4}), {.name = "x"});
  });
  for (int rank : {0, 2}) {
    EXPECT_THAT(r[static_cast<size_t>(rank)],
                AllOf(HasSubstr("rank 1 ended without calling #2 of group 'world', all_reduce"),
                      HasSubstr("rank 1: ended; in no collective; its last, #1 of group 'world', "
                                "barrier (fault_test.cc:")));
  }
}

TEST(Faults, ASilentRankWithinTheTimeOut) {
  EngineOptions o = quick_faults();
  o.timeout_s = 0.5;
  const Reports r = run_ranks(
      3,
      [](Group w) {
        if (w.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        w.all_reduce(ones({4}), {.name = "x"});
      },
      o);
  EXPECT_THAT(r, Each(HasSubstr("rank 1 did not call #1 of group 'world', all_reduce")));
  EXPECT_THAT(r, Each(HasSubstr("rank 1: in no collective, and it called none before")));
}

TEST(Faults, ASlowLink) {
  EngineOptions o = quick_faults();
  o.timeout_s = 0.5;
  auto job = std::make_shared<ThreadJob>(3);
  job->slow_from = 2, job->slow_to = 0;
  job->bytes_per_second = 1e4;  // a fingerprint takes 2 ms, a segment of the tensor 4 s
  const Reports r = run_ranks(
      3, [](Group w) { w.all_reduce(ones({30000}), {.name = "x"}); }, o, job);
  EXPECT_THAT(r, Each(AllOf(HasSubstr("the messages of #1 of group 'world', all_reduce"),
                            HasSubstr("did not arrive within"),
                            HasSubstr(" s, waits for messages from or to rank 2\n  rank 1: "))));
}

TEST(Faults, AProcessThatIsGoneOrStopped) {
  for (const auto& [peer, text] :
       {std::pair(Transport::Peer::kDead, "the process of rank 1 is gone"),
        std::pair(Transport::Peer::kStopped, "the process of rank 1 is stopped")}) {
    EngineOptions o = quick_faults();
    o.stopped_s = 0.1;
    auto job = std::make_shared<ThreadJob>(3);
    const Reports r = run_ranks(
        3,
        [&, peer = peer](Group w) {
          if (w.rank() != 1) return w.all_reduce(ones({4}), {.name = "x"});
          job->set_peer(1, peer);
          std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        },
        o, job);
    EXPECT_THAT(r[0], HasSubstr(text));
    EXPECT_THAT(r[2], HasSubstr(text));
  }
}

TEST(Faults, AnErrorOfOneRankIsTheReportOfAll) {
  EXPECT_THAT(run_ranks(3,
                        [](Group w) {
                          if (w.rank() == 2) w.fail("the loss is NaN");
                          w.barrier();
                        }),
              Each(HasSubstr("[distributed] rank 2: the loss is NaN (fault_test.cc:")));
}

TEST(Faults, AMessageOfAnotherSizeBetweenTwoRanks) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          if (w.rank() == 0) w.send(ones({4}), 1);
                          if (w.rank() == 1) w.recv(ones({5}), 0);
                          w.barrier();
                        }),
              Each(AllOf(HasSubstr("(other size)"), HasSubstr("receive float32[5] from 0"))));
}

TEST(FlightRecorder, KeepsTheLastThousand) {
  FlightRecorder recorder;
  Call call;
  for (uint32_t i = 1; i <= 1500; ++i) recorder.ended(recorder.begin("world", i, call, 0));
  const std::vector<FlightRecorder::Entry> entries = recorder.entries();
  ASSERT_EQ(entries.size(), FlightRecorder::kCapacity);
  EXPECT_EQ(entries.front().sequence, 501u);
  EXPECT_EQ(entries.back().sequence, 1500u);
  EXPECT_GE(entries.back().ended, 0);
}

TEST(FlightRecorder, DumpsAreMergedToWhatRanksDiffer) {
  EngineOptions o = quick_faults();
  o.dump_folder = test::temp_folder() + "dumps";
  const Reports r = run_ranks(
      3,
      [](Group w) {
        w.all_reduce(ones({2}), {.name = "first \"quoted\"\n"});
        if (w.rank() == 1) w.all_reduce(ones({4}), {.name = "b"});
        w.all_reduce(ones({4}), {.name = "a"});
      },
      o);
  EXPECT_THAT(r, Each(HasSubstr("wick-flight-")));
  const std::string report = hang_report(o.dump_folder);
  EXPECT_THAT(report, HasSubstr("dumps of ranks 0, 1, 2 of a job of 3 ranks"));
  EXPECT_THAT(report, HasSubstr("group 'world' #2: the ranks called different things"));
  EXPECT_THAT(report, HasSubstr("  ranks 0, 2: all_reduce float32[4] sum 'a' (fault_test.cc:"));
  EXPECT_THAT(report, HasSubstr("  rank 1: all_reduce float32[4] sum 'b' (fault_test.cc:"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("#1:")));  // it was ended, and the same

  EXPECT_THAT(test::error_of([] { hang_report(test::temp_folder() + "none"); }),
              HasSubstr("no wick-flight-RANK.json"));
  std::ofstream(o.dump_folder + "/wick-flight-9.json") << "{\"rank\": 9}";
  EXPECT_THAT(test::error_of([&] { hang_report(o.dump_folder); }), HasSubstr("wick-flight-9.json"));
}

}  // namespace
}  // namespace wick::distributed
