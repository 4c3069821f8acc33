// DataLoader: batches in an order that depends on (seed, epoch) alone, made ahead by any number of
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/iterable.h"
#include "trainer/data/sampler.h"

namespace wick::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  uint64_t seed = 0;       // of the shuffling
  bool drop_last = false;  // drops a last batch that would be short
  int workers = 0;         // threads that make batches ahead; 0: made when asked for
  int prefetch = 2;        // batches held ready a worker (PyTorch's prefetch_factor)
  // Instead of shuffle; or instead of batch_size, shuffle, sampler and drop_last.
  std::shared_ptr<const Sampler> sampler = nullptr;
  std::shared_ptr<const Batches> batch_sampler = nullptr;
  Collate collate = nullptr;  // instead of stacking
  // Of an IterableDataset: this rank reads items rank, rank + world, ... of the stream. A Dataset
  // takes a DistributedSampler.
  int rank = 0, world = 1;
  bool persistent_workers = true;  // false: the threads end with each epoch
  bool pin_memory = false;         // accepted, and without effect: tensors are the CPU's
};

// Where a loader stands: what next() gives is batch `batch` of epoch `epoch`.
struct LoaderPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

class DataLoader {
 public:
  DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
             Where where = Where::current());
  // batch_size, drop_last, workers, prefetch, collate, rank and world apply.
  DataLoader(std::shared_ptr<const IterableDataset> dataset, const LoaderOptions& options,
             Where where = Where::current());
  ~DataLoader();

  // An epoch's; -1 for a stream that does not know its size.
  int64_t batches() const { return batches_; }
  int64_t items() const { return items_; }  // less than the data set's with drop_last
  const Dataset& dataset() const;           // an Error for a stream
  int64_t dataset_size() const;             // items, of all ranks; -1 as items()
  const LoaderOptions& options() const { return options_; }

  // False at the end of an epoch; the call after that starts the next one. A failing item is thrown
  // here, with epoch, batch and item named; the position stays. Used by one thread.
  bool next(Batch& batch);
  LoaderPosition position() const { return position_; }
  void seek(LoaderPosition position, Where where = Where::current());
  // The numbers of the items that batch `at` is made of: what an error about it names. Of a stream,
  // where they would lie if the batch is a full one.
  std::vector<int64_t> items_of(LoaderPosition at) const;

  // for (Batch& b : loader): what is left of the current epoch.
  class Iterator {
   public:
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    Batch& operator*() { return batch_; }
    Iterator& operator++() {
      if (!loader_->next(batch_)) loader_ = nullptr;
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return loader_ != nullptr; }

   private:
    DataLoader* loader_;
    Batch batch_;
  };
  Iterator begin() { return Iterator(this); }
  std::nullptr_t end() { return nullptr; }

 private:
  struct Epoch;
  struct Work;
  struct Pipeline;

  void check(const Where& where) const;
  std::shared_ptr<Epoch> open_epoch(LoaderPosition at) const;
  // Reads what batch `at` is made of; false at the end. One thread at a time an epoch.
  bool claim(Epoch& epoch, LoaderPosition at, Work& work) const;
  Batch make(const Work& work) const;

  std::shared_ptr<const Dataset> dataset_;         // or
  std::shared_ptr<const IterableDataset> stream_;  // the other
  LoaderOptions options_;
  int64_t batches_ = -1, items_ = -1;
  LoaderPosition position_;
  std::shared_ptr<Epoch> epoch_;        // of position_.epoch; null: not opened yet
  std::unique_ptr<Pipeline> pipeline_;  // null without workers
};

}  // namespace wick::data
