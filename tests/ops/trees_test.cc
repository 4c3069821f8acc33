// Trees and dictionaries: answers written here, and tables that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/core/stop.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One feature; node 0 asks x <= 1 (NaN goes on to the true child), node 1 behind it x == 0.
struct Tables {
  std::vector<double> nodes = {0, 3 | 8, 1, -1, 0, 2, -2, -3};
  std::vector<double> splits = {1, 0};
  std::vector<double> roots = {0, -1};
  std::vector<double> starts = {0, 1, 2, 4};
  std::vector<double> targets = {0, 0, 0, 1};
  std::vector<double> weights = {0.5, 2, 4, 8};
  TreeEnsembleAttrs attrs = {2, 1};
};

Input table(DType t, const std::vector<double>& v) {
  return {t, {static_cast<int64_t>(v.size())}, 0, 0, v};
}

Sample call(const Tables& t, std::vector<double> x) {
  const Shape rows = {static_cast<int64_t>(x.size()), 1};
  const Shape nodes = {static_cast<int64_t>(t.nodes.size() / 4), 4};
  return sample("trees",
                {{DType::kF32, rows, 0, 0, std::move(x)},
                 {DType::kI32, nodes, 0, 0, t.nodes},
                 table(DType::kF32, t.splits),
                 table(DType::kI32, t.roots),
                 table(DType::kI32, t.starts),
                 table(DType::kI32, t.targets),
                 table(DType::kF32, t.weights)},
                t.attrs);
}

std::vector<double> answers(const Tables& t, std::vector<double> x,
                            Span<const KernelSet* const> sets) {
  const Sample s = call(t, std::move(x));
  std::vector<Value> out;
  const Status status =
      run_op(OpId::kTreeEnsemble, s.attrs.get(), make_inputs(s), 1, sets, nullptr, &out);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<double> all;
  for (int64_t i = 0; status.ok() && i < out[0].view().numel(); ++i) all.push_back(out[0].at(i));
  return all;
}

std::string refusal(const Tables& t, Span<const KernelSet* const> sets) {
  const Sample s = call(t, {0.5});
  std::vector<Value> out;
  return run_op(OpId::kTreeEnsemble, s.attrs.get(), make_inputs(s), 1, sets, nullptr, &out)
      .message();
}

TEST(Trees, FollowTheirRelations) {
  for (auto sets : {reference_sets(), cpu_sets()}) {
    // x = 2 goes to leaf 0; 0 to leaf 1; 1 and NaN to leaf 2. The second tree is leaf 0 alone.
    EXPECT_THAT(answers({}, {2, 0, 1, NAN}, sets), ElementsAre(1, 0, 2.5, 0, 4.5, 8, 4.5, 8));
    Tables t;
    t.nodes[1] = 3;  // NaN goes on to the false child
    EXPECT_THAT(answers(t, {NAN}, sets), ElementsAre(1, 0));
  }
}

TEST(Trees, Aggregate) {
  for (auto sets : {reference_sets(), cpu_sets()}) {
    Tables t;
    t.attrs.aggregate_function = static_cast<int64_t>(TreeAggregate::kAverage);
    EXPECT_THAT(answers(t, {0}, sets), ElementsAre(1.25, 0));
    t.attrs.aggregate_function = static_cast<int64_t>(TreeAggregate::kMin);
    EXPECT_THAT(answers(t, {0, 1}, sets), ElementsAre(0.5, 0, 0.5, 8));
    t.attrs.aggregate_function = static_cast<int64_t>(TreeAggregate::kMax);
    EXPECT_THAT(answers(t, {0, 1}, sets), ElementsAre(2, 0, 4, 8));
  }
}

// Relations that no operator of ONNX has: never, always, and one alone.
TEST(Trees, TakeAnyFourBits) {
  for (auto sets : {reference_sets(), cpu_sets()}) {
    Tables t;
    t.roots = {0};
    t.nodes = {0, 0, -1, -2};
    t.splits = {1};
    for (int relations = 0; relations < 16; ++relations) {
      t.nodes[1] = relations;
      std::vector<double> want;
      for (int is : {1, 2, 4, 8}) {
        want.push_back((relations & is) != 0 ? 0.5 : 2);
        want.push_back(0);
      }
      EXPECT_EQ(answers(t, {0, 1, 2, NAN}, sets), want) << relations;
    }
  }
}

// Each change of one number that would lead out of the tables, or round in a circle.
TEST(Trees, HostileTablesAreRefused) {
  struct Change {
    std::vector<double> Tables::*of;
    size_t at;
    double to;
    const char* says;
  };
  const Change changes[] = {{&Tables::nodes, 0, 1, "compares feature 1, a row has 1"},
                            {&Tables::nodes, 0, -1, "compares feature -1"},
                            {&Tables::nodes, 1, 16, "relations 16"},
                            {&Tables::nodes, 2, 0, "child 0"},
                            {&Tables::nodes, 6, 0, "child 0"},
                            {&Tables::nodes, 6, 1, "child 1"},
                            {&Tables::nodes, 3, 2, "child 2"},
                            {&Tables::nodes, 3, -4, "child -4"},
                            {&Tables::nodes, 3, INT32_MIN, "child -2147483648"},
                            {&Tables::roots, 0, 2, "root 0 is 2"},
                            {&Tables::roots, 1, -4, "root 1 is -4"},
                            {&Tables::starts, 0, -1, "leaf start 0 is -1"},
                            {&Tables::starts, 3, 5, "leaf start 3 is 5"},
                            {&Tables::starts, 1, 3, "leaf start 2 is 2"},
                            {&Tables::targets, 3, 2, "target 2, there are 2"},
                            {&Tables::targets, 0, -1, "target -1"}};
  for (const Change& c : changes) {
    Tables t;
    (t.*c.of)[c.at] = c.to;
    for (auto sets : {reference_sets(), cpu_sets()})
      EXPECT_THAT(refusal(t, sets), HasSubstr(c.says)) << c.at << " " << c.to;
  }
  EXPECT_EQ(refusal({}, cpu_sets()), "");
}

