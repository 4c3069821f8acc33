#include "runtime/kernels/math/math_rem_pio2.h"

#include <bit>
#include <limits>

namespace wick {
namespace {

// 2/pi in binary, 32 bits per word, the first word worth 2^-32. A float's exponent reaches 2^104
// (times a 24-bit integer), and 64 more bits are needed after the ones that drop out: 7 words.
constexpr uint32_t kTwoOverPi[] = {0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0,
                                   0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561};

// Returns bits [start, start + 32) of 2/pi; bit 0 is worth 2^-1; bits before the point are 0.
uint32_t two_over_pi_bits(int start) {
  if (start <= -32) return 0;
  if (start < 0) return kTwoOverPi[0] >> -start;
  int word = start / 32, shift = start % 32;
  uint64_t two = (static_cast<uint64_t>(kTwoOverPi[word]) << 32) | kTwoOverPi[word + 1];
  return static_cast<uint32_t>(two >> (32 - shift));
}

void rem_pio2_one(float x, float* hi, float* lo, int32_t* quadrant) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  int biased = static_cast<int>((u >> 23) & 0xFF);
  *lo = 0;
  *quadrant = 0;
  if (biased == 0xFF) {
    *hi = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  if ((u & 0x7FFFFFFF) <= 0x3F490FDA) {  // below pi/4
    *hi = x;
    return;
  }
  uint64_t m = (u & 0x7FFFFF) | 0x800000;
  int e = biased - 150;  // |x| = m * 2^e

  // |x| * 2/pi = m * (bits of 2/pi) * 2^e. Keep the bits worth 2^1 .. 2^-94 after the
  // multiplication by 2^e: anything above is a multiple of 4 quadrants. The product of a 24-bit m
  // with the window's 96 bits, modulo 2^96, is the answer with an error below 2^-70.
  int start = e - 2;
  uint64_t w0 = two_over_pi_bits(start);
  uint64_t w1 = two_over_pi_bits(start + 32);
  uint64_t w2 = two_over_pi_bits(start + 64);
  uint64_t p2 = m * w2;
  uint64_t p1 = m * w1 + (p2 >> 32);
  uint64_t p0 = m * w0 + (p1 >> 32);
  uint64_t top = (p0 << 32) | (p1 & 0xFFFFFFFF);  // units of 2^-62 quadrants, modulo 4
  uint64_t below = p2 & 0xFFFFFFFF;

  uint32_t q = static_cast<uint32_t>(top >> 62);
  // The fraction in units of 2^-64, rounded to nearest quadrant: as a signed number it is in [-1/2,
  // 1/2).
  uint64_t fraction = (top << 2) | (below >> 30);
  if ((fraction >> 63) != 0) ++q;
  double r = static_cast<double>(static_cast<int64_t>(fraction)) * 0x1.921fb54442d18p-64;
  if ((u >> 31) != 0) {
    r = -r;
    q = 0u - q;
  }
  *hi = static_cast<float>(r);
  *lo = static_cast<float>(r - static_cast<double>(*hi));
  *quadrant = static_cast<int32_t>(q & 3);
}

}  // namespace

void rem_pio2_large(const float* x, float* hi, float* lo, int32_t* quadrant, size_t n) {
  for (size_t i = 0; i < n; ++i) rem_pio2_one(x[i], hi + i, lo + i, quadrant + i);
}

}  // namespace wick
