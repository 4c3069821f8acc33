#include "trainer/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "trainer/tensor/philox.h"

namespace wick::data {
namespace {

// Streams from here on belong to shuffling; the default generator counts up from 0.
constexpr uint64_t kShuffleStreams = uint64_t{1} << 63;

}  // namespace

std::vector<int64_t> epoch_permutation(int64_t n, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  uint64_t counter = 0;
  std::array<uint32_t, 4> words{};
  int left = 0;
  auto draw = [&]() -> uint64_t {
    if (left == 0) {
      words = philox(seed, kShuffleStreams | epoch, counter++);
      left = 4;
    }
    left -= 2;
    return uint64_t{words[static_cast<size_t>(left)]} << 32 | words[static_cast<size_t>(left) + 1];
  };
  for (uint64_t i = order.size(); i > 1; --i) {
    // 64 random bits over i: values above the last multiple of i are drawn again, so that no place
    // is likelier than another.
    uint64_t limit = UINT64_MAX - UINT64_MAX % i, x;
    do {
      x = draw();
    } while (x >= limit);
    std::swap(order[i - 1], order[x % i]);
  }
  return order;
}

// Workers take batch numbers in turn and put what they made into a ring; the number of a batch,
// never the worker, decides its content and its place.
struct DataLoader::Pipeline {
  struct Slot {
    bool ready = false;
    Batch batch;
    std::exception_ptr error;
  };

  Pipeline(const DataLoader& l, int workers, int prefetch)
      : loader(l), slots(static_cast<size_t>(workers) * static_cast<size_t>(prefetch)) {
    for (int i = 0; i < workers; ++i) threads.emplace_back([this] { work(); });
  }
  ~Pipeline() {
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    for (std::thread& t : threads) t.join();
  }

  // Drops what was made ahead. Work in progress for the old position is thrown away when it ends.
  void restart(std::shared_ptr<const std::vector<int64_t>> new_order, LoaderPosition at) {
    {
      std::lock_guard lock(mutex);
      ++generation;
      order = std::move(new_order);
      epoch = at.epoch;
      make_next = take_next = at.batch;
      for (Slot& s : slots) s = Slot();
    }
    changed.notify_all();
  }

  Batch take(LoaderPosition at) {
    std::unique_lock lock(mutex);
    Slot& slot = slots[static_cast<size_t>(at.batch) % slots.size()];
    changed.wait(lock, [&] { return slot.ready; });
    Slot taken = std::move(slot);
    slot = Slot();
    ++take_next;
    lock.unlock();
    changed.notify_all();
    if (taken.error) std::rethrow_exception(taken.error);
    return std::move(taken.batch);
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] {
        return stop || (order && make_next < loader.batches_ &&
                        make_next < take_next + static_cast<int64_t>(slots.size()));
      });
      if (stop) return;
      LoaderPosition at{epoch, make_next++};
      uint64_t mine = generation;
      std::shared_ptr<const std::vector<int64_t>> of = order;
      lock.unlock();
      Slot made;
      made.ready = true;
      try {
        made.batch = loader.make(*of, at);
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      if (mine != generation) continue;
      slots[static_cast<size_t>(at.batch) % slots.size()] = std::move(made);
      changed.notify_all();
    }
  }

  const DataLoader& loader;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Slot> slots;
  std::shared_ptr<const std::vector<int64_t>> order;
  int64_t epoch = 0, make_next = 0, take_next = 0;
  uint64_t generation = 0;
  bool stop = false;
  std::vector<std::thread> threads;
};

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
                       Where where)
    : dataset_(std::move(dataset)), options_(options) {
  if (!dataset_) throw_error("data_loader", "no data set", where);
  if (options_.batch_size < 1) {
    throw_error("data_loader", "batch_size " + std::to_string(options_.batch_size), where);
  }
  if (options_.workers < 0 || options_.workers > 256 || options_.prefetch < 1) {
    throw_error("data_loader",
                "workers " + std::to_string(options_.workers) + " (0 to 256), prefetch " +
                    std::to_string(options_.prefetch) + " (at least 1)",
                where);
  }
  int64_t n = dataset_->size(), b = options_.batch_size;
  batches_ = n / b + (!options_.drop_last && n % b != 0 ? 1 : 0);
  if (options_.workers > 0) {
    pipeline_ = std::make_unique<Pipeline>(*this, options_.workers, options_.prefetch);
  }
}

DataLoader::~DataLoader() = default;

int64_t DataLoader::items() const {
  return std::min(dataset_->size(), batches_ * options_.batch_size);
}

Batch DataLoader::make(const std::vector<int64_t>& order, LoaderPosition at) const {
  int64_t first = at.batch * options_.batch_size;
  int64_t count = std::min(options_.batch_size, static_cast<int64_t>(order.size()) - first);
  auto where = [&] {
    return "[data_loader] epoch " + std::to_string(at.epoch) + ", batch " +
           std::to_string(at.batch) + ": ";
  };
  try {
    return dataset_->get_batch({order.data() + first, static_cast<size_t>(count)});
  } catch (const Error& e) {
    throw Error(where() + e.what(), e.code());
  } catch (const std::exception& e) {
    throw Error(where() + e.what());
  }
}

bool DataLoader::next(Batch& batch) {
  if (position_.batch >= batches_) {
    position_ = {position_.epoch + 1, 0};
    order_.reset();
    return false;
  }
  if (!order_) {
    std::vector<int64_t> order;
    if (options_.shuffle) {
      order = epoch_permutation(dataset_->size(), options_.seed,
                                static_cast<uint64_t>(position_.epoch));
    } else {
      order.resize(static_cast<size_t>(dataset_->size()));
      std::iota(order.begin(), order.end(), int64_t{0});
    }
    order_ = std::make_shared<const std::vector<int64_t>>(std::move(order));
    if (pipeline_) pipeline_->restart(order_, position_);
  }
  try {
    batch = pipeline_ ? pipeline_->take(position_) : make(*order_, position_);
  } catch (...) {
    order_.reset();  // a retry makes the batch anew
    throw;
  }
  ++position_.batch;
  return true;
}

void DataLoader::seek(LoaderPosition position, Where where) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches_) {
    throw_error("data_loader",
                "no batch " + std::to_string(position.batch) + " in an epoch of " +
                    std::to_string(batches_),
                where);
  }
  position_ = position;
  order_.reset();
}

}  // namespace wick::data
