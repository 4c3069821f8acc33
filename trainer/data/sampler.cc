#include "trainer/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/data/class_lists.h"
#include "trainer/data/draws.h"

namespace wick::data {
namespace {

// Streams from here on are for shuffling; the default generator counts up from 0.
constexpr uint64_t kShuffleStreams = uint64_t{1} << 63;

std::vector<int64_t> count_up(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

// A tree of sums over pairs, pairs of pairs and so on; a draw descends from the top. After a weight
// is set to zero the sums are the same as if it had always been zero.
class WeightTree {
 public:
  explicit WeightTree(const std::vector<double>& weights) {
    while (leaves_ < weights.size()) leaves_ *= 2;
    sums_.assign(2 * leaves_, 0.0);
    std::copy(weights.begin(), weights.end(), sums_.begin() + static_cast<int64_t>(leaves_));
    for (size_t i = leaves_ - 1; i > 0; --i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  }
  int64_t draw(double u) const {
    size_t at = 1;
    double left_over = u * sums_[1];
    while (at < leaves_) {
      at *= 2;
      // Rounding may leave a little more than the right side holds: never go to a side whose sum is
      // 0.
      if (sums_[at] > 0 && (left_over < sums_[at] || sums_[at + 1] == 0)) continue;
      left_over -= sums_[at];
      ++at;
    }
    return static_cast<int64_t>(at - leaves_);
  }
  void remove(int64_t item) {
    size_t at = leaves_ + static_cast<size_t>(item);
    sums_[at] = 0;
    while ((at /= 2) > 0) sums_[at] = sums_[2 * at] + sums_[2 * at + 1];
  }

 private:
  size_t leaves_ = 1;
  std::vector<double> sums_;
};

void check_size(const char* op, int64_t n, const Where& where) {
  if (n < 0) throw_error(op, "a data set of " + std::to_string(n) + " items", where);
}
void check_samples(const char* op, int64_t samples, const Where& where) {
  if (samples < 1)
    throw_error(op, "num_samples " + std::to_string(samples) + ", at least 1", where);
}

}  // namespace

std::vector<int64_t> epoch_permutation(int64_t n, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order = count_up(n);
  uint64_t counter = 0;
  std::array<uint32_t, 4> words{};
  int left = 0;
  auto draw = [&]() -> uint64_t {
    if (left == 0) {
      words = philox(seed, kShuffleStreams | epoch, counter++);
      left = 4;
    }
    left -= 2;
    return uint64_t{words[static_cast<size_t>(left)]} << 32 | words[static_cast<size_t>(left) + 1];
  };
  for (uint64_t i = order.size(); i > 1; --i) {
    // Reduces 64 random bits to 0 .. i - 1: values above the last multiple of i are drawn again, so
    // that all places are equally likely.
    uint64_t limit = UINT64_MAX - UINT64_MAX % i, x;
    do {
      x = draw();
    } while (x >= limit);
    std::swap(order[i - 1], order[x % i]);
  }
  return order;
}

SequentialSampler::SequentialSampler(int64_t n, Where where) : n_(n) {
  check_size("sequential_sampler", n, where);
}
std::vector<int64_t> SequentialSampler::indices(uint64_t) const { return count_up(n_); }

RandomSampler::RandomSampler(int64_t n, bool replacement, std::optional<int64_t> num_samples,
                             uint64_t seed, Where where)
    : n_(n), num_samples_(num_samples.value_or(n)), replacement_(replacement), seed_(seed) {
  check_size("random_sampler", n, where);
  if (n == 0) throw_error("random_sampler", "the data set is empty", where);
  check_samples("random_sampler", num_samples_, where);
}
std::vector<int64_t> RandomSampler::indices(uint64_t epoch) const {
  if (!replacement_) {
    std::vector<int64_t> order = epoch_permutation(n_, seed_, epoch);
    for (uint64_t round = 1; static_cast<int64_t>(order.size()) < num_samples_; ++round) {
      std::vector<int64_t> more = count_up(n_);
      Draws(seed_, Draws::kSample, epoch, round).shuffle(more);
      order.insert(order.end(), more.begin(), more.end());
    }
    order.resize(static_cast<size_t>(num_samples_));
    return order;
  }
  Draws draws(seed_, Draws::kSample, epoch);
  std::vector<int64_t> order(static_cast<size_t>(num_samples_));
  for (int64_t& i : order) i = draws.below(n_);
  return order;
}

SubsetRandomSampler::SubsetRandomSampler(std::vector<int64_t> indices, uint64_t seed, Where where)
    : subset_(std::move(indices)), seed_(seed) {
  for (int64_t i : subset_) {
    if (i < 0) throw_error("subset_random_sampler", "index " + std::to_string(i), where);
  }
}
std::vector<int64_t> SubsetRandomSampler::indices(uint64_t epoch) const {
  std::vector<int64_t> order = epoch_permutation(size(), seed_, epoch);
  for (int64_t& i : order) i = subset_[static_cast<size_t>(i)];
  return order;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, int64_t num_samples,
                                             bool replacement, uint64_t seed, Where where)
    : weights_(std::move(weights)),
      num_samples_(num_samples),
      replacement_(replacement),
      seed_(seed) {
  constexpr const char* kName = "weighted_random_sampler";
  check_samples(kName, num_samples, where);
  int64_t above = 0;
  double sum = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!(weights_[i] >= 0) || !std::isfinite(weights_[i])) {
      throw_error(kName,
                  "weight " + std::to_string(weights_[i]) + " of item " + std::to_string(i) +
                      ": must be finite and not negative",
                  where);
    }
    above += weights_[i] > 0;
    sum += weights_[i];
  }
  if (above == 0) throw_error(kName, "no weight is above zero", where);
  if (!std::isfinite(sum)) throw_error(kName, "the sum of the weights overflows", where);
  if (!replacement && above < num_samples) {
    throw_error(kName,
                std::to_string(num_samples) + " samples without replacement of " +
                    std::to_string(above) + " weights above zero",
                where);
  }
}
std::vector<int64_t> WeightedRandomSampler::indices(uint64_t epoch) const {
  WeightTree tree(weights_);
  Draws draws(seed_, Draws::kSample, epoch);
  std::vector<int64_t> order(static_cast<size_t>(num_samples_));
  for (int64_t& i : order) {
    i = tree.draw(draws.uniform());
    if (!replacement_) tree.remove(i);
  }
  return order;
}

DistributedSampler::DistributedSampler(int64_t n, int num_replicas, int rank, bool shuffle,
                                       uint64_t seed, bool drop_last, Where where)
    : n_(n), replicas_(num_replicas), rank_(rank), shuffle_(shuffle), seed_(seed) {
  check_size("distributed_sampler", n, where);
  if (num_replicas < 1 || rank < 0 || rank >= num_replicas) {
    throw_error("distributed_sampler",
                "rank " + std::to_string(rank) + " of " + std::to_string(num_replicas), where);
  }
  num_samples_ = drop_last ? n / num_replicas : (n + num_replicas - 1) / num_replicas;
}
std::vector<int64_t> DistributedSampler::indices(uint64_t epoch) const {
  std::vector<int64_t> all = shuffle_ ? epoch_permutation(n_, seed_, epoch) : count_up(n_);
  std::vector<int64_t> mine(static_cast<size_t>(num_samples_));
  for (size_t i = 0; i < mine.size(); ++i) {
    mine[i] = all[(static_cast<size_t>(rank_) + i * static_cast<size_t>(replicas_)) % all.size()];
  }
  return mine;
}

}  // namespace wick::data
