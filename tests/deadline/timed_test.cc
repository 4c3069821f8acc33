// The timed form, only in `make test-full PARTS=timing`: every row meets a deadline of 100 ms
// within 50 ms, and also a request from another thread. Prints what was how late.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/deadline/case.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"

namespace wick::test {
namespace {

constexpr const TestRow* kRows[] = {
#define WICK_TESTED_kInfer(Name) &kTest_##Name,
#define WICK_TESTED_kTrain(Name)
#define WICK_TESTED_kControl(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_TESTED_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

constexpr double kWork = 2e11, kBytes = 1e9;
constexpr uint64_t kAskedNs = 100'000'000;
constexpr double kAllowedMs = 50;

struct Line {
  std::string what;
  double late_ms;
};
std::vector<Line>& lines() {
  static std::vector<Line> all;
  return all;
}

class PrintLate : public testing::Environment {
 public:
  void TearDown() override {
    auto& all = lines();
    std::sort(all.begin(), all.end(),
              [](const Line& a, const Line& b) { return a.late_ms > b.late_ms; });
    for (const Line& l : all) fmt::print("{:8.2f} ms late: {}\n", l.late_ms, l.what);
  }
};
[[maybe_unused]] const testing::Environment* const kPrintLate =
    testing::AddGlobalTestEnvironment(new PrintLate);

class DeadlineTimed : public testing::TestWithParam<const TestRow*> {};

std::string row_name(const testing::TestParamInfo<const TestRow*>& info) {
  return find_op(info.param->op)->name;
}

double ms(uint64_t from, uint64_t to) {
  return (static_cast<double>(to) - static_cast<double>(from)) / 1e6;
}

void meets(const TestRow& row, Span<const KernelSet* const> sets, int threads, double work) {
  if (exempt(row.op) != nullptr) return;
  auto pool = ThreadPool::create(default_allocator(), threads);
  ASSERT_TRUE(pool.ok());
  {
    // A sum of too many bytes is refused: the pools of bytes are as large as they may be.
    const double bytes = row.op == OpId::kQLinearGlobalAveragePool ? kBytes / 8 : kBytes;
    LongCall call(row, std::min(work, hand_case(row.op, 1).has_value() ? 5e8 : work), bytes);
    Status s = call.prepare(sets, *pool);
    ASSERT_TRUE(s.ok()) << s.message();
    const std::string what =
        fmt::format("{} {} {}", find_op(row.op)->name, call.kernel(), call.shapes());
    Stop stop;
    uint64_t begin = now_ns();
    stop.arm(begin + kAskedNs, nullptr);
    s = call.run(&stop);
    uint64_t end = now_ns();
    if (s.ok()) {
      lines().push_back({fmt::format("{}: the largest takes {:.0f} ms", what, ms(begin, end)),
                         ms(begin + kAskedNs, end)});
    } else {
      EXPECT_EQ(s.code(), Code::kDeadline) << what << s.message();
      lines().push_back({what, ms(begin + kAskedNs, end)});
    }
    EXPECT_LE(ms(begin + kAskedNs, end), kAllowedMs) << what;

    CancelFlag cancel;
    stop.arm(0, &cancel);
    uint64_t asked = 0;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kAskedNs));
      asked = now_ns();
      cancel.request();
    });
    s = call.run(&stop);
    end = now_ns();
    other.join();
    if (!s.ok()) {
      EXPECT_EQ(s.code(), Code::kCancelled) << what << s.message();
      lines().push_back({what + ", cancelled", ms(asked, end)});
      EXPECT_LE(ms(asked, end), kAllowedMs) << what << ", cancelled";
    }
  }
  ThreadPool::destroy(*pool);
}

TEST_P(DeadlineTimed, IsMet) {
  if (getenv("WICK_TEST_FULL") == nullptr) return;  // times: `make test-full PARTS=timing`
  meets(*GetParam(), cpu_sets(), 2, kWork);
}
// The same by the time that the CPU works for one thread: what a machine has to do besides does not
// disturb it.
uint64_t cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}
TEST_P(DeadlineTimed, IsMetInCpuTime) {
  if (getenv("WICK_TEST_FULL") == nullptr || exempt(GetParam()->op) != nullptr) return;
  for (const auto& sets : {cpu_sets(), reference_sets()}) {
    const bool hand = hand_case(GetParam()->op, 1).has_value();
    LongCall call(*GetParam(), hand ? 5e8 : kWork, kBytes / 2);
    Status s = call.prepare(sets, nullptr);
    ASSERT_TRUE(s.ok()) << s.message();
    Stop stop;
    const uint64_t begin = cpu_ns();
    stop.arm(begin + kAskedNs, nullptr, cpu_ns);
    s = call.run(&stop);
    const double late = ms(begin + kAskedNs, cpu_ns());
    const std::string what =
        fmt::format("CPU time: {} {} {}{}", find_op(GetParam()->op)->name, call.kernel(),
                    call.shapes(), s.ok() ? ": the largest takes no longer" : "");
    lines().push_back({what, late});
    EXPECT_LE(late, kAllowedMs) << what;
  }
}
TEST_P(DeadlineTimed, IsMetByReferenceRows) {
  if (getenv("WICK_TEST_FULL") == nullptr) return;
  meets(*GetParam(), reference_sets(), 1, kWork);
}
INSTANTIATE_TEST_SUITE_P(All, DeadlineTimed, testing::ValuesIn(kRows), row_name);

}  // namespace
}  // namespace wick::test
