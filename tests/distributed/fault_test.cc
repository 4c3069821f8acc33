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

// Rank 2 is still within the collective before when ranks 0 and 1 find that they differ: it tells
// its own call all the same.
TEST(Faults, ARankThatIsBehind) {
  auto job = std::make_shared<ThreadJob>(3);
  job->slow_from = 1, job->slow_to = 2;
  job->bytes_per_second = 2000;
  const auto calls = [](const char* name) {
    return [name](Group w) { w.barrier(), w.all_reduce(ones({4}), {.name = name}); };
  };
  const Reports r = run_ranks(
      3, [&](Group w) { calls(w.rank() == 1 ? "y" : "x")(w); }, quick_faults(), job);
  EXPECT_THAT(
      r, Each(AllOf(HasSubstr("(other name or line): ranks 0, 2: all_reduce float32[4] sum 'x'"),
                    HasSubstr("; rank 1: all_reduce float32[4] sum 'y'"))));
}

// Groups of a mesh's axis have one name: only the ranks of the one that differs are told of.
TEST(Faults, GroupsOfOneName) {
  EngineOptions o = quick_faults();
  o.dump_folder = test::temp_folder() + "names";
  const Reports r = run_ranks(
      4,
      [](Group w) {
        Group row = w.split(w.rank() / 2, w.rank(), "row");
        Group again = row.split(0, row.rank(), "row");
        w.barrier();
        if (w.rank() < 2) again.all_reduce(ones({4}), {.name = w.rank() == 0 ? "x" : "y"});
        if (w.rank() >= 2) again.all_reduce(ones({4}), {.name = "z"});
        w.barrier();
      },
      o);
  EXPECT_THAT(r,
              Each(AllOf(HasSubstr("collective #1 of group 'row' is not the same on all ranks "
                                   "(other name or line): rank 0: all_reduce float32[4] sum 'x'"),
                         HasSubstr("; rank 1: all_reduce float32[4] sum 'y'"),
                         ::testing::Not(HasSubstr(": all_reduce float32[4] sum 'z'")))));
  const std::string report = hang_report(o.dump_folder);
  EXPECT_THAT(report, HasSubstr("group 'row' #1: the ranks called different things"));
  EXPECT_THAT(report, HasSubstr("\n  rank 0: all_reduce float32[4] sum 'x' (fault_test.cc:"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("ranks 2, 3: all_reduce")));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("split")));  // the one of the same number
}

// A rank of another group has nothing to tell of the call: the others wait but a moment.
TEST(Faults, ARankOfAnotherGroupAnswersSoon) {
  EngineOptions o = quick_faults();
  o.answer_s = 30;
  const auto began = std::chrono::steady_clock::now();
  const Reports r = run_ranks(
      3,
      [](Group w) {
        Group pair = w.split(w.rank() < 2 ? 0 : 1, w.rank(), "pair");
        if (w.rank() < 2) pair.all_reduce(ones({4}), {.name = w.rank() == 0 ? "x" : "y"});
        w.barrier();
      },
      o);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_LT(took.count(), 10);
  EXPECT_THAT(r, Each(AllOf(HasSubstr("group 'pair' is not the same on all ranks (other name or "
                                      "line): rank 0: all_reduce float32[4] sum 'x'"),
                            HasSubstr("; rank 1: all_reduce float32[4] sum 'y'"),
                            HasSubstr("rank 2: in #2 of group 'world', barrier"))));
}

// A message between two ranks has numbers of its own.
TEST(Faults, AMessageIsNotACollectiveOfItsNumber) {
  const Reports r = run_ranks(3, [](Group w) {
    Handle sent;
    if (w.rank() == 2) sent = w.recv_async(ones({7}), 0, {.name = "never"});
    w.all_reduce(ones({4}), {.name = w.rank() == 1 ? "y" : "x"});
  });
  EXPECT_THAT(r, Each(AllOf(HasSubstr("ranks 0, 2: all_reduce float32[4] sum 'x'"),
                            HasSubstr("; rank 1: all_reduce float32[4] sum 'y'"),
                            ::testing::Not(HasSubstr("rank 2: receive")))));
}

