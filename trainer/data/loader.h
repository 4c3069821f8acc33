// DataLoader: batches in an order that depends on (seed, epoch) alone, made ahead by any number of
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/data/dataset.h"

namespace wick::data {

// The numbers 0..n-1 shuffled: Fisher-Yates over a Philox stream of its own.
std::vector<int64_t> epoch_permutation(int64_t n, uint64_t seed, uint64_t epoch);

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  uint64_t seed = 0;       // of the shuffling
  bool drop_last = false;  // drops a last batch that would be short
  int workers = 0;         // threads that make batches ahead; 0: made when asked for
  int prefetch = 2;        // batches held ready a worker
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
  ~DataLoader();

  int64_t batches() const { return batches_; }  // an epoch
  int64_t items() const;                        // an epoch; less than the data set's with drop_last
  const Dataset& dataset() const { return *dataset_; }
  const LoaderOptions& options() const { return options_; }

  // False at the end of an epoch; the call after that starts the next one. A failing item is thrown
  // here, with epoch, batch and item named; the position stays.
  bool next(Batch& batch);
  LoaderPosition position() const { return position_; }
  void seek(LoaderPosition position, Where where = Where::current());

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
  struct Pipeline;

  Batch make(const std::vector<int64_t>& order, LoaderPosition at) const;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  int64_t batches_ = 0;
  LoaderPosition position_;
  std::shared_ptr<const std::vector<int64_t>> order_;  // of position_.epoch; null: not made yet
  std::unique_ptr<Pipeline> pipeline_;                 // null without workers
};

}  // namespace wick::data