TEST(Trees, TablesThatDoNotFitAreRefused) {
  Tables t;
  t.splits.push_back(1);
  EXPECT_THAT(refusal(t, cpu_sets()), HasSubstr("each node needs a split"));
  t = {};
  t.weights.pop_back();
  EXPECT_THAT(refusal(t, cpu_sets()), HasSubstr("each weight needs a target"));
  t = {};
  t.starts.clear();
  EXPECT_THAT(refusal(t, cpu_sets()), HasSubstr("leaf starts"));
  t = {};
  t.attrs.n_targets = 0;
  EXPECT_THAT(refusal(t, cpu_sets()), HasSubstr("n_targets is 0"));
}

// Two parents share a child: a set of values, as converters write it.
TEST(Trees, MayShareNodes) {
  Tables t;
  t.nodes = {0, 2, 2, 1, 0, 2, 2, -1, 0, 3, -2, -3};
  t.splits = {1, 3, 9};
  t.roots = {0};
  EXPECT_THAT(answers(t, {1, 2, 3}, cpu_sets()), ElementsAre(2, 0, 0.5, 0, 2, 0));
}

uint64_t g_looks = 0;
uint64_t count_looks() { return ++g_looks; }

// A walk through a chain of nodes asks on its way whether the run is to end.
TEST(Trees, AskWithinALongWalk) {
  constexpr int kNodes = 1 << 19;
  Tables t;
  t.nodes.clear();
  for (int i = 0; i < kNodes; ++i)  // below 1: on to the next node, or to leaf 0; else to leaf 1
    t.nodes.insert(t.nodes.end(), {0, 1, i + 1 < kNodes ? i + 1.0 : -1.0, -2});
  t.splits.assign(kNodes, 1);
  t.roots = {0};
  t.starts = {0, 1, 2}, t.targets = {0, 0}, t.weights = {3, 5};
  t.attrs.n_targets = 1;
  for (auto sets : {reference_sets(), cpu_sets()}) {
    const auto looks = [&](double x, double want) {
      Stop stop;
      stop.arm(UINT64_MAX, nullptr, count_looks);
      const StopScope scope(&stop);
      g_looks = 0;
      EXPECT_THAT(answers(t, {x}, sets), ElementsAre(want));
      return g_looks;
    };
    const uint64_t short_walk = looks(2, 5), long_walk = looks(0, 3);
    EXPECT_GE(long_walk, short_walk + kNodes / kPollWork / 2);
  }
}

template <class... In>
std::vector<int64_t> places(In... in) {
  const Sample s = sample("keys", {in...});
  std::vector<Value> out;
  const Status status =
      run_op(OpId::kLookUp, s.attrs.get(), make_inputs(s), 1, cpu_sets(), nullptr, &out);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<int64_t> all;
  for (int64_t i = 0; status.ok() && i < out[0].view().numel(); ++i)
    all.push_back(static_cast<int64_t>(out[0].at(i)));
  return all;
}

TEST(LookUp, FindsEachKeysPlace) {
  EXPECT_THAT(places(ints({7, -4, 3, 8, INT64_MIN}), ints({-4, 3, 7})),
              ElementsAre(2, 0, 1, -1, -1));
  EXPECT_THAT(places(words({4}, {"é", "a", "", "aa"}), words({3}, {"", "a", "é"})),
              ElementsAre(2, 1, 0, -1));
  EXPECT_THAT(places(table(DType::kF32, {-0.0, NAN, 1, INFINITY}), table(DType::kF32, {0, 2, NAN})),
              ElementsAre(0, 2, -1, -1));
  EXPECT_THAT(places(ints({1, 2}), Input{DType::kI64, {0}, 0, 0, {}}), ElementsAre(-1, -1));
}

TEST(LookUp, RefusesKeysOutOfOrder) {
  for (const std::vector<double>& keys : {std::vector<double>{2, 1}, {1, 1}, {NAN, 1}, {0, -0.0}}) {
    const Sample s = sample("keys", {table(DType::kF32, {1}), table(DType::kF32, keys)});
    std::vector<Value> out;
    EXPECT_THAT(run_op(OpId::kLookUp, s.attrs.get(), make_inputs(s), 1, cpu_sets(), nullptr, &out)
                    .message(),
                HasSubstr("key 1 is not above the one before it"));
  }
  const Sample s = sample("keys", {ints({1}), table(DType::kF32, {1})});
  std::vector<Value> out;
  EXPECT_THAT(
      run_op(OpId::kLookUp, s.attrs.get(), make_inputs(s), 1, cpu_sets(), nullptr, &out).message(),
      HasSubstr("one dtype"));
}

}  // namespace
}  // namespace wick::test