TEST(Faults, NamesWithTabsAndNewlines) {
  const Reports r = run_ranks(
      2, [](Group w) { w.all_reduce(ones({4}), {.name = w.rank() == 0 ? "a\tb\nc" : "a\td\nc"}); });
  EXPECT_THAT(
      r, Each(AllOf(HasSubstr("collective #1 of group 'world' is not the same on all ranks "
                              "(other name or line): rank 0: all_reduce float32[4] sum 'a b c'"),
                    HasSubstr("; rank 1: all_reduce float32[4] sum 'a d c'"))));
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

TEST(Faults, ACallBehindTheEndOfTheJob) {
  EXPECT_THAT(run_ranks(2,
                        [](Group w) {
                          w.barrier();
                          w.communicator().engine().stop();
                          w.barrier();
                        }),
              Each(AllOf(HasSubstr("barrier (fault_test.cc:"),
                         HasSubstr("was called behind the end of the job"))));
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

// A process that was stopped while nobody waited for it, and runs again, is asked like any other.
TEST(Faults, AProcessThatRunsAgain) {
  EngineOptions o = quick_faults();
  o.stopped_s = 0.1;
  auto job = std::make_shared<ThreadJob>(3);
  job->slow_from = 1, job->slow_to = 0;
  job->bytes_per_second = 500;  // its statement takes a while
  const Reports r = run_ranks(
      3,
      [&](Group w) {
        const auto sleep = [](int ms) {
          std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        };
        w.barrier();
        if (w.rank() == 0) job->set_peer(1, Transport::Peer::kStopped);
        sleep(800);
        if (w.rank() == 0) job->set_peer(1, Transport::Peer::kAlive);
        sleep(600);
        if (w.rank() == 2) w.fail("no memory");
        w.barrier();
      },
      o, job);
  EXPECT_THAT(r[0], AllOf(HasSubstr("[distributed] rank 2: no memory"),
                          HasSubstr("rank 1: in #2 of group 'world', barrier")));
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
  for (uint32_t i = 1; i <= 1500; ++i) recorder.ended(recorder.begin("world", "4.0", i, call, 0));
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
        w.all_reduce(ones({2}), {.name = "first \"quoted\"\n\xff"});
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

  run_ranks(
      1, [](Group) {}, o);  // the next job
  EXPECT_TRUE(std::filesystem::exists(o.dump_folder + "/wick-flight-0.json.before"));
  EXPECT_THAT(hang_report(o.dump_folder), HasSubstr("dumps of ranks 1, 2 of a job of 3 ranks"));
  std::filesystem::rename(o.dump_folder + "/wick-flight-0.json.before",
                          o.dump_folder + "/wick-flight-0.json");
  // A file of an earlier job of four ranks.
  const std::string old = o.dump_folder + "/wick-flight-3.json";
  std::ofstream(old) << R"({"rank": 3, "ranks": 4, "now": 1, "reason": "", "entries": []})";
  using std::filesystem::last_write_time;
  last_write_time(old,
                  last_write_time(o.dump_folder + "/wick-flight-0.json") - std::chrono::hours(1));
  EXPECT_THAT(hang_report(o.dump_folder),
              AllOf(HasSubstr("dumps of ranks 0, 1, 2 of a job of 3 ranks"),
                    HasSubstr("not read, of an earlier job of another size: rank 3\n")));
  std::filesystem::remove(old);

  EXPECT_THAT(test::error_of([] { hang_report(test::temp_folder() + "none"); }),
              HasSubstr("no wick-flight-RANK.json"));
  std::ofstream(o.dump_folder + "/wick-flight-9.json") << "{\"rank\": 9}";
  EXPECT_THAT(test::error_of([&] { hang_report(o.dump_folder); }), HasSubstr("wick-flight-9.json"));
}

// A few bytes that say a number must not cost as much memory or time as the number.
TEST(FlightRecorder, AbsentRanksAreRanges) {
  const std::string folder = test::temp_folder() + "ranges";
  std::filesystem::create_directories(folder);
  const auto dump = [&](int64_t rank, int64_t ranks) {
    std::ofstream(folder + "/wick-flight-" + std::to_string(rank) + ".json")
        << R"({"rank": )" << rank << R"(, "ranks": )" << ranks
        << R"(, "now": 1, "reason": "", "entries": []})";
  };
  dump(0, 2147483647);
  EXPECT_THAT(hang_report(folder),
              HasSubstr("of a job of 2147483647 ranks\nno dump of ranks 1 to 2147483646\n"));
  for (int64_t rank : {0, 1, 3, 6, 10}) dump(rank, 13);
  EXPECT_THAT(hang_report(folder), HasSubstr("no dump of ranks 2, 4, 5, 7 to 9, 11, 12\n"));
  for (int64_t rank : {0, 1, 3, 6, 10}) dump(rank, 4);
  EXPECT_THAT(hang_report(folder), HasSubstr("no dump of rank 2\n"));
}

}  // namespace
}  // namespace wick::distributed
