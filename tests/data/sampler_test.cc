// Samplers: permutations, frequencies, shards, batches; all of them functions of (seed, epoch).
#include "trainer/data/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/error_of.h"

namespace wick {
namespace {

using namespace data;
using test::error_of;
using ::testing::HasSubstr;
using List = std::vector<int64_t>;

List count_up(int64_t n) {
  List all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}
List sorted(List values) {
  std::sort(values.begin(), values.end());
  return values;
}
double chi2(const std::map<int64_t, double>& expected, const List& drawn) {
  std::map<int64_t, double> seen;
  for (int64_t i : drawn) ++seen[i];
  double sum = 0;
  for (const auto& [item, e] : expected) sum += (seen[item] - e) * (seen[item] - e) / e;
  return sum;
}

TEST(Samplers, SequentialAndRandom) {
  EXPECT_EQ(SequentialSampler(5).indices(3), count_up(5));
  RandomSampler random(100, false, std::nullopt, 7);
  EXPECT_EQ(random.indices(2), RandomSampler(100, false, std::nullopt, 7).indices(2));
  EXPECT_EQ(random.indices(2), epoch_permutation(100, 7, 2));
  EXPECT_NE(random.indices(2), random.indices(3));
  EXPECT_EQ(sorted(random.indices(2)), count_up(100));
  // More samples than items: another permutation follows.
  List more = RandomSampler(10, false, 25, 1).indices(0);
  ASSERT_EQ(more.size(), 25u);
  EXPECT_EQ(sorted(List(more.begin(), more.begin() + 10)), count_up(10));
  EXPECT_EQ(sorted(List(more.begin() + 10, more.begin() + 20)), count_up(10));
  EXPECT_NE(List(more.begin(), more.begin() + 10), List(more.begin() + 10, more.begin() + 20));
}

TEST(Samplers, ReplacementIsUniform) {
  List drawn = RandomSampler(10, true, 20000, 3).indices(0);
  std::map<int64_t, double> expected;
  for (int64_t i = 0; i < 10; ++i) expected[i] = 2000;
  EXPECT_LT(chi2(expected, drawn), 27.9);  // chi2 with 9 degrees of freedom, p = 0.001
  EXPECT_GT(chi2(expected, drawn), 1.1);   // too even is no chance either
}

TEST(Samplers, SubsetIsAPermutationOfTheSubset) {
  SubsetRandomSampler subset({4, 8, 15, 16, 23, 42}, 1);
  EXPECT_EQ(sorted(subset.indices(0)), (List{4, 8, 15, 16, 23, 42}));
  EXPECT_NE(subset.indices(0), subset.indices(1));
  EXPECT_THAT(error_of([] { SubsetRandomSampler({1, -1}); }), HasSubstr("index -1"));
}

TEST(Samplers, WeightsAreFrequencies) {
  std::vector<double> weights = {1, 0, 2, 3, 0.5, 0, 3.5};
  List drawn = WeightedRandomSampler(weights, 20000, true, 11).indices(0);
  std::map<int64_t, double> expected;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) expected[static_cast<int64_t>(i)] = weights[i] / 10 * 20000;
  }
  EXPECT_LT(chi2(expected, drawn), 18.5);  // 4 degrees of freedom, p = 0.001
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 1) + std::count(drawn.begin(), drawn.end(), 5),
            0);
}

// Without replacement the first draw follows the weights, the second what is left: of the ordered
// pairs (i, j) the share is w_i * w_j / (1 - w_i).
TEST(Samplers, WeightsWithoutReplacement) {
  std::vector<double> w = {0.1, 0.2, 0.3, 0.4};
  std::map<int64_t, double> expected;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      if (i != j) expected[static_cast<int64_t>(10 * i + j)] = 20000 * w[i] * w[j] / (1 - w[i]);
    }
  }
  List pairs;
  WeightedRandomSampler sampler(w, 2, false, 5);
  for (uint64_t epoch = 0; epoch < 20000; ++epoch) {
    List two = sampler.indices(epoch);
    ASSERT_NE(two[0], two[1]);
    pairs.push_back(10 * two[0] + two[1]);
  }
  EXPECT_LT(chi2(expected, pairs), 31.3);  // 11 degrees of freedom, p = 0.001
  EXPECT_EQ(sorted(WeightedRandomSampler({1, 1e-300, 1e300}, 3, false).indices(4)), count_up(3));
}

