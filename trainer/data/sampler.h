// Samplers decide which items an epoch reads, and in which order. Names are torch.utils.data's;
// every order is a pure function of (seed, epoch), so that a resumed run reads what the first one
// would have read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

// Returns 0..n-1 shuffled: Fisher-Yates on a Philox stream of its own.
std::vector<int64_t> epoch_permutation(int64_t n, uint64_t seed, uint64_t epoch);

// The base of samplers: torch.utils.data.Sampler, whose order is a function of the epoch.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;  // indices per epoch, the same in every one
  // Returns the indices of an epoch, in order.
  virtual std::vector<int64_t> indices(uint64_t epoch) const = 0;
};

// 0, 1, ... n - 1 in every epoch.
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t n, Where where = Where::current());
  int64_t size() const override { return n_; }
  std::vector<int64_t> indices(uint64_t epoch) const override;

 private:
  int64_t n_;
};

// A random permutation; more than n samples continue with another one. With replacement every draw
// is independent.
class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(int64_t n, bool replacement = false,
                         std::optional<int64_t> num_samples = std::nullopt, uint64_t seed = 0,
                         Where where = Where::current());
  int64_t size() const override { return num_samples_; }
  std::vector<int64_t> indices(uint64_t epoch) const override;

 private:
  int64_t n_, num_samples_;
  bool replacement_;
  uint64_t seed_;
};

// These indices in a random order that differs in every epoch.
class SubsetRandomSampler : public Sampler {
 public:
  explicit SubsetRandomSampler(std::vector<int64_t> indices, uint64_t seed = 0,
                               Where where = Where::current());
  int64_t size() const override { return static_cast<int64_t>(subset_.size()); }
  std::vector<int64_t> indices(uint64_t epoch) const override;

 private:
  std::vector<int64_t> subset_;
  uint64_t seed_;
};

// Draws item i with probability weights[i] / sum. Without replacement no item occurs twice, so at
// least num_samples weights must be positive.
class WeightedRandomSampler : public Sampler {
 public:
  WeightedRandomSampler(std::vector<double> weights, int64_t num_samples, bool replacement = true,
                        uint64_t seed = 0, Where where = Where::current());
  int64_t size() const override { return num_samples_; }
  std::vector<int64_t> indices(uint64_t epoch) const override;

 private:
  std::vector<double> weights_;
  int64_t num_samples_;
  bool replacement_;
  uint64_t seed_;
};
// Returns 1 / (number of items with the class of item i) for every item: all classes then have the
// same total weight.
std::vector<double> class_weights(const std::vector<int64_t>& labels);

// Draws every class equally often: num_samples / classes times each (once more for the first few if
// that is not an integer). A small class is repeated, each time in another order.
class ClassBalancedSampler : public Sampler {
 public:
  explicit ClassBalancedSampler(const std::vector<int64_t>& labels,
                                std::optional<int64_t> num_samples = std::nullopt,
                                uint64_t seed = 0, Where where = Where::current());
  int64_t size() const override { return num_samples_; }
  std::vector<int64_t> indices(uint64_t epoch) const override;

 private:
  std::vector<std::vector<int64_t>> classes_;
  int64_t num_samples_;
  uint64_t seed_;
};

// A permutation in which every section has the classes in the proportions of the whole set, to
// within one item per class.
class StratifiedSampler : public Sampler {
 public:
  explicit StratifiedSampler(const std::vector<int64_t>& labels, uint64_t seed = 0,
                             Where where = Where::current());
  int64_t size() const override { return size_; }
  std::vector<int64_t> indices(uint64_t epoch) const override;

 private:
  std::vector<std::vector<int64_t>> classes_;
  int64_t size_;
  uint64_t seed_;
};

// Rank `rank` of `num_replicas` reads every num_replicas-th item. If the number of items is not
// divisible, items from the start are read twice, or (drop_last) the last ones are left out: every
// rank reads the same number.
class DistributedSampler : public Sampler {
 public:
  DistributedSampler(int64_t n, int num_replicas, int rank, bool shuffle = true, uint64_t seed = 0,
                     bool drop_last = false, Where where = Where::current());
  int64_t size() const override { return num_samples_; }
  std::vector<int64_t> indices(uint64_t epoch) const override;

 private:
  int64_t n_, num_samples_;
  int replicas_, rank_;
  bool shuffle_;
  uint64_t seed_;
};

// The base class for LoaderOptions::batch_sampler: gives the batches of an epoch.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual int64_t size() const = 0;  // batches per epoch, the same in every one
  virtual std::vector<std::vector<int64_t>> batches(uint64_t epoch) const = 0;
};

// Cuts the indices of a sampler into batches, in order.
class BatchSampler : public Batches {
 public:
  BatchSampler(std::shared_ptr<const Sampler> sampler, int64_t batch_size, bool drop_last,
               Where where = Where::current());
  int64_t size() const override;
  std::vector<std::vector<int64_t>> batches(uint64_t epoch) const override;

 private:
  std::shared_ptr<const Sampler> sampler_;
  int64_t batch_size_;
  bool drop_last_;
};

// Options of BucketBatchSampler.
struct BucketOptions {
  int64_t batch_size = 1;  // items of a batch
  int64_t pool = 100;      // number of batches whose items are sorted together
  bool shuffle = true;     // false: items in order of their index before each pool is sorted
  uint64_t seed = 0;       // for shuffling
  bool drop_last = false;  // drops an incomplete last batch
};
// Batches of items of similar length, so that little padding is needed: a permutation is cut into
// pools, each pool is sorted by length and cut into batches, and the batches of the epoch are
// shuffled.
class BucketBatchSampler : public Batches {
 public:
  BucketBatchSampler(std::vector<int64_t> lengths, const BucketOptions& options,
                     Where where = Where::current());
  int64_t size() const override;
  std::vector<std::vector<int64_t>> batches(uint64_t epoch) const override;

 private:
  std::vector<int64_t> lengths_;
  BucketOptions options_;
};

}  // namespace wick::data
