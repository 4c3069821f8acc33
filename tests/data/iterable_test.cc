// Streams through the DataLoader: order, shards, resuming, the shuffle buffer, what fails.
#include "trainer/data/iterable.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "tests/data/folder.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using namespace data;
using test::error_of;
using test::read_epoch;
using ::testing::HasSubstr;
using List = std::vector<int64_t>;

// epoch * 1000 + 0 ... n - 1.
struct Counting : IterableDataset {
  int64_t n, throws_in = -1, throws_making = -1;
  bool knows = false;
  mutable std::atomic<int> made{0};
  explicit Counting(int64_t items) : n(items) {}
  int64_t size() const override { return knows ? n : -1; }
  std::unique_ptr<ItemStream> open(uint64_t epoch) const override {
    struct Stream : ItemStream {
      const Counting* of;
      int64_t at = 0, base = 0;
      bool next(Pending& item) override {
        if (at == of->throws_in) throw std::runtime_error("torn cable");
        if (at == of->n) return false;
        item = [of = of, i = at, value = base + at] {
          ++of->made;
          if (i == of->throws_making) throw std::runtime_error("bad bytes");
          return Item{full({}, value, DType::kI64)};
        };
        ++at;
        return true;
      }
    };
    auto stream = std::make_unique<Stream>();
    stream->of = this;
    stream->base = static_cast<int64_t>(epoch) * 1000;
    return stream;
  }
};
List items_only(List values) {
  std::erase(values, -1);
  return values;
}
List from_to(int64_t first, int64_t last) {
  List all;
  for (int64_t i = first; i < last; ++i) all.push_back(i);
  return all;
}

TEST(Streams, OneOrderForAnyNumberOfWorkers) {
  auto data = std::make_shared<Counting>(50);
  for (int workers : {0, 1, 2, 5}) {
    DataLoader loader(data, {.batch_size = 4, .workers = workers});
    List first = read_epoch(loader);
    EXPECT_EQ(items_only(first), from_to(0, 50)) << workers;
    EXPECT_EQ(std::count(first.begin(), first.end(), -1), 13) << workers;
    EXPECT_EQ(items_only(read_epoch(loader)), from_to(1000, 1050)) << workers;
    EXPECT_EQ(loader.position(), (LoaderPosition{2, 0}));
    DataLoader dropping(data, {.batch_size = 4, .drop_last = true, .workers = workers});
    EXPECT_EQ(items_only(read_epoch(dropping)), from_to(0, 48)) << workers;
  }
}

TEST(Streams, EachSampleOncePerWorld) {
  for (int workers : {0, 3}) {
    for (int world : {2, 3}) {
      List all;
      for (int rank = 0; rank < world; ++rank) {
        DataLoader loader(std::make_shared<Counting>(50),
                          {.batch_size = 4, .workers = workers, .rank = rank, .world = world});
        List mine = items_only(read_epoch(loader));
        EXPECT_EQ(mine[1] - mine[0], world);
        all.insert(all.end(), mine.begin(), mine.end());
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, from_to(0, 50)) << workers << " workers, world " << world;
    }
  }
}

TEST(Streams, ResumesWithoutMakingWhatItSkips) {
  auto data = std::make_shared<Counting>(50);
  for (int workers : {0, 2}) {
    data->made = 0;
    DataLoader loader(data, {.batch_size = 4, .workers = workers, .rank = 1, .world = 2});
    loader.seek({3, 4});
    List rest = items_only(read_epoch(loader));
    EXPECT_EQ(rest.front(), 3033);  // 16 of this rank's: 1, 3 ... 31 are skipped
    EXPECT_EQ(rest.size(), 9u);
    EXPECT_EQ(data->made, 9);
    loader.seek({0, 7});  // just the end
    EXPECT_EQ(read_epoch(loader), List{});
  }
}

TEST(Streams, KnownSizesAreCounted) {
  auto data = std::make_shared<Counting>(50);
  EXPECT_EQ(DataLoader(data, {.batch_size = 4}).batches(), -1);
  EXPECT_EQ(DataLoader(data, {.batch_size = 4}).items(), -1);
  data->knows = true;
  DataLoader loader(data, {.batch_size = 4, .rank = 2, .world = 3});
  EXPECT_EQ(loader.items(), 16);
  EXPECT_EQ(loader.batches(), 4);
  EXPECT_EQ(items_only(read_epoch(loader)).size(), 16u);
}

