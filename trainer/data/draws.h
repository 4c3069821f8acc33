// Draws: random numbers for reading data, a pure function of (seed, purpose, epoch, index). They do
// not depend on workers, threads or earlier draws.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trainer/tensor/philox.h"

namespace wick::data {

// A stream of random numbers of one item, in one epoch, for one purpose.
class Draws {
 public:
  // Each purpose has its own numbers under the same seed.
  enum Purpose : uint64_t { kSample = 1, kClasses, kBuckets, kSplit, kBuffer, kTransform };

  Draws(uint64_t seed, Purpose purpose, uint64_t epoch, uint64_t index = 0) : stream_(index) {
    // The key is made of epoch and purpose, which leaves the whole stream number to the index.
    std::array<uint32_t, 4> key = philox(seed, kTag | purpose, epoch);
    seed_ = uint64_t{key[0]} << 32 | key[1];
  }

  // Returns 64 random bits.
  uint64_t bits() {
    if (left_ == 0) {
      words_ = philox(seed_, stream_, counter_++);
      left_ = 4;
    }
    left_ -= 2;
    return uint64_t{words_[static_cast<size_t>(left_)]} << 32 |
           words_[static_cast<size_t>(left_) + 1];
  }
  // Returns a number in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  // Returns a number in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Returns an integer in 0 .. n - 1; n must be at least 1. Values above the last multiple of n are
  // drawn again, so that all are equally likely.
  int64_t below(int64_t n) {
    auto m = static_cast<uint64_t>(n);
    uint64_t limit = UINT64_MAX - UINT64_MAX % m, x;
    do {
      x = bits();
    } while (x >= limit);
    return static_cast<int64_t>(x % m);
  }
  // Puts the values in a random order; each order is equally likely (Fisher and Yates).
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  static constexpr uint64_t kTag = uint64_t{3} << 62;
  uint64_t seed_ = 0, stream_, counter_ = 0;
  std::array<uint32_t, 4> words_{};
  int left_ = 0;
};

}  // namespace wick::data
