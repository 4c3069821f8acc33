// Dataset: indexed items, each a list of tensors. Several threads read it at once, so get() must
// not modify any state.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/span.h"
#include "trainer/data/collate.h"
#include "trainer/tensor/tensor.h"

namespace wick::data {

// The base of data sets: torch.utils.data.Dataset with a size.
class Dataset {
 public:
  virtual ~Dataset() = default;
  // Returns the number of items.
  virtual int64_t size() const = 0;
  // Returns item `index`, without a batch dimension.
  virtual Item get(int64_t index) const = 0;
  // Returns the items stacked. Override it if a batch can be made more efficiently; errors name the
  // item.
  virtual Batch get_batch(Span<const int64_t> indices) const;

  // Calls get() and puts "item 37: " before the text of an error.
  Item get_named(int64_t index) const;

 protected:
  // Throws Error unless index is in [0, size()).
  void check_index(int64_t index) const;
};

// Item i is row i of every tensor; -1 is the last one. Tensors are shared, not copied.
class TensorDataset : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> tensors, Where where = Where::current());
  int64_t size() const override { return size_; }
  Item get(int64_t index) const override;
  Batch get_batch(Span<const int64_t> indices) const override;

 private:
  std::vector<Tensor> tensors_;
  int64_t size_ = 0;
};

// Returns the epoch that this thread reads items for, from which random transforms derive their
// draws; 0 outside of a loader.
uint64_t reading_epoch();
// Sets it for the life of the scope.
class EpochScope {
 public:
  explicit EpochScope(uint64_t epoch);
  ~EpochScope();
  EpochScope(const EpochScope&) = delete;
  EpochScope& operator=(const EpochScope&) = delete;

 private:
  uint64_t before_;
};

}  // namespace wick::data
