// DataLoader over data sets: order, samplers, collate, workers and what fails in them.
#include "trainer/data/loader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/data/folder.h"
#include "tests/support/error_of.h"
#include "trainer/data/datasets.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

using namespace data;
using test::error_of;
using test::read_epoch;
using ::testing::AllOf;
using ::testing::HasSubstr;
using List = std::vector<int64_t>;

std::shared_ptr<TensorDataset> numbers(int64_t n) {
  return std::make_shared<TensorDataset>(std::vector<Tensor>{arange(n)});
}
List sorted_items(List values) {
  std::erase(values, -1);
  std::sort(values.begin(), values.end());
  return values;
}

TEST(DataLoaders, OrderIsWhatItWas) {
  // epoch_permutation(10, 5, 0): runs that were resumed before samplers existed go on as they did.
  DataLoader loader(numbers(10), {.batch_size = 4, .shuffle = true, .seed = 5});
  List expected = epoch_permutation(10, 5, 0);
  expected.insert(expected.begin() + 8, -1);
  expected.insert(expected.begin() + 4, -1);
  expected.push_back(-1);
  EXPECT_EQ(read_epoch(loader), expected);
  EXPECT_EQ(epoch_permutation(10, 5, 0), (List{4, 3, 7, 1, 6, 0, 8, 9, 2, 5}));
}

TEST(DataLoaders, EveryOptionGivesOneOrderForAnyNumberOfWorkers) {
  auto data = numbers(53);
  std::vector<double> weights(53, 1.0);
  weights[7] = 20;
  std::vector<LoaderOptions> all(5);
  all[0] = {.batch_size = 4, .shuffle = true, .drop_last = true};
  all[1] = {.batch_size = 4,
            .sampler = std::make_shared<WeightedRandomSampler>(weights, 40, true, 1)};
  all[2] = {.batch_size = 4, .sampler = std::make_shared<DistributedSampler>(53, 3, 1, true, 8)};
  all[3] = {.batch_sampler = std::make_shared<BucketBatchSampler>(
                List(53, 1), BucketOptions{.batch_size = 5, .seed = 1})};
  all[4] = {.batch_size = 4, .collate = [](const std::vector<Item>& items) {
              return Batch{stack({items[0][0] * 2, items.back()[0] * 2})};
            }};
  for (size_t i = 0; i < all.size(); ++i) {
    DataLoader alone(data, all[i]);
    List first = read_epoch(alone), second = read_epoch(alone);
    EXPECT_EQ(std::count(first.begin(), first.end(), -1), alone.batches()) << i;
    if (i < 4) {
      EXPECT_NE(first, second) << i;
      EXPECT_EQ(static_cast<int64_t>(sorted_items(first).size()), alone.items()) << i;
    }
    for (int workers : {1, 2, 4}) {
      for (bool persistent : {true, false}) {
        LoaderOptions o = all[i];
        o.workers = workers;
        o.prefetch = workers;
        o.persistent_workers = persistent;
        o.pin_memory = true;
        DataLoader many(data, o);
        EXPECT_EQ(read_epoch(many), first) << i;
        EXPECT_EQ(read_epoch(many), second) << i;
        many.seek({0, 3});
        List rest = first;
        for (int skip = 0; skip < 3; ++skip) {
          rest.erase(rest.begin(), std::find(rest.begin(), rest.end(), -1) + 1);
        }
        EXPECT_EQ(read_epoch(many), rest) << i;
      }
    }
  }
}

struct Fails : Dataset {
  int64_t size() const override { return 100; }
  Item get(int64_t i) const override {
    if (i == 37) throw std::runtime_error("torn page in /data/037.png");
    if (i == 61) throw 61;
    return {full({}, i, DType::kI64)};
  }
};

