// Datasets made of other datasets.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/draws.h"

namespace wick::data {

// The items `indices` of another data set, in that order.
class Subset : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices,
         Where where = Where::current());
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Item get(int64_t index) const override;
  Batch get_batch(Span<const int64_t> indices) const override;
  const std::vector<int64_t>& indices() const { return indices_; }

 private:
  std::vector<int64_t> translate(Span<const int64_t> indices) const;
  std::shared_ptr<const Dataset> dataset_;
  std::vector<int64_t> indices_;
};

// Several data sets, one after the other.
class ConcatDataset : public Dataset {
 public:
  explicit ConcatDataset(std::vector<std::shared_ptr<const Dataset>> datasets,
                         Where where = Where::current());
  int64_t size() const override { return ends_.back(); }
  Item get(int64_t index) const override;

 private:
  std::vector<std::shared_ptr<const Dataset>> datasets_;
  std::vector<int64_t> ends_;
};

// Splits a data set into disjoint random subsets that make up the whole. The lengths are counts
// whose sum is its size.
std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<int64_t>& lengths,
                                                  uint64_t seed = 0,
                                                  Where where = Where::current());
// The same for shares whose sum is 1: each count is rounded down, and the remaining items go one by
// one to the first subsets.
std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<double>& shares,
                                                  uint64_t seed = 0,
                                                  Where where = Where::current());

// The type of an image transform (trainer/data/transforms.h); `draws` gives its random numbers.
using Transform = std::function<Tensor(const Tensor&, Draws&)>;

// Applies `transform` to field `field` of every item. Its draws depend only on (seed, epoch,
// index): they are the same for any number of workers, and differ between epochs.
class TransformedDataset : public Dataset {
 public:
  TransformedDataset(std::shared_ptr<const Dataset> dataset, Transform transform, uint64_t seed = 0,
                     int field = 0, Where where = Where::current());
  int64_t size() const override { return dataset_->size(); }
  Item get(int64_t index) const override;

 private:
  std::shared_ptr<const Dataset> dataset_;
  Transform transform_;
  uint64_t seed_;
  int field_;
};

// Throws if a label is not in 0 .. classes - 1, and names the item. labels: int64 [N].
void check_labels(const Tensor& labels, int64_t classes, Where where = Where::current());

}  // namespace wick::data