TEST(Samplers, WeightsThatAreNone) {
  auto text = [](std::vector<double> w, int64_t n, bool again) {
    return error_of([&] { WeightedRandomSampler(w, n, again); });
  };
  EXPECT_THAT(text({1, -1}, 1, true), HasSubstr("of item 1: must be finite and not negative"));
  EXPECT_THAT(text({NAN}, 1, true), HasSubstr("item 0"));
  EXPECT_THAT(text({INFINITY}, 1, true), HasSubstr("item 0"));
  EXPECT_THAT(text({0, 0}, 1, true), HasSubstr("no weight is above zero"));
  EXPECT_THAT(text({}, 1, true), HasSubstr("no weight"));
  EXPECT_THAT(text({1, 0, 1}, 3, false), HasSubstr("3 samples without replacement of 2 weights"));
  EXPECT_THAT(text({1}, 0, true), HasSubstr("num_samples 0"));
  EXPECT_THAT(error_of([] { RandomSampler(0); }), HasSubstr("the data set is empty"));
}

TEST(Samplers, ClassesAreBalanced) {
  List labels(1000, 0);
  for (size_t i = 0; i < 30; ++i) labels[i * 7] = 5;
  for (size_t i = 0; i < 10; ++i) labels[i * 7 + 3] = -2;
  ClassBalancedSampler balanced(labels, 301, 4);
  std::map<int64_t, int> counts;
  for (int64_t i : balanced.indices(0)) ++counts[labels[static_cast<size_t>(i)]];
  EXPECT_EQ(counts, (std::map<int64_t, int>{{-2, 101}, {0, 100}, {5, 100}}));
  EXPECT_NE(balanced.indices(0), balanced.indices(1));
  // The rare class is gone through in rounds: each item 10 times, one 11 times.
  std::map<int64_t, int> rare;
  for (int64_t i : balanced.indices(0)) rare[i] += labels[static_cast<size_t>(i)] == -2;
  for (size_t i = 0; i < 10; ++i) EXPECT_GE(rare[static_cast<int64_t>(i * 7 + 3)], 10);
  std::vector<double> w = class_weights({0, 0, 1, 0});
  EXPECT_EQ(w, (std::vector<double>{1.0 / 3, 1.0 / 3, 1, 1.0 / 3}));
}

TEST(Samplers, StrataAreInEveryStretch) {
  List labels;
  for (int i = 0; i < 600; ++i) labels.push_back(i < 300 ? 0 : i < 500 ? 1 : 2);
  StratifiedSampler strata(labels, 9);
  List order = strata.indices(1);
  EXPECT_EQ(sorted(order), count_up(600));
  EXPECT_NE(order, strata.indices(2));
  for (size_t start = 0; start < 600; start += 60) {
    std::map<int64_t, int> counts;
    for (size_t i = start; i < start + 60; ++i) ++counts[labels[static_cast<size_t>(order[i])]];
    EXPECT_NEAR(counts[0], 30, 1);
    EXPECT_NEAR(counts[1], 20, 1);
    EXPECT_NEAR(counts[2], 10, 1);
  }
}

