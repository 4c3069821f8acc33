// A sum of doubles without rounding, and so without an order: ranks may add any part of the terms.
// It is rounded once, when it is read. Internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wick::distributed {

class ExactSum {
 public:
  // Words of state(): 32 bits each of 2^-1074 .. 2^1024 and some above for carries; then the number
  // of NaNs, and of infinities.
  static constexpr size_t kWords = 70;

  // Adds a term that is not negative. NaN and infinity are counted.
  void add(double x);
  // Adds a^2, also where a double does not hold it: the rest that rounding leaves is a term, too.
  void add_square(double a);
  // Returns the rounded sum: to nearest, NaN if one was added, else infinity if one was.
  double value() const;
  // Returns words whose sums over ranks, as int64, are the state of the whole sum.
  std::array<int64_t, kWords> state() const;
  static ExactSum from_state(const std::array<int64_t, kWords>& words);

 private:
  static constexpr size_t kLimbs = 68;
  static void carry(std::array<int64_t, kLimbs>* limbs);

  void add_signed(double x);

  std::array<int64_t, kLimbs> limbs_{};
  int64_t nans_ = 0, infinities_ = 0;
  uint32_t adds_ = 0;  // since the last carry
};

}  // namespace wick::distributed