TEST(Streams, ErrorsNameBatchAndItem) {
  for (int workers : {0, 3}) {
    auto data = std::make_shared<Counting>(50);
    data->throws_making = 37;
    DataLoader loader(data, {.batch_size = 5, .workers = workers});
    Batch batch;
    for (int b = 0; b < 7; ++b) ASSERT_TRUE(loader.next(batch));
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(error_of([&] { loader.next(batch); }),
                "[data_loader] epoch 0, batch 7: item 37: bad bytes");
    }
    data->throws_making = -1;  // repaired: nothing is lost
    ASSERT_TRUE(loader.next(batch));
    EXPECT_EQ(batch[0].to_vector<int64_t>(), from_to(35, 40));

    auto torn = std::make_shared<Counting>(50);
    torn->throws_in = 12;
    DataLoader reading(torn, {.batch_size = 5, .workers = workers});
    ASSERT_TRUE(reading.next(batch) && reading.next(batch));
    EXPECT_EQ(error_of([&] { reading.next(batch); }),
              "[data_loader] epoch 0, batch 2: item 12: torn cable");
    DataLoader empty(std::make_shared<Counting>(0), {.workers = workers});
    EXPECT_THAT(error_of([&] { empty.next(batch); }), HasSubstr("the stream gave no items"));
  }
  auto data = std::make_shared<Counting>(5);
  EXPECT_THAT(error_of([&] { DataLoader(data, {.shuffle = true}); }), HasSubstr("ShuffleBuffer"));
  EXPECT_THAT(error_of([&] { DataLoader(data, {}).dataset(); }), HasSubstr("no numbered data set"));
}

TEST(Streams, ShuffleBufferIsAFunctionOfSeedAndEpoch) {
  auto data = std::make_shared<Counting>(200);
  auto read = [&](int64_t buffer, uint64_t seed, int workers, int64_t epoch) {
    DataLoader loader(std::make_shared<ShuffleBuffer>(data, buffer, seed),
                      {.batch_size = 7, .workers = workers});
    loader.seek({epoch, 0});
    List values = items_only(read_epoch(loader));
    for (int64_t& v : values) v -= epoch * 1000;
    return values;
  };
  List order = read(50, 1, 0, 0);
  EXPECT_EQ(order, read(50, 1, 4, 0));
  EXPECT_NE(order, read(50, 2, 0, 0));
  EXPECT_NE(order, read(50, 1, 0, 1));
  EXPECT_EQ(read(1, 1, 0, 0), from_to(0, 200));
  // The k-th element out was among the first k + 50 in.
  for (size_t k = 0; k < order.size(); ++k) EXPECT_LT(order[k], static_cast<int64_t>(k) + 50);
  EXPECT_GT(*std::max_element(order.begin(), order.begin() + 50), 60);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 200u);
  DataLoader loader(std::make_shared<ShuffleBuffer>(data, 50, 1), {.batch_size = 7, .workers = 2});
  loader.seek({0, 3});
  EXPECT_EQ(items_only(read_epoch(loader)), List(order.begin() + 21, order.end()));
  EXPECT_THAT(error_of([&] { ShuffleBuffer(data, 0); }), HasSubstr("buffer_size 0"));
}

TEST(Streams, GeneratorsAreStreams) {
  auto squares = generate([](uint64_t epoch) {
    return [i = static_cast<int64_t>(epoch)]() mutable {
      ++i;
      return i > 5 ? Item{} : Item{full({}, i * i, DType::kI64)};
    };
  });
  DataLoader loader(squares, {.batch_size = 2, .workers = 2});
  EXPECT_EQ(items_only(read_epoch(loader)), (List{1, 4, 9, 16, 25}));
  EXPECT_EQ(items_only(read_epoch(loader)), (List{4, 9, 16, 25}));
}

}  // namespace
}  // namespace wick
