// Converts the small types (8- and 4-bit floats, 4- and 2-bit integers) to and from the type that
// holds their values.
#include <cmath>

#include "runtime/core/narrow.h"
#include "runtime/kernels/reference/widest.h"

namespace wick::reference {
namespace {

template <DType T>
void widen(const void* from, int64_t first, int64_t step, int64_t n, WidestBlock* to) {
  for (int64_t i = 0; i < n; ++i) {
    const float v = narrow_at(T, from, first + i * step);
    if constexpr (is_small_int(T)) {
      to->as<int64_t>()[i] = static_cast<int64_t>(v);
    } else {
      to->as<double>()[i] = v;
    }
  }
}

// Integers keep their low bits; reals are rounded first, half to even.
uint8_t low_bits(Widen::Kind kind, const WidestBlock& from, int64_t i) {
  if (kind != Widen::Kind::kReal) return static_cast<uint8_t>(from.as<int64_t>()[i]);
  const double v = std::nearbyint(from.as<double>()[i]);
  if (!(std::fabs(v) < 0x1p62)) return 0;  // NaN, or a multiple of 16
  return static_cast<uint8_t>(static_cast<int64_t>(v));
}
double real(Widen::Kind kind, const WidestBlock& from, int64_t i) {
  switch (kind) {
    case Widen::Kind::kReal: return from.as<double>()[i];
    case Widen::Kind::kSigned: return static_cast<double>(from.as<int64_t>()[i]);
    case Widen::Kind::kUnsigned: return static_cast<double>(from.as<uint64_t>()[i]);
  }
  return 0;
}

template <DType T>
void narrow(const WidestBlock& from, Widen::Kind kind, int64_t n, void* to, int64_t first,
            const CastAttrs& a) {
  constexpr int kBits = dtype_bits(T);
  for (int64_t i = 0; i < n; ++i) {
    uint8_t v;
    if constexpr (is_small_int(T)) {
      v = low_bits(kind, from, i);
    } else if constexpr (T == DType::kF8E8M0) {
      v = double_to_e8m0(real(kind, from, i), a.saturate != 0, a.round_mode);
    } else {
      // A float64 beyond the range of float32 becomes a finite float, so it saturates correctly.
      v = float_to_narrow(T, to_float_odd(real(kind, from, i)), a.saturate != 0);
    }
    if constexpr (kBits == 8) {
      static_cast<uint8_t*>(to)[first + i] = v;
    } else {
      const int64_t at = first + i;
      if (at % (8 / kBits) == 0) static_cast<uint8_t*>(to)[at * kBits / 8] = 0;
      set_packed(to, kBits, at, v);
    }
  }
}

template <DType T>
void narrow_floats(const float* from, int64_t step, int64_t n, uint8_t* to, const CastAttrs& a) {
  const bool saturate = a.saturate != 0;
  for (int64_t i = 0; i < n; ++i) to[i] = float_to_narrow(T, from[i * step], saturate);
}

}  // namespace

#define WICK_SMALL_TYPES(X) \
  X(F8E4M3FN) X(F8E4M3FNUZ) X(F8E5M2) X(F8E5M2FNUZ) X(F8E8M0) X(F4E2M1) X(U4) X(I4) X(U2) X(I2)

Widen find_widen_small(DType from) {
  const Widen::Kind kind = is_small_int(from) ? Widen::Kind::kSigned : Widen::Kind::kReal;
  switch (from) {
#define X(name) \
  case DType::k##name: return {widen<DType::k##name>, kind};
    WICK_SMALL_TYPES(X)
#undef X
    default: return {};
  }
}

NarrowSmall find_narrow_small(DType to) {
  switch (to) {
#define X(name) \
  case DType::k##name: return narrow<DType::k##name>;
    WICK_SMALL_TYPES(X)
#undef X
    default: return nullptr;
  }
}

NarrowFloats find_narrow_floats(DType from, DType to) {
  if (from != DType::kF32) return nullptr;
  switch (to) {
    case DType::kF8E4M3FN: return narrow_floats<DType::kF8E4M3FN>;
    case DType::kF8E4M3FNUZ: return narrow_floats<DType::kF8E4M3FNUZ>;
    case DType::kF8E5M2: return narrow_floats<DType::kF8E5M2>;
    case DType::kF8E5M2FNUZ: return narrow_floats<DType::kF8E5M2FNUZ>;
    default: return nullptr;
  }
}

}  // namespace wick::reference
