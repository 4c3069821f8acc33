#include "trainer/distributed/parallel/exact_sum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace wick::distributed {

// Makes every limb but the last one of 32 bits.
void ExactSum::carry(std::array<int64_t, kLimbs>* limbs) {
  for (size_t i = 0; i + 1 < kLimbs; ++i) {
    (*limbs)[i + 1] += (*limbs)[i] >> 32;  // rounds down, also below 0
    (*limbs)[i] &= 0xffffffff;
  }
}

void ExactSum::add_signed(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  if (exponent > 0) mantissa |= uint64_t{1} << 52;
  const auto place = static_cast<size_t>(exponent > 0 ? exponent - 1 : 0);  // above 2^-1074
  const size_t limb = place / 32, shift = place % 32;
  const uint64_t low = (mantissa & 0xffffffff) << shift, high = (mantissa >> 32) << shift;
  const int64_t sign = (bits >> 63) != 0 ? -1 : 1;
  limbs_[limb] += sign * static_cast<int64_t>(low & 0xffffffff);
  limbs_[limb + 1] += sign * static_cast<int64_t>((low >> 32) + (high & 0xffffffff));
  limbs_[limb + 2] += sign * static_cast<int64_t>(high >> 32);
  // A limb grows by less than 2^33 a term, and holds 2^63.
  if (++adds_ < uint32_t{1} << 28) return;
  carry(&limbs_);
  adds_ = 0;
}

void ExactSum::add(double x) {
  if (std::isnan(x)) {
    ++nans_;
  } else if (std::isinf(x)) {
    ++infinities_;
  } else {
    add_signed(x);
  }
}

void ExactSum::add_square(double a) {
  const double square = a * a;
  add(square);
  if (std::isfinite(square)) add_signed(std::fma(a, a, -square));
}

double ExactSum::value() const {
  if (nans_ > 0) return std::numeric_limits<double>::quiet_NaN();
  if (infinities_ > 0) return std::numeric_limits<double>::infinity();
  std::array<int64_t, kLimbs> limbs = limbs_;
  carry(&limbs);
  size_t top = kLimbs;
  while (top > 0 && limbs[top - 1] == 0) --top;
  if (top == 0) return 0;
  // The 64 highest bits and, in the last of them, whether anything lies below: 64 bits are enough
  // for one rounding to 53.
  auto limb = [&](size_t below) {
    return top > below ? static_cast<uint64_t>(limbs[top - 1 - below]) : 0;
  };
  const int zeros = std::countl_zero(static_cast<uint32_t>(limb(0)));
  uint64_t head = limb(0) << 32 | limb(1);
  bool rest = false;
  if (zeros > 0) head = head << zeros | limb(2) >> (32 - zeros);
  rest = (limb(2) & ((uint64_t{1} << (32 - zeros)) - 1)) != 0;
  for (size_t i = 3; i < top; ++i) rest = rest || limb(i) != 0;
  if (rest) head |= 1;
  return std::ldexp(static_cast<double>(head), static_cast<int>(top) * 32 - 64 - zeros - 1074);
}

std::array<int64_t, ExactSum::kWords> ExactSum::state() const {
  std::array<int64_t, kLimbs> limbs = limbs_;
  carry(&limbs);
  std::array<int64_t, kWords> words{};
  for (size_t i = 0; i < kLimbs; ++i) words[i] = limbs[i];
  words[kLimbs] = nans_;
  words[kLimbs + 1] = infinities_;
  return words;
}

ExactSum ExactSum::from_state(const std::array<int64_t, kWords>& words) {
  ExactSum sum;
  for (size_t i = 0; i < kLimbs; ++i) sum.limbs_[i] = words[i];
  sum.nans_ = words[kLimbs];
  sum.infinities_ = words[kLimbs + 1];
  return sum;
}

}  // namespace wick::distributed
