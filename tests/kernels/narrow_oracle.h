// The result of a cast from float32 to a small type, from the types' definitions: a list of all
// values, and the nearest of them. Shares nothing with the kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/dtype.h"

namespace wick::test {

// A target and how it is rounded to.
struct NarrowCase {
  const char* name;
  DType to;
  bool saturate;
  int64_t round_mode;  // float8_e8m0fnu: 0 up, 1 down, 2 nearest
};
inline constexpr NarrowCase kNarrowCases[] = {
    {"e4m3fn", DType::kF8E4M3FN, true, 0},
    {"e4m3fn_inf", DType::kF8E4M3FN, false, 0},
    {"e4m3fnuz", DType::kF8E4M3FNUZ, true, 0},
    {"e4m3fnuz_inf", DType::kF8E4M3FNUZ, false, 0},
    {"e5m2", DType::kF8E5M2, true, 0},
    {"e5m2_inf", DType::kF8E5M2, false, 0},
    {"e5m2fnuz", DType::kF8E5M2FNUZ, true, 0},
    {"e5m2fnuz_inf", DType::kF8E5M2FNUZ, false, 0},
    {"e8m0_up", DType::kF8E8M0, true, 0},
    {"e8m0_up_inf", DType::kF8E8M0, false, 0},
    {"e8m0_down", DType::kF8E8M0, true, 1},
    {"e8m0_down_inf", DType::kF8E8M0, false, 1},
    {"e8m0_nearest", DType::kF8E8M0, true, 2},
    {"e8m0_nearest_inf", DType::kF8E8M0, false, 2},
    {"e2m1", DType::kF4E2M1, true, 0},
    {"uint4", DType::kU4, true, 0},
    {"int4", DType::kI4, true, 0},
    {"uint2", DType::kU2, true, 0},
    {"int2", DType::kI2, true, 0},
};

// The value of a code: sign, exponent, mantissa as the specification's tables have them.
inline double narrow_value(DType t, int code) {
  auto real = [&](int exponent_bits, int mantissa_bits, int bias) {
    const int sign_at = exponent_bits + mantissa_bits;
    const int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
    const double fraction = static_cast<double>(code & ((1 << mantissa_bits) - 1)) /
                            static_cast<double>(1 << mantissa_bits);
    const double v = exponent == 0 ? std::pow(2.0, 1 - bias) * fraction
                                   : std::pow(2.0, exponent - bias) * (1 + fraction);
    return (code >> sign_at & 1) != 0 ? -v : v;
  };
  switch (t) {
    case DType::kF8E4M3FN: return (code & 0x7F) == 0x7F ? NAN : real(4, 3, 7);
    case DType::kF8E4M3FNUZ: return code == 0x80 ? NAN : real(4, 3, 8);
    case DType::kF8E5M2:
      if ((code & 0x7F) > 0x7C) return NAN;
      return code == 0x7C ? INFINITY : code == 0xFC ? -INFINITY : real(5, 2, 15);
    case DType::kF8E5M2FNUZ: return code == 0x80 ? NAN : real(5, 2, 16);
    case DType::kF8E8M0: return code == 0xFF ? NAN : std::pow(2.0, code - 127);
    case DType::kF4E2M1: return real(2, 1, 1);
    case DType::kI4: return code > 7 ? code - 16 : code;
    case DType::kI2: return code > 1 ? code - 4 : code;
    default: return code;
  }
}

class NarrowOracle {
 public:
  explicit NarrowOracle(const NarrowCase& c) : c_(c) {
    // Magnitudes ascend with the code.
    for (int code = 0; code < (c.to == DType::kF4E2M1 ? 8 : 128); ++code) {
      const double v = narrow_value(c.to, code);
      if (!std::isfinite(v)) break;
      values_.push_back(v);
    }
  }

  // The code; any NaN of the type for a NaN.
  int operator()(float x) const {
    if (is_small_int(c_.to)) return integer(x);
    return c_.to == DType::kF8E8M0 ? power(x) : real(x);
  }
  bool equal(int a, int b) const {
    return a == b || (std::isnan(narrow_value(c_.to, a)) && std::isnan(narrow_value(c_.to, b)));
  }

 private:
  int integer(float x) const {  // half to even, then the low bits
    const int count = c_.to == DType::kU4 || c_.to == DType::kI4 ? 16 : 4;
    const double magnitude = std::fabs(static_cast<double>(x));
    if (!(magnitude > 0.5 && magnitude < 0x1p27)) return 0;  // above: a multiple of 16
    const double v = x, whole = v - std::remainder(v, 1.0), low = std::fmod(whole, count);
    return static_cast<int>(low < 0 ? low + count : low);
  }

  int power(float x) const {
    if (std::isnan(x)) return 0xFF;
    const double v = std::fabs(static_cast<double>(x));
    int code;
    if (v == 0) {
      code = -1;
    } else if (std::isinf(v)) {
      code = 255;
    } else {
      int e = 0;
      const double m = std::frexp(v, &e);  // v = 2m 2^(e - 1), 2m in [1, 2)
      code = e - 1 + 127;
      if (c_.round_mode == 0 ? m > 0.5 : c_.round_mode == 2 && m >= 0.75) ++code;
    }
    if (code < 0) return c_.saturate ? 0 : 0xFF;
    if (code > 254) return c_.saturate ? 254 : 0xFF;
    return code;
  }

  int real(float x) const {
    const bool four = c_.to == DType::kF4E2M1;
    const bool unsigned_zero = c_.to == DType::kF8E4M3FNUZ || c_.to == DType::kF8E5M2FNUZ;
    const int sign = std::signbit(x) ? (four ? 8 : 0x80) : 0;
    const int nan = unsigned_zero ? 0x80 : (c_.to == DType::kF8E5M2 ? 0x7E : 0x7F) | sign;
    if (std::isnan(x)) return four ? 8 : nan;
    const double v = std::fabs(static_cast<double>(x));
    if (v > from_ && v < to_) return near_ == 0 && unsigned_zero ? 0 : near_ | sign;
    const int last = static_cast<int>(values_.size()) - 1;
    // The value that would follow the last one, if the values went on.
    const double beyond =
        2 * values_[static_cast<size_t>(last)] - values_[static_cast<size_t>(last - 1)];
    int lo = 0, hi = last + 1;
    while (hi - lo > 1) {
      const int mid = (lo + hi) / 2;
      (values_[static_cast<size_t>(mid)] <= v ? lo : hi) = mid;
    }
    const double below = values_[static_cast<size_t>(lo)];
    const double above = lo == last ? beyond : values_[static_cast<size_t>(lo + 1)];
    const double middle = (below + above) / 2;
    const int code = v > middle || (v == middle && lo % 2 == 1) ? lo + 1 : lo;
    if (code > last) {
      if (c_.saturate || four) return last | sign;
      return c_.to == DType::kF8E5M2 ? 0x7C | sign : nan;
    }
    near_ = code;  // for the next floats of the same place
    to_ = code > lo ? above : middle;
    from_ = code > lo ? middle : below;
    return code == 0 && unsigned_zero ? 0 : code | sign;
  }

  NarrowCase c_;
  std::vector<double> values_;
  mutable int near_ = 0;
  mutable double from_ = 0, to_ = 0;  // between them everything goes to near_
};

}  // namespace wick::test
