// DataLoader: batches in an order that depends only on (seed, epoch), made ahead of time by any
// number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/iterable.h"
#include "trainer/data/sampler.h"

namespace wick::data {

// Options of DataLoader, with PyTorch's names and defaults.
struct LoaderOptions {
  int64_t batch_size = 1;  // items of a batch
  bool shuffle = false;    // a new order in each epoch
  uint64_t seed = 0;       // for shuffling
  bool drop_last = false;  // drops an incomplete last batch
  int workers = 0;         // threads that make batches ahead; 0: made when asked for
  int prefetch = 2;        // batches kept ready per worker (PyTorch's prefetch_factor)
  // sampler replaces shuffle; batch_sampler replaces batch_size, shuffle, sampler and drop_last.
  std::shared_ptr<const Sampler> sampler = nullptr;
  std::shared_ptr<const Batches> batch_sampler = nullptr;
  Collate collate = nullptr;  // instead of stacking
  // For an IterableDataset: this rank gets items rank, rank + world, ... of the stream. With a
  // Dataset use a DistributedSampler.
  int rank = 0, world = 1;
  bool persistent_workers = true;  // false: the threads end after each epoch
  bool pin_memory = false;         // accepted without effect: tensors are on the CPU
};

// The position of a loader: next() returns batch `batch` of epoch `epoch`.
struct LoaderPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

// torch.utils.data.DataLoader. Batches come in an order that depends on (seed, epoch) only,
// whatever the number of workers; position() and seek() save and restore where it is.
class DataLoader {
 public:
  DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
             Where where = Where::current());
  // Of the options only batch_size, drop_last, workers, prefetch, collate, rank and world apply.
  DataLoader(std::shared_ptr<const IterableDataset> dataset, const LoaderOptions& options,
             Where where = Where::current());
  ~DataLoader();

  // Batches per epoch; -1 for a stream of unknown size.
  int64_t batches() const { return batches_; }
  int64_t items() const { return items_; }  // with drop_last fewer than the data set has
  const Dataset& dataset() const;           // throws Error for a stream
  int64_t dataset_size() const;             // items of all ranks; -1 if unknown
  // The options of the constructor.
  const LoaderOptions& options() const { return options_; }

  // Returns false at the end of an epoch; the next call starts the next one. The error of a failing
  // item is thrown here, with epoch, batch and item named, and the position stays. For use by one
  // position() is the batch that next() returns next. seek() makes another one that; a batch beyond
  // the epoch throws Error.
  // thread.
  bool next(Batch& batch);
  LoaderPosition position() const { return position_; }
  void seek(LoaderPosition position, Where where = Where::current());
  // Returns the indices of the items of batch `at`, which errors about it name. For a stream: their
  // numbers if the batch is a full one.
  std::vector<int64_t> items_of(LoaderPosition at) const;

  // for (Batch& b : loader) iterates over the rest of the current epoch. After a `break` the next
  // such loop begins the next epoch, as PyTorch's does; after seek() or next() it goes on there.
  class Iterator {
   public:
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    Batch& operator*() { return batch_; }
    Iterator& operator++() {
      if (loader_->next(batch_)) return *this;
      loader_->in_loop_ = false;
      loader_ = nullptr;
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return loader_ != nullptr; }

   private:
    DataLoader* loader_;
    Batch batch_;
  };
  Iterator begin() {
    if (in_loop_ && position_.batch > 0) seek({position_.epoch + 1, 0});
    in_loop_ = true;
    return Iterator(this);
  }
  std::nullptr_t end() { return nullptr; }

 private:
  struct Epoch;
  struct Work;
  struct Pipeline;

  void check(const Where& where) const;
  std::shared_ptr<Epoch> open_epoch(LoaderPosition at) const;
  // Reads the source of batch `at`; returns false at the end. Only one thread per epoch at a time.
  bool claim(Epoch& epoch, LoaderPosition at, Work& work) const;
  Batch make(const Work& work) const;

  std::shared_ptr<const Dataset> dataset_;         // set for a Dataset
  std::shared_ptr<const IterableDataset> stream_;  // set for an IterableDataset
  LoaderOptions options_;
  int64_t batches_ = -1, items_ = -1;
  LoaderPosition position_;
  bool in_loop_ = false;                // a loop over *this runs, or was left by a break
  std::shared_ptr<Epoch> epoch_;        // epoch position_.epoch; null: not opened yet
  std::unique_ptr<Pipeline> pipeline_;  // null without workers
};

}  // namespace wick::data
