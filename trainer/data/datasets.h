// Datasets made of datasets.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/draws.h"

namespace wick::data {

// Items `indices` of another data set, in that order.
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

// One data set after the other.
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

// Disjoint random subsets that make up the whole. Lengths are counts whose sum is the size.
std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<int64_t>& lengths,
                                                  uint64_t seed = 0,
                                                  Where where = Where::current());
// Shares whose sum is 1: each rounded down, what is left over goes one by one to the first ones.
std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<double>& shares,
                                                  uint64_t seed = 0,
                                                  Where where = Where::current());

// What a transform of images looks like (trainer/data/transforms.h); `draws` are its random
// numbers.
using Transform = std::function<Tensor(const Tensor&, Draws&)>;

// Field `field` of every item goes through `transform`, whose draws depend on (seed, epoch, index)
// alone: the same for any number of workers, others in the next epoch.
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

// Throws where a label is not in 0 .. classes - 1, naming the item. labels: int64 [N].
void check_labels(const Tensor& labels, int64_t classes, Where where = Where::current());

}  // namespace wick::data
