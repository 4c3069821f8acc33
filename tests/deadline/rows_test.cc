// Every row of ops.def that a program may have checks within each step whether its run is to end.
//
// `make test` asserts counts and not times: the Stop's clock is the number of times that it was
// read.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "tests/deadline/case.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"

namespace wick::test {
namespace {

constexpr const TestRow* kRows[] = {
#define WICK_TESTED_kInfer(Name) &kTest_##Name,
#define WICK_TESTED_kTrain(Name)    // the program writer refuses it: no session runs it
#define WICK_TESTED_kControl(Name)  // no kernels: tests/runtime/cancel_test.cc
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_TESTED_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

constexpr double kWork = 1.5e8;     // of a call, by op_work
constexpr double kEach = 5e7;       // in which it asks at least once
constexpr double kBytes = 1 << 29;  // of its inputs and outputs

std::atomic<uint64_t> g_looks{0};
std::atomic<uint64_t> g_cancel_at{0};
CancelFlag g_cancel;
uint64_t count_looks() {
  const uint64_t n = g_looks.fetch_add(1) + 1;
  if (n == g_cancel_at.load()) g_cancel.request();
  return n;
}

class DeadlineRows : public testing::TestWithParam<const TestRow*> {};

std::string row_name(const testing::TestParamInfo<const TestRow*>& info) {
  return find_op(info.param->op)->name;
}

// Every row takes minutes: `make test` looks at one in eight of them, of each set at others, and
// the part `timing` of the full run at all.
bool left_for_the_full_run(OpId op, uint32_t offset) {
  const bool broken = op == OpId::kAdd || op == OpId::kDet;  // tests/sabotage looks for these
  return getenv("WICK_TEST_FULL") == nullptr && !broken &&
         (static_cast<uint32_t>(op) + offset) % 8 != 0;
}

void look_at(const TestRow& row, Span<const KernelSet* const> sets) {
  if (exempt(row.op) != nullptr) return;
  LongCall call(row, kWork, kBytes);
  Status s = call.prepare(sets, nullptr);
  ASSERT_TRUE(s.ok()) << s.message();
  if (getenv("WICK_SHOW") != nullptr)
    printf("%-24s %-36s %.3g %s\n", find_op(row.op)->name, call.kernel(), call.work(),
           call.shapes().c_str());
  ASSERT_GE(call.work(), kWork) << call.shapes();
  Stop stop;
  // It asks often enough.
  g_looks = 0;
  stop.arm(UINT64_MAX, nullptr, count_looks);
  s = call.run(&stop);
  ASSERT_TRUE(s.ok()) << s.message();
  const uint64_t looks = g_looks;
  ASSERT_GE(static_cast<double>(looks), std::floor(call.work() / kEach))
      << call.kernel() << call.shapes();
  // It ends at a deadline in the middle, and looks no further.
  g_looks = 0;
  stop.arm(looks / 2, nullptr, count_looks);
  EXPECT_EQ(call.run(&stop).code(), Code::kDeadline) << call.kernel();
  EXPECT_LE(g_looks, looks / 2 + 4) << call.kernel();
  // It ends when another thread, or whoever, asks for it.
  g_looks = 0;
  g_cancel.clear();
  g_cancel_at = looks / 2;
  stop.arm(UINT64_MAX, &g_cancel, count_looks);
  EXPECT_EQ(call.run(&stop).code(), Code::kCancelled) << call.kernel();
  EXPECT_LE(g_looks, looks / 2 + 4) << call.kernel();
  g_cancel_at = 0;
  // And what was left undone does not stay.
  stop.arm(0, nullptr);
  EXPECT_TRUE(call.run(nullptr).ok());
}

TEST_P(DeadlineRows, AskOftenEnough) {
  if (!left_for_the_full_run(GetParam()->op, 0)) look_at(*GetParam(), cpu_sets());
}
TEST_P(DeadlineRows, ReferenceRowsAskOftenEnough) {
  if (!left_for_the_full_run(GetParam()->op, 4)) look_at(*GetParam(), reference_sets());
}
INSTANTIATE_TEST_SUITE_P(All, DeadlineRows, testing::ValuesIn(kRows), row_name);

}  // namespace
}  // namespace wick::test