TEST(DataLoaders, AThrowInItem37NamesEpochBatchItemAndFile) {
  for (int workers : {0, 1, 4}) {
    for (bool collate : {false, true}) {
      LoaderOptions o{.batch_size = 10, .workers = workers};
      if (collate) o.collate = default_collate;
      DataLoader loader(std::make_shared<Fails>(), o);
      Batch batch;
      for (int b = 0; b < 3; ++b) ASSERT_TRUE(loader.next(batch));
      for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(error_of([&] { loader.next(batch); }),
                  "[data_loader] epoch 0, batch 3: item 37: torn page in /data/037.png");
      }
      EXPECT_EQ(loader.position().batch, 3);
      loader.seek({0, 4});
      ASSERT_TRUE(loader.next(batch));
      EXPECT_EQ(batch[0].to_vector<int64_t>()[0], 40);
      ASSERT_TRUE(loader.next(batch));
      EXPECT_THAT(error_of([&] { loader.next(batch); }),
                  HasSubstr("batch 6: item 61: an exception that is no std::exception"));
    }
  }
}

TEST(DataLoaders, LeavesInMidEpochWithoutWaitingForTheRest) {
  struct Slow : Dataset {
    mutable std::atomic<int> started{0};
    int64_t size() const override { return 100000; }
    Item get(int64_t i) const override {
      ++started;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {full({}, i, DType::kI64)};
    }
  };
  auto slow = std::make_shared<Slow>();
  for (int stop_at : {0, 1, 5}) {
    slow->started = 0;
    {
      DataLoader loader(slow, {.batch_size = 4, .workers = 4, .prefetch = 2});
      Batch batch;
      for (int b = 0; b < stop_at; ++b) ASSERT_TRUE(loader.next(batch));
    }
    EXPECT_LE(slow->started, 4 * (stop_at + 8 + 4));  // read, held ready, in work
  }
}

// As in PyTorch, a loop after a break is a new epoch; a position that was sought is kept.
TEST(DataLoaders, ALoopAfterABreakBeginsAnew) {
  for (const int workers : {0, 2}) {
    DataLoader loader(numbers(8),
                      {.batch_size = 2, .shuffle = true, .seed = 4, .workers = workers});
    const auto loop = [&](int batches) {
      List items;
      int taken = 0;
      for (Batch& b : loader) {
        for (const int64_t i : b[0].to_vector<int64_t>()) items.push_back(i);
        if (++taken == batches) break;
      }
      return items;
    };
    const List first = epoch_permutation(8, 4, 0), second = epoch_permutation(8, 4, 1);
    EXPECT_EQ(loop(1), List(first.begin(), first.begin() + 2));
    EXPECT_EQ(loop(-1), second);
    EXPECT_EQ(loop(4), epoch_permutation(8, 4, 2));  // left by a break in its last batch
    EXPECT_EQ(loop(-1), epoch_permutation(8, 4, 3));
    loader.seek({.epoch = 1, .batch = 3});
    EXPECT_EQ(loop(-1), List(second.begin() + 6, second.end()));
    Batch batch;
    EXPECT_TRUE(loader.next(batch));
    EXPECT_EQ(loop(-1).size(), 6u);  // the rest of the epoch that next() began
  }
}