TEST(Samplers, ShardsMakeUpTheSet) {
  for (int64_t n : {1, 7, 12, 100}) {
    for (int world : {1, 3, 4}) {
      for (bool shuffle : {false, true}) {
        for (bool drop_last : {false, true}) {
          List all;
          for (int rank = 0; rank < world; ++rank) {
            DistributedSampler shard(n, world, rank, shuffle, 3, drop_last);
            List mine = shard.indices(5);
            EXPECT_EQ(static_cast<int64_t>(mine.size()),
                      drop_last ? n / world : (n + world - 1) / world);
            EXPECT_EQ(static_cast<int64_t>(mine.size()), shard.size());
            all.insert(all.end(), mine.begin(), mine.end());
          }
          std::set<int64_t> distinct(all.begin(), all.end());
          if (drop_last) {
            EXPECT_EQ(distinct.size(), all.size());  // none twice
          } else {
            EXPECT_EQ(static_cast<int64_t>(distinct.size()), n);  // the whole set
          }
        }
      }
    }
  }
  // PyTorch's own: DistributedSampler(range(7), 3, rank, shuffle=False).
  EXPECT_EQ(DistributedSampler(7, 3, 0, false).indices(0), (List{0, 3, 6}));
  EXPECT_EQ(DistributedSampler(7, 3, 1, false).indices(0), (List{1, 4, 0}));
  EXPECT_EQ(DistributedSampler(7, 3, 2, false, 0, true).indices(0), (List{2, 5}));
  EXPECT_EQ(DistributedSampler(1, 3, 2, false).indices(0), (List{0}));
  EXPECT_THAT(error_of([] { DistributedSampler(7, 3, 3); }), HasSubstr("rank 3 of 3"));
}

TEST(Samplers, BatchesOfASampler) {
  auto order = std::make_shared<SequentialSampler>(7);
  EXPECT_EQ(BatchSampler(order, 3, false).batches(0),
            (std::vector<List>{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(BatchSampler(order, 3, true).batches(0), (std::vector<List>{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(BatchSampler(order, 3, false).size(), 3);
  EXPECT_THAT(error_of([&] { BatchSampler(order, 0, false); }), HasSubstr("batch_size 0"));
  struct Short : Sampler {
    int64_t size() const override { return 7; }
    List indices(uint64_t) const override { return {0, 1}; }
  };
  EXPECT_THAT(error_of([] { BatchSampler(std::make_shared<Short>(), 3, false).batches(4); }),
              HasSubstr("[batch_sampler] epoch 4: the sampler gave 2 of the 7 it announced"));
}

TEST(Samplers, BucketsHoldLikeLengths) {
  List lengths;
  for (int64_t i = 0; i < 1003; ++i) lengths.push_back((i * 7919) % 500);
  BucketBatchSampler buckets(lengths, {.batch_size = 10, .pool = 20, .seed = 2});
  std::vector<List> batches = buckets.batches(0);
  ASSERT_EQ(static_cast<int64_t>(batches.size()), buckets.size());
  List all;
  int64_t padded = 0, total = 0, short_ones = 0;
  for (const List& batch : batches) {
    int64_t longest = 0;
    for (int64_t i : batch) {
      longest = std::max(longest, lengths[static_cast<size_t>(i)]);
      total += lengths[static_cast<size_t>(i)];
    }
    padded += longest * static_cast<int64_t>(batch.size());
    short_ones += batch.size() < 10;
    all.insert(all.end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(sorted(all), count_up(1003));
  EXPECT_EQ(short_ones, 1);
  EXPECT_LT(static_cast<double>(padded), 1.1 * static_cast<double>(total));  // unsorted: 1.8
  EXPECT_EQ(batches, buckets.batches(0));
  EXPECT_NE(batches, buckets.batches(1));
  BucketBatchSampler dropping(lengths, {.batch_size = 10, .drop_last = true});
  EXPECT_EQ(dropping.size(), 100);
  EXPECT_EQ(dropping.batches(0).size(), 100u);
  EXPECT_THAT(error_of([] { BucketBatchSampler({1, -5}, {}); }), HasSubstr("length -5 of item 1"));
}

}  // namespace
}  // namespace wick
