// IterableDataset: items that come one after the other, with no numbers to ask for them by: a tar
// file, a socket, a generator.
#pragma once

#include <functional>
#include <memory>

#include "trainer/data/collate.h"
#include "trainer/data/draws.h"

namespace wick::data {

// An item that is still to be made: a stream hands on what it has read (bytes, a line), and the
// call decodes it. Reading is one thread's at a time; the calls run on the workers, in parallel.
using Pending = std::function<Item()>;

class ItemStream {
 public:
  virtual ~ItemStream() = default;
  // False at the end. Used by one thread at a time, not always the same one.
  virtual bool next(Pending& item) = 0;
};

class IterableDataset {
 public:
  virtual ~IterableDataset() = default;
  // The items of an epoch from the first; the same ones in the same order whenever it is called
  // with the same number. The data set must outlive the stream. All the items, on every rank: the
  // loader keeps every world-th of them.
  virtual std::unique_ptr<ItemStream> open(uint64_t epoch) const = 0;
  virtual int64_t size() const { return -1; }  // items an epoch, where that is known
};

// f() gives a function that makes the next item, or an empty Item at the end: a generator.
std::shared_ptr<IterableDataset> generate(
    std::function<std::function<Item()>(uint64_t epoch)> start);

// Shuffles a stream with a buffer: each item that comes out is drawn from `buffer_size` that wait.
// Depends on (seed, epoch) alone.
class ShuffleBuffer : public IterableDataset {
 public:
  ShuffleBuffer(std::shared_ptr<const IterableDataset> dataset, int64_t buffer_size,
                uint64_t seed = 0, Where where = Where::current());
  std::unique_ptr<ItemStream> open(uint64_t epoch) const override;
  int64_t size() const override { return dataset_->size(); }

 private:
  std::shared_ptr<const IterableDataset> dataset_;
  int64_t buffer_size_;
  uint64_t seed_;
};

}  // namespace wick::data
