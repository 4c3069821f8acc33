// IterableDataset: a sequence of items without indices, such as a tar file, a socket or a
// generator.
#pragma once

#include <functional>
#include <memory>

#include "trainer/data/collate.h"
#include "trainer/data/draws.h"

namespace wick::data {

// An item that is not decoded yet: a stream returns what it has read (bytes, a line), and the call
// decodes it. Only one thread reads at a time; the calls run on the workers in parallel.
using Pending = std::function<Item()>;

// A stream of items, read once from its begin to its end.
class ItemStream {
 public:
  virtual ~ItemStream() = default;
  // Returns false at the end. Used by one thread at a time, not always the same one.
  virtual bool next(Pending& item) = 0;
};

// A data set without random access: torch.utils.data.IterableDataset.
class IterableDataset {
 public:
  virtual ~IterableDataset() = default;
  // Returns the items of an epoch from the first one: the same ones in the same order for the same
  // epoch. The data set must outlive the stream. It returns all items on every rank; the loader
  // keeps every world-th of them.
  virtual std::unique_ptr<ItemStream> open(uint64_t epoch) const = 0;
  virtual int64_t size() const { return -1; }  // items per epoch; -1: unknown
};

// Makes a data set from a generator: start(epoch) returns a function that makes the next item, or
// an empty Item at the end.
std::shared_ptr<IterableDataset> generate(
    std::function<std::function<Item()>(uint64_t epoch)> start);

// Shuffles a stream with a buffer: each item is drawn at random from `buffer_size` waiting ones.
// The order depends only on (seed, epoch).
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
