// Dataset: numbered items, each a few tensors. Read by several threads at once: get() must be const
// in deed.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/span.h"
#include "trainer/data/collate.h"
#include "trainer/tensor/tensor.h"

namespace wick::data {

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  // Item `index`, without a batch dimension.
  virtual Item get(int64_t index) const = 0;
  // The items stacked. Override where a batch can be made in one go; errors name the item.
  virtual Batch get_batch(Span<const int64_t> indices) const;

  // get(), with "item 37: " before what it throws.
  Item get_named(int64_t index) const;

 protected:
  void check_index(int64_t index) const;
};

// Row i of every tensor is item i; -1 is the last. Tensors are shared, not copied.
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

// The epoch that this thread reads items for: what random transforms draw by. 0 outside a loader.
uint64_t reading_epoch();
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
