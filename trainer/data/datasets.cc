#include "trainer/data/datasets.h"

#include <algorithm>
#include <cmath>

#include "trainer/data/sampler.h"

namespace wick::data {

Subset::Subset(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices, Where where)
    : dataset_(std::move(dataset)), indices_(std::move(indices)) {
  if (!dataset_) throw_error("subset", "no data set", where);
  for (int64_t i : indices_) {
    if (i < 0 || i >= dataset_->size()) {
      throw_error("subset",
                  "index " + std::to_string(i) + " of " + std::to_string(dataset_->size()), where);
    }
  }
}
std::vector<int64_t> Subset::translate(Span<const int64_t> indices) const {
  std::vector<int64_t> inner;
  for (int64_t i : indices) {
    check_index(i);
    inner.push_back(indices_[static_cast<size_t>(i)]);
  }
  return inner;
}
Item Subset::get(int64_t index) const { return dataset_->get(translate({&index, 1})[0]); }
Batch Subset::get_batch(Span<const int64_t> indices) const {
  std::vector<int64_t> inner = translate(indices);
  return dataset_->get_batch({inner.data(), inner.size()});
}

ConcatDataset::ConcatDataset(std::vector<std::shared_ptr<const Dataset>> datasets, Where where)
    : datasets_(std::move(datasets)) {
  if (datasets_.empty()) throw_error("concat_dataset", "needs at least one data set", where);
  for (const auto& d : datasets_) {
    if (!d) throw_error("concat_dataset", "no data set", where);
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + d->size());
  }
}
Item ConcatDataset::get(int64_t index) const {
  int64_t at = index < 0 ? index + size() : index;
  if (at < 0 || at >= size()) check_index(index);
  auto part = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
  return datasets_[part]->get(at - (part == 0 ? 0 : ends_[part - 1]));
}

std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<int64_t>& lengths,
                                                  uint64_t seed, Where where) {
  if (!dataset) throw_error("random_split", "no data set", where);
  int64_t sum = 0;
  for (int64_t n : lengths) {
    if (n < 0 || n > dataset->size()) {
      throw_error("random_split", "a part of " + std::to_string(n) + " items", where);
    }
    sum += n;
  }
  if (sum != dataset->size()) {
    throw_error("random_split",
                "the parts have " + std::to_string(sum) + " items, the data set " +
                    std::to_string(dataset->size()),
                where);
  }
  std::vector<int64_t> order(static_cast<size_t>(sum));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  Draws(seed, Draws::kSplit, 0).shuffle(order);
  std::vector<std::shared_ptr<Subset>> parts;
  auto first = order.begin();
  for (int64_t n : lengths) {
    parts.push_back(
        std::make_shared<Subset>(dataset, std::vector<int64_t>(first, first + n), where));
    first += n;
  }
  return parts;
}

std::vector<std::shared_ptr<Subset>> random_split(std::shared_ptr<const Dataset> dataset,
                                                  const std::vector<double>& shares, uint64_t seed,
                                                  Where where) {
  if (!dataset) throw_error("random_split", "no data set", where);
  double sum = 0;
  std::vector<int64_t> lengths;
  int64_t given = 0;
  for (double share : shares) {
    if (!(share >= 0 && share <= 1)) {
      throw_error("random_split", "a share of " + std::to_string(share), where);
    }
    sum += share;
    lengths.push_back(
        static_cast<int64_t>(std::floor(share * static_cast<double>(dataset->size()))));
    given += lengths.back();
  }
  if (std::fabs(sum - 1) > 1e-9) {
    throw_error("random_split", "the shares add up to " + std::to_string(sum), where);
  }
  for (size_t i = 0; given < dataset->size(); i = (i + 1) % lengths.size(), ++given) ++lengths[i];
  return random_split(std::move(dataset), lengths, seed, where);
}

TransformedDataset::TransformedDataset(std::shared_ptr<const Dataset> dataset, Transform transform,
                                       uint64_t seed, int field, Where where)
    : dataset_(std::move(dataset)), transform_(std::move(transform)), seed_(seed), field_(field) {
  if (!dataset_) throw_error("transformed_dataset", "no data set", where);
  if (!transform_) throw_error("transformed_dataset", "no transform", where);
  if (field < 0) throw_error("transformed_dataset", "field " + std::to_string(field), where);
}
Item TransformedDataset::get(int64_t index) const {
  Item item = dataset_->get(index);
  if (static_cast<size_t>(field_) >= item.size()) {
    throw Error("[transformed_dataset] no field " + std::to_string(field_) + ": items have " +
                std::to_string(item.size()));
  }
  Draws draws(seed_, Draws::kTransform, reading_epoch(), static_cast<uint64_t>(index));
  Tensor& field = item[static_cast<size_t>(field_)];
  field = transform_(field, draws);
  return item;
}

void check_labels(const Tensor& labels, int64_t classes, Where where) {
  std::vector<int64_t> values = labels.to_vector<int64_t>(where);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= classes) {
      throw_error("labels",
                  "item " + std::to_string(i) + " has label " + std::to_string(values[i]) + ": " +
                      std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1),
                  where);
    }
  }
}

}  // namespace wick::data
