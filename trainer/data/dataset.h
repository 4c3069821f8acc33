// Dataset: numbered items, each a few tensors. Read by several threads at once: get() must be const
// in deed.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/span.h"
#include "trainer/tensor/tensor.h"

namespace wick::data {

// One tensor a field, all with the batch as dimension 0. By custom {input, target}.
using Batch = std::vector<Tensor>;

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  // Item `index`, without a batch dimension.
  virtual std::vector<Tensor> get(int64_t index) const = 0;
  // The items stacked. Override where a batch can be made in one go; errors name the item.
  virtual Batch get_batch(Span<const int64_t> indices) const;

 protected:
  void check_index(int64_t index) const;
};

// Row i of every tensor is item i. Tensors are shared, not copied.
class TensorDataset : public Dataset {
 public:
  explicit TensorDataset(std::vector<Tensor> tensors, Where where = Where::current());
  int64_t size() const override { return size_; }
  std::vector<Tensor> get(int64_t index) const override;
  Batch get_batch(Span<const int64_t> indices) const override;

 private:
  std::vector<Tensor> tensors_;
  int64_t size_ = 0;
};

}  // namespace wick::data
