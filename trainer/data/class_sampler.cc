// Samplers that use labels or lengths, and the splitting of an order into batches.
#include <algorithm>
#include <map>

#include "trainer/data/class_lists.h"
#include "trainer/data/draws.h"
#include "trainer/data/sampler.h"

namespace wick::data {

std::vector<double> class_weights(const std::vector<int64_t>& labels) {
  std::map<int64_t, int64_t> counts;
  for (int64_t label : labels) ++counts[label];
  std::vector<double> weights;
  weights.reserve(labels.size());
  for (int64_t label : labels) weights.push_back(1.0 / static_cast<double>(counts[label]));
  return weights;
}

ClassBalancedSampler::ClassBalancedSampler(const std::vector<int64_t>& labels,
                                           std::optional<int64_t> num_samples, uint64_t seed,
                                           Where where)
    : classes_(class_lists("class_balanced_sampler", labels, where)),
      num_samples_(num_samples.value_or(static_cast<int64_t>(labels.size()))),
      seed_(seed) {
  if (num_samples_ < 1) {
    throw_error("class_balanced_sampler",
                "num_samples " + std::to_string(num_samples_) + ", at least 1", where);
  }
}

std::vector<int64_t> ClassBalancedSampler::indices(uint64_t epoch) const {
  Draws draws(seed_, Draws::kClasses, epoch);
  auto count = static_cast<int64_t>(classes_.size());
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(num_samples_));
  for (int64_t c = 0; c < count; ++c) {
    int64_t want = num_samples_ / count + (c < num_samples_ % count ? 1 : 0);
    std::vector<int64_t> items;
    for (size_t next = 0; want > 0; --want) {
      if (next == items.size()) {
        items = classes_[static_cast<size_t>(c)];
        draws.shuffle(items);
        next = 0;
      }
      order.push_back(items[next++]);
    }
  }
  draws.shuffle(order);
  return order;
}

StratifiedSampler::StratifiedSampler(const std::vector<int64_t>& labels, uint64_t seed, Where where)
    : classes_(class_lists("stratified_sampler", labels, where)),
      size_(static_cast<int64_t>(labels.size())),
      seed_(seed) {}

std::vector<int64_t> StratifiedSampler::indices(uint64_t epoch) const {
  Draws draws(seed_, Draws::kClasses, epoch);
  std::vector<std::vector<int64_t>> classes = classes_;
  for (auto& items : classes) draws.shuffle(items);
  // Item k of a class of m is placed at (k + 1/2) / m of the epoch. The places are compared as
  // exact fractions; ties go to the class drawn first.
  struct Place {
    int64_t odd, of, tie, item;
  };
  std::vector<int64_t> ties(classes.size());
  for (size_t c = 0; c < ties.size(); ++c) ties[c] = static_cast<int64_t>(c);
  draws.shuffle(ties);
  std::vector<Place> places;
  places.reserve(static_cast<size_t>(size_));
  for (size_t c = 0; c < classes.size(); ++c) {
    auto of = static_cast<int64_t>(classes[c].size());
    for (int64_t k = 0; k < of; ++k) {
      places.push_back({2 * k + 1, of, ties[c], classes[c][static_cast<size_t>(k)]});
    }
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    int64_t x = a.odd * b.of, y = b.odd * a.of;  // below 2^63 for any set that fits into memory
    return x != y ? x < y : a.tie < b.tie;
  });
  std::vector<int64_t> order;
  order.reserve(places.size());
  for (const Place& p : places) order.push_back(p.item);
  return order;
}

BatchSampler::BatchSampler(std::shared_ptr<const Sampler> sampler, int64_t batch_size,
                           bool drop_last, Where where)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  if (!sampler_) throw_error("batch_sampler", "no sampler", where);
  if (batch_size < 1) {
    throw_error("batch_sampler", "batch_size " + std::to_string(batch_size), where);
  }
}
int64_t BatchSampler::size() const {
  int64_t n = sampler_->size();
  return n / batch_size_ + (!drop_last_ && n % batch_size_ != 0 ? 1 : 0);
}
std::vector<std::vector<int64_t>> BatchSampler::batches(uint64_t epoch) const {
  std::vector<int64_t> order = sampler_->indices(epoch);
  if (static_cast<int64_t>(order.size()) != sampler_->size()) {
    throw Error("[batch_sampler] epoch " + std::to_string(epoch) + ": the sampler gave " +
                std::to_string(order.size()) + " of the " + std::to_string(sampler_->size()) +
                " it announced");
  }
  std::vector<std::vector<int64_t>> result;
  for (int64_t b = 0; b < size(); ++b) {
    auto first = order.begin() + b * batch_size_;
    result.emplace_back(first, first + std::min(batch_size_, order.end() - first));
  }
  return result;
}

BucketBatchSampler::BucketBatchSampler(std::vector<int64_t> lengths, const BucketOptions& options,
                                       Where where)
    : lengths_(std::move(lengths)), options_(options) {
  if (options.batch_size < 1 || options.pool < 1) {
    throw_error("bucket_batch_sampler",
                "batch_size " + std::to_string(options.batch_size) + ", pool " +
                    std::to_string(options.pool) + ": at least 1",
                where);
  }
  for (size_t i = 0; i < lengths_.size(); ++i) {
    if (lengths_[i] < 0) {
      throw_error("bucket_batch_sampler",
                  "length " + std::to_string(lengths_[i]) + " of item " + std::to_string(i), where);
    }
  }
}
int64_t BucketBatchSampler::size() const {
  auto n = static_cast<int64_t>(lengths_.size());
  return n / options_.batch_size + (!options_.drop_last && n % options_.batch_size != 0 ? 1 : 0);
}
std::vector<std::vector<int64_t>> BucketBatchSampler::batches(uint64_t epoch) const {
  auto n = static_cast<int64_t>(lengths_.size());
  std::vector<int64_t> order = SequentialSampler(n).indices(0);
  if (options_.shuffle) order = epoch_permutation(n, options_.seed, epoch);
  std::vector<std::vector<int64_t>> result;
  // A pool is a whole number of batches: only the epoch's last batch can be incomplete.
  int64_t b = options_.batch_size, pool = std::min(options_.pool, n / b + 1) * b;
  for (int64_t start = 0; start < n; start += pool) {
    auto first = order.begin() + start, last = order.begin() + std::min(n, start + pool);
    std::stable_sort(first, last, [&](int64_t x, int64_t y) {
      return lengths_[static_cast<size_t>(x)] < lengths_[static_cast<size_t>(y)];
    });
    for (; first < last; first += std::min<int64_t>(b, last - first)) {
      if (options_.drop_last && last - first < b) break;
      result.emplace_back(first, first + std::min<int64_t>(b, last - first));
    }
  }
  if (options_.shuffle) Draws(options_.seed, Draws::kBuckets, epoch).shuffle(result);
  return result;
}

}  // namespace wick::data
