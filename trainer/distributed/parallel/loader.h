// Reads this rank's parts of every batch. The order of the samples, their batches and their parts
// are those of one process, whatever the number of ranks.
//
//   distributed::Loader loader(dataset, world, {.batch_size = 64, .shards = 8, .shuffle = true});
//   for (distributed::Batch& batch : loader) { ... ddp.parts(batch) ... }
#pragma once

#include "trainer/data/loader.h"
#include "trainer/distributed/group.h"
#include "trainer/distributed/parallel/part.h"

namespace wick::distributed {

// The parts of one rank as batches of a loader: what DistributedSampler is elsewhere, with an order
// that does not depend on the number of ranks.
class PartBatches : public data::Batches {
 public:
  // Cuts the batches of `batches`, which are global, into `shards` parts, and gives the ones that
  // rank `rank` of `ranks` owns and that have samples. Throws Error for more ranks than shards.
  PartBatches(std::shared_ptr<const data::Batches> batches, int rank, int ranks, int shards,
              Where where = Where::current());
  int64_t size() const override { return size_; }
  std::vector<std::vector<int64_t>> batches(uint64_t epoch) const override;

  // A global batch: its samples, and this rank's parts of it that have any.
  struct Step {
    int64_t total = 0;        // samples of all ranks
    std::vector<Part> parts;  // without fields
  };
  // Returns the steps of an epoch. Every epoch has as many of them, of the same sizes.
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::shared_ptr<const data::Batches> batches_;
  int shards_;
  std::vector<Step> steps_;
  int64_t size_ = 0;
};

// Options of Loader; those that data::LoaderOptions has too mean the same.
struct LoaderOptions {
  int64_t batch_size = 1;  // samples of all ranks together
  int shards = 0;          // parts of a batch; 0: as many as ranks
  bool shuffle = false;    // a new order in each epoch
  uint64_t seed = 0;       // for shuffling
  bool drop_last = false;  // drops an incomplete last batch
  int workers = 0;         // threads that make parts ahead
  int prefetch = 2;        // parts kept ready per worker
  std::shared_ptr<const data::Sampler> sampler =
      nullptr;                      // replaces shuffle; the same on each rank
  data::Collate collate = nullptr;  // of a part, instead of stacking
};

// A data::DataLoader of this rank's parts. For use by one thread.
class Loader {
 public:
  // Throws Error where an option is wrong or the data set empty.
  Loader(std::shared_ptr<const data::Dataset> dataset, const Group& group,
         const LoaderOptions& options, Where where = Where::current());

  // Steps of an epoch: the same number on every rank.
  int64_t batches() const { return static_cast<int64_t>(parts_->steps().size()); }
  // Returns false at the end of an epoch; the next call starts the next one.
  bool next(Batch& batch);
  // The step that next() returns next, and the way to go on elsewhere. Throws Error for a step
  // beyond the epoch.
  data::LoaderPosition position() const { return position_; }
  void seek(data::LoaderPosition position, Where where = Where::current());

  // for (Batch& b : loader) iterates over the rest of the epoch; after a break, over the next one.
  class Iterator {
   public:
    explicit Iterator(Loader* loader) : loader_(loader) { ++*this; }
    Batch& operator*() { return batch_; }
    Iterator& operator++() {
      if (loader_->next(batch_)) return *this;
      loader_->in_loop_ = false;
      loader_ = nullptr;
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return loader_ != nullptr; }

   private:
    Loader* loader_;
    Batch batch_;
  };
  Iterator begin() {
    if (in_loop_ && position_.batch > 0) seek({position_.epoch + 1, 0});
    in_loop_ = true;
    return Iterator(this);
  }
  std::nullptr_t end() { return nullptr; }

 private:
  std::shared_ptr<const PartBatches> parts_;
  std::unique_ptr<data::DataLoader> loader_;  // null: this rank has no samples
  data::LoaderPosition position_;
  bool in_loop_ = false;
};

}  // namespace wick::distributed
