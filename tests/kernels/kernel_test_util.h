// Shared by the kernel tests: random data, bit comparison, guarded buffers.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/core/allocator.h"

namespace wick::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2654435769u + 1) {}
  uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next()) % n; }
  float uniform() { return static_cast<float>(next() & 0xFFFFFF) * 0x1p-23f - 1.0f; }

 private:
  uint64_t state_;
};

inline std::vector<float> random_floats(Random& random, int64_t n) {
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = random.uniform();
  return v;
}

// Scratch filled with NaN, so that reading what nothing wrote shows in the result.
class NanBuffer {
 public:
  explicit NanBuffer(size_t bytes) : bytes_(bytes + kAlignment) {
    data_ = static_cast<float*>(default_allocator().allocate(bytes_, kAlignment));
    for (size_t i = 0; i < bytes_ / 4; ++i) data_[i] = std::numeric_limits<float>::quiet_NaN();
    data_[bytes / 4] = kGuard;
    guard_ = bytes / 4;
  }
  ~NanBuffer() {
    EXPECT_EQ(data_[guard_], kGuard) << "wrote beyond the scratch it asked for";
    default_allocator().deallocate(data_, bytes_, kAlignment);
  }
  NanBuffer(const NanBuffer&) = delete;
  float* data() { return data_; }

 private:
  static constexpr float kGuard = 12345.0f;
  float* data_;
  size_t bytes_;
  size_t guard_;
};

// Equal bits, every NaN alike; says where the first difference is.
inline ::testing::AssertionResult same_bits(const std::vector<float>& a,
                                            const std::vector<float>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.size() << ": " << a[i] << " vs " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// The bound for targets without FMA (P3): |a - b| <= (k + 2) eps * sum of |terms|, where each term
// is at most `term`.
inline ::testing::AssertionResult close_without_fma(const std::vector<float>& a,
                                                    const std::vector<float>& b, int64_t k,
                                                    float term) {
  const float bound = static_cast<float>((k + 2) * (k + 2)) * term * 0x1p-23f;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= bound) && !(std::isnan(a[i]) && std::isnan(b[i]))) {
      return ::testing::AssertionFailure()
             << "element " << i << ": " << a[i] << " vs " << b[i] << ", bound " << bound;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace wick::test
