// Shape: up to 8 dimensions, stored inline. It is a BasicShape<Dim>, so that one shape rule serves
// int64 (runtime, trainer) and symbolic dimensions (graph).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "runtime/core/span.h"
#include "runtime/core/status.h"

namespace wick {

#if WICK_SMALL  // each dim costs 16 bytes per view; files that need more are refused
constexpr int kMaxRank = 5;
#else
constexpr int kMaxRank = 8;  // dims of a tensor
#endif

// The sizes of a tensor's dimensions, at most kMaxRank of them, stored inline.
template <class Dim>
class BasicShape {
 public:
  constexpr BasicShape() = default;
  constexpr BasicShape(std::initializer_list<Dim> dims) {
    for (const Dim& d : dims) push_back(d);
  }
  constexpr explicit BasicShape(Span<const Dim> dims) {
    for (const Dim& d : dims) push_back(d);
  }
  // Returns the number of dimensions.
  constexpr int rank() const { return rank_; }
  // The caller has checked rank <= kMaxRank; further dims are dropped.
  constexpr void set_rank(int rank) { rank_ = rank > kMaxRank ? kMaxRank : rank; }
  constexpr void push_back(Dim d) {
    if (rank_ < kMaxRank)
      dims_[rank_++] = d;
    else
      overflowed_ = true;
  }
  // Returns whether more dims were given than a shape holds. checked_bytes() refuses such a shape.
  constexpr bool overflowed() const { return overflowed_; }
  constexpr Dim& operator[](int i) { return dims_[i]; }
  constexpr const Dim& operator[](int i) const { return dims_[i]; }
  constexpr const Dim* begin() const { return dims_; }
  constexpr const Dim* end() const { return dims_ + rank_; }
  // Returns all sizes.
  constexpr Span<const Dim> dims() const { return {dims_, static_cast<size_t>(rank_)}; }
  friend constexpr bool operator==(const BasicShape& a, const BasicShape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (!(a.dims_[i] == b.dims_[i])) return false;
    }
    return true;
  }

 private:
  Dim dims_[kMaxRank] = {};
  int rank_ = 0;
  bool overflowed_ = false;
};

// Sizes in elements.
using Shape = BasicShape<int64_t>;
using Strides = BasicShape<int64_t>;  // in elements

// Multiplies without overflow: the dims of a caller's own view may be anything until they are
// checked.
constexpr int64_t saturated_product(int64_t a, int64_t b) {
  int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

// Returns the number of elements, 1 for rank 0. Dims are >= 0, and checked_bytes() has checked that
// the product fits.
constexpr int64_t numel(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n = saturated_product(n, d);
  return n;
}

// Returns the strides of a row-major tensor without gaps.
constexpr Strides contiguous_strides(const Shape& s) {
  Strides st;
  st.set_rank(s.rank());
  int64_t step = 1;
  for (int i = s.rank() - 1; i >= 0; --i) {
    st[i] = step;
    step = saturated_product(step, s[i] > 0 ? s[i] : 1);
  }
  return st;
}

// Returns the bytes of a contiguous tensor of `bits` per element; fails on a negative dim or when
// the size exceeds 2^62.
Result<size_t> checked_bytes(const Shape& shape, int bits);

// Formats a shape as "[2,3]" into a fixed buffer, for messages.
struct ShapeText {
  char text[176];  // with a final 0
};
// Formats the shape.
ShapeText to_text(const Shape& shape);

}  // namespace wick