// While a batch is used, workers begin the next one: the user of batch b waits for that. Without
// workers nothing begins before it is asked for.
TEST(DataLoaders, WorkersOverlapWithCompute) {
  struct Counted : Dataset {
    mutable std::atomic<int> started{0};
    int64_t size() const override { return 24; }
    Item get(int64_t i) const override {
      ++started;
      return {full({}, i, DType::kI64)};
    }
  };
  for (const int workers : {0, 2}) {
    auto counted = std::make_shared<Counted>();
    DataLoader loader(counted, {.workers = workers});
    Batch batch;
    for (int taken = 1; loader.next(batch); ++taken) {
      if (workers == 0) {
        EXPECT_EQ(counted->started.load(), taken);
        continue;
      }
      // A minute is for a busy machine; without an overlap it would pass in vain.
      for (int wait = 0; wait < 60000 && counted->started < std::min(taken + 1, 24); ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ASSERT_GE(counted->started.load(), std::min(taken + 1, 24))
          << "while batch " << taken << " is used";
    }
  }
}

// The same in seconds, which are asserted only in the part `timing` of the full run. 24 batches of
// 10 ms to make and 10 ms to use: 480 ms one after the other, 250 ms side by side.
TEST(DataLoaders, WorkersSaveTime) {
  struct Slow : Dataset {
    int64_t size() const override { return 24; }
    Item get(int64_t i) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return {full({}, i, DType::kI64)};
    }
  };
  auto wall = [](int workers) {
    DataLoader loader(std::make_shared<Slow>(), {.workers = workers});
    auto start = std::chrono::steady_clock::now();
    Batch batch;
    while (loader.next(batch)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  EXPECT_GE(wall(0), 0.48);  // sleeps are no shorter than asked for
  double best = wall(2);
  std::printf("two workers: %.0f ms of 480\n", 1e3 * best);
  if (getenv("WICK_TEST_FULL") == nullptr) return;
  for (int attempt = 0; attempt < 5 && best > 0.40; ++attempt) best = std::min(best, wall(2));
  EXPECT_LT(best, 0.40);
}

TEST(DataLoaders, RefusesWhatDoesNotGoTogether) {
  auto data = numbers(10);
  auto text = [&](const LoaderOptions& o) { return error_of([&] { DataLoader(data, o); }); };
  auto sampler = std::make_shared<SequentialSampler>(10);
  auto batches = std::make_shared<BatchSampler>(sampler, 2, false);
  EXPECT_THAT(text({.shuffle = true, .sampler = sampler}), HasSubstr("exclude each other"));
  EXPECT_THAT(text({.batch_size = 2, .batch_sampler = batches}), HasSubstr("batch_sampler exclud"));
  EXPECT_THAT(text({.rank = 1, .world = 2}), HasSubstr("DistributedSampler"));
  EXPECT_THAT(text({.rank = 2, .world = 2}), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(text({.workers = -1}), HasSubstr("workers -1"));
  EXPECT_THAT(text({.prefetch = 0}), HasSubstr("prefetch 0"));
  EXPECT_THAT(text({.batch_size = 11, .drop_last = true}), HasSubstr("no batch: drop_last"));
  EXPECT_THAT(error_of([] { DataLoader(numbers(0), {}); }),
              AllOf(HasSubstr("the data set is empty"), HasSubstr("loader_test.cc:")));
  // A sampler made for another data set.
  DataLoader wrong(data, {.batch_size = 4, .sampler = std::make_shared<SequentialSampler>(12)});
  Batch batch;
  ASSERT_TRUE(wrong.next(batch) && wrong.next(batch));
  EXPECT_THAT(error_of([&] { wrong.next(batch); }), HasSubstr("no item 10 of 10"));
}

TEST(Datasets, TensorDatasetCountsFromTheEnd) {
  TensorDataset data({arange(5)});
  EXPECT_EQ(data.get(-1)[0].item_int(), 4);
  EXPECT_EQ(data.get(-5)[0].item_int(), 0);
  EXPECT_THAT(error_of([&] { data.get(-6); }), HasSubstr("no item -6 of 5"));
  EXPECT_THAT(error_of([&] { data.get(5); }), HasSubstr("no item 5 of 5"));
}

TEST(Datasets, SubsetConcatSplit) {
  auto data = numbers(10);
  auto some = std::make_shared<Subset>(data, List{7, 3, 3});
  auto both = std::make_shared<ConcatDataset>(
      std::vector<std::shared_ptr<const Dataset>>{some, numbers(2), numbers(0), numbers(3)});
  List values;
  for (int64_t i = 0; i < both->size(); ++i) values.push_back(both->get(i)[0].item_int());
  EXPECT_EQ(values, (List{7, 3, 3, 0, 1, 0, 1, 2}));
  EXPECT_EQ(both->get(-1)[0].item_int(), 2);
  EXPECT_THAT(error_of([&] { both->get(8); }), HasSubstr("no item 8 of 8"));
  EXPECT_THAT(error_of([&] { Subset(data, {10}); }), HasSubstr("index 10 of 10"));

  List all;
  std::vector<size_t> sizes;
  for (const auto& part : random_split(data, std::vector<double>{0.5, 0.25, 0.25}, 3)) {
    sizes.push_back(part->indices().size());
    all.insert(all.end(), part->indices().begin(), part->indices().end());
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{6, 2, 2}));  // 5, 2, 2 and one left over
  EXPECT_EQ(sorted_items(all), (List{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_NE(all, sorted_items(all));
  EXPECT_THAT(error_of([&] { random_split(data, List{5, 4}); }), HasSubstr("9 items, the data"));
  EXPECT_THAT(error_of([&] {
                random_split(data, std::vector<double>{0.5, 0.6});
              }),
              HasSubstr("add up to 1.1"));
}

TEST(Datasets, LabelsOutOfRange) {
  check_labels(tensor({int64_t{0}, int64_t{2}}), 3);
  EXPECT_THAT(error_of([] {
                check_labels(tensor({int64_t{0}, int64_t{3}}), 3);
              }),
              HasSubstr("item 1 has label 3: 3 classes, 0 to 2"));
  EXPECT_THAT(error_of([] { check_labels(tensor({int64_t{-1}}), 3); }), HasSubstr("label -1"));
}

TEST(Datasets, TransformsDrawBySeedEpochAndIndex) {
  auto data = std::make_shared<TransformedDataset>(
      numbers(20), [](const Tensor&, Draws& d) { return full({}, d.below(1 << 30), DType::kI64); },
      6);
  DataLoader alone(data, {.batch_size = 3, .shuffle = true});
  List first = read_epoch(alone), second = read_epoch(alone);
  EXPECT_NE(sorted_items(first), sorted_items(second));  // another epoch, other draws
  DataLoader many(data, {.batch_size = 3, .shuffle = true, .workers = 3});
  EXPECT_EQ(read_epoch(many), first);
  EXPECT_EQ(read_epoch(many), second);
  many.seek({1, 0});
  EXPECT_EQ(read_epoch(many), second);
  EXPECT_EQ(data->get(4)[0].item_int(), data->get(4)[0].item_int());
  EXPECT_NE(data->get(4)[0].item_int(), data->get(5)[0].item_int());
}

TEST(Collating, PadsToTheLongestAndGivesLengths) {
  std::vector<Item> items;
  for (int64_t n : {2, 0, 3}) items.push_back({ones({n, 2}), full({}, n, DType::kI64)});
  Batch batch = pad_collate(items, {.value = -1});
  ASSERT_EQ(batch.size(), 3u);
  EXPECT_EQ(batch[0].shape(), (Shape{3, 3, 2}));
  EXPECT_EQ(batch[0].to_vector<float>(),
            (std::vector<float>{1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(batch[1].to_vector<int64_t>(), (List{2, 0, 3}));
  EXPECT_EQ(batch[2].to_vector<int64_t>(), (List{2, 0, 3}));
  batch = pad_collate(items, {.value = -1, .batch_first = false});
  EXPECT_EQ(batch[0].shape(), (Shape{3, 3, 2}));
  EXPECT_EQ(batch[0].to_vector<float>(),
            (std::vector<float>{1, 1, -1, -1, 1, 1, 1, 1, -1, -1, 1, 1, -1, -1, -1, -1, 1, 1}));
}

TEST(Collating, SaysWhatDoesNotFit) {
  std::vector<Item> differ = {{ones({2})}, {ones({3})}};
  EXPECT_THAT(error_of([&] { default_collate(differ); }),
              HasSubstr("item 1: field 0 is float32[3], which does not stack with the batch"));
  differ[1] = {ones({2}), ones({2})};
  EXPECT_THAT(error_of([&] { default_collate(differ); }), HasSubstr("item 1: 2 fields"));
  EXPECT_THAT(error_of([&] { pad_collate(differ); }), HasSubstr("item 1: 2 fields"));
  differ[1] = {ones({2, 2})};
  EXPECT_THAT(error_of([&] { pad_collate(differ); }), HasSubstr("only lengths may differ"));
  EXPECT_THAT(error_of([&] { pad_collate(differ, {.fields = {1}}); }), HasSubstr("no field 1"));
  EXPECT_THAT(error_of([] { default_collate({}); }), HasSubstr("no items"));
  // A loader's items have numbers.
  struct Ragged : Dataset {
    int64_t size() const override { return 4; }
    Item get(int64_t i) const override { return {ones({i + 1})}; }
  };
  DataLoader loader(std::make_shared<Ragged>(), {.batch_size = 4});
  Batch batch;
  EXPECT_THAT(error_of([&] { loader.next(batch); }), HasSubstr("batch 0: item 1: field 0 is"));
  DataLoader padded(std::make_shared<Ragged>(), {.batch_size = 4, .collate = pad_to_longest()});
  ASSERT_TRUE(padded.next(batch));
  EXPECT_EQ(batch[0].shape(), (Shape{4, 4}));
}

}  // namespace
}  // namespace wick
