// Sizes of tensors as values. While a forward is captured, a Dim knows what it was computed from,
// so that arithmetic and comparisons on sizes stay symbolic in the graph; otherwise it is a plain
// number.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "runtime/core/shape.h"

namespace wick {

class Dim;

namespace detail {
enum class SizeOp : uint8_t { kRead, kNumber, kAdd, kSub, kMul, kDiv, kMod, kMax, kMin };
enum class SizeCompare : uint8_t { kEqual, kLess, kLessEqual };
// These take Dims of which a capture follows at least one.
Dim dim_combine(SizeOp op, Dim a, Dim b);
bool dim_compare(SizeCompare how, Dim a, Dim b);
int64_t dim_escapes(Dim d);  // returns its number; from there on capture does not follow it

// An unsigned number beyond int64 is larger than every size.
template <std::integral T>
constexpr int64_t dim_number(T n) {
  if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(int64_t))
    return n > static_cast<T>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(n);
  else
    return static_cast<int64_t>(n);
}
}  // namespace detail

// The type of size(), numel() and the elements of shape(). It behaves like the int64_t that it
// converts to: + - * / % (division truncates), comparisons, std::min, std::max, std::clamp. A
// capture follows these: an op that uses the result depends on the size, and a comparison is
// examined over the whole range of the size. It does not follow what is computed after a conversion
// to a plain integer (or a double): capture then reconstructs the expression as far as possible,
// and limits the range of the size to the largest that was tried.
class Dim {
 public:
  constexpr Dim() = default;
  constexpr explicit Dim(int64_t n) : bits_(n) {}
  template <std::integral T>
  constexpr Dim& operator=(T n) {
    bits_ = detail::dim_number(n);
    return *this;
  }

  // NOLINTNEXTLINE(google-explicit-constructor): sizes are used as numbers
  operator int64_t() const { return followed() ? detail::dim_escapes(*this) : bits_; }
  explicit operator bool() const { return *this != Dim(0); }
  // Returns the number for uses that do not compute with it: the capture continues to follow it.
  constexpr int64_t peek() const { return followed() ? number_of(bits_) : bits_; }

  // A Dim of a capture has its number and the index of its expression in the capture; see SizeLog.
  static constexpr int kNumberBits = 38, kIdBits = 14, kTurnBits = 10;
  // Returns whether a number fits into a Dim that is followed.
  static constexpr bool fits(int64_t n) {
    return n >= -(int64_t{1} << (kNumberBits - 1)) && n < (int64_t{1} << (kNumberBits - 1));
  }
  // Makes a Dim of a capture: its number, and its expression's index and turn.
  static constexpr Dim make_followed(int64_t n, uint32_t id, uint32_t turn) {
    const uint64_t low = static_cast<uint64_t>(n) & ((uint64_t{1} << kNumberBits) - 1);
    return Dim(static_cast<int64_t>((uint64_t{2} << 62) |
                                    (uint64_t{turn} << (kNumberBits + kIdBits)) |
                                    (uint64_t{id} << kNumberBits) | low));
  }
  // Returns whether a capture follows it.
  constexpr bool followed() const { return (bits_ >> 62) == -2; }
  // Returns the index of its expression, of a Dim that is followed.
  constexpr uint32_t id() const {
    return static_cast<uint32_t>(bits_ >> kNumberBits) & ((1U << kIdBits) - 1);
  }
  // Returns which capture follows it, a number modulo 2^kTurnBits.
  constexpr uint32_t turn() const {
    return static_cast<uint32_t>(bits_ >> (kNumberBits + kIdBits)) & ((1U << kTurnBits) - 1);
  }

#define WICK_DIM_OP(symbol, name)                                           \
  friend Dim operator symbol(Dim a, Dim b) {                                \
    if (!a.followed() && !b.followed()) return Dim(a.bits_ symbol b.bits_); \
    return detail::dim_combine(detail::SizeOp::name, a, b);                 \
  }                                                                         \
  template <std::integral T>                                                \
  friend Dim operator symbol(Dim a, T b) {                                  \
    return a symbol Dim(detail::dim_number(b));                             \
  }                                                                         \
  template <std::integral T>                                                \
  friend Dim operator symbol(T a, Dim b) {                                  \
    return Dim(detail::dim_number(a)) symbol b;                             \
  }                                                                         \
  template <class T>                                                        \
    requires(std::integral<T> || std::same_as<T, Dim>)                      \
  Dim& operator symbol##=(T b) {                                            \
    return *this = *this symbol b;                                          \
  }
  // The arithmetic of int64, which a capture follows; a division by 0 is undefined, as with int64.
  WICK_DIM_OP(+, kAdd)
  WICK_DIM_OP(-, kSub)
  WICK_DIM_OP(*, kMul)
  WICK_DIM_OP(/, kDiv)
  WICK_DIM_OP(%, kMod)
#undef WICK_DIM_OP
  // Signs, and steps by 1, with the meaning of int64's.
  Dim operator-() const { return Dim(0) - *this; }
  Dim operator+() const { return *this; }
  Dim& operator++() { return *this += 1; }
  Dim& operator--() { return *this -= 1; }
  Dim operator++(int) {
    const Dim was = *this;
    *this += 1;
    return was;
  }
  Dim operator--(int) {
    const Dim was = *this;
    *this -= 1;
    return was;
  }

#define WICK_DIM_COMPARE(symbol, how, first, second, wanted)                         \
  friend bool operator symbol(Dim a, Dim b) {                                        \
    if (!a.followed() && !b.followed()) return a.bits_ symbol b.bits_;               \
    return detail::dim_compare(detail::SizeCompare::how, first, second) == (wanted); \
  }                                                                                  \
  template <std::integral T>                                                         \
  friend bool operator symbol(Dim a, T b) {                                          \
    return a symbol Dim(detail::dim_number(b));                                      \
  }                                                                                  \
  template <std::integral T>                                                         \
  friend bool operator symbol(T a, Dim b) {                                          \
    return Dim(detail::dim_number(a)) symbol b;                                      \
  }
  WICK_DIM_COMPARE(==, kEqual, a, b, true)
  WICK_DIM_COMPARE(!=, kEqual, a, b, false)
  WICK_DIM_COMPARE(<, kLess, a, b, true)
  WICK_DIM_COMPARE(>, kLess, b, a, true)
  WICK_DIM_COMPARE(<=, kLessEqual, a, b, true)
  WICK_DIM_COMPARE(>=, kLessEqual, b, a, true)
#undef WICK_DIM_COMPARE

 private:
  static constexpr int64_t number_of(int64_t bits) {
    return static_cast<int64_t>(static_cast<uint64_t>(bits) << (64 - kNumberBits)) >>
           (64 - kNumberBits);
  }

  int64_t bits_ = 0;
};
static_assert(sizeof(Dim) == sizeof(int64_t) && std::is_trivially_copyable_v<Dim>);

// An argument that is a size, an index or a count: an integer, or a Dim, which capture keeps
// following.
struct SizeArg {
  constexpr SizeArg() = default;
  // NOLINTBEGIN(google-explicit-constructor): implicit by design
  template <std::integral T>
  constexpr SizeArg(T n) : number(static_cast<int64_t>(n)) {}
  constexpr SizeArg(Dim d) : number(d.peek()) {}
  constexpr operator int64_t() const { return number; }
  // NOLINTEND(google-explicit-constructor)

  // The size as a number.
  int64_t number = 0;
};

// The shape of a tensor, as returned by shape().
class DimShape : public BasicShape<Dim> {
 public:
  constexpr DimShape() = default;
  constexpr DimShape(std::initializer_list<Dim> dims) : BasicShape<Dim>(dims) {}
  explicit DimShape(const Shape& shape) {
    for (int64_t d : shape) push_back(Dim(d));
  }
  // NOLINTNEXTLINE(google-explicit-constructor): plain numbers again
  operator Shape() const {
    Shape s;
    for (const Dim d : *this) s.push_back(d);
    return s;
  }
  friend bool operator==(const DimShape& a, const DimShape& b) {
    if (a.rank() != b.rank()) return false;
    for (int i = 0; i < a.rank(); ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  friend bool operator==(const DimShape& a, const Shape& b) { return a == DimShape(b); }
};

// Returns a shape's sizes as plain Dims without a copy, so that x.shape().begin() and
// x.shape().end() belong to the same object.
static_assert(sizeof(DimShape) == sizeof(Shape) && alignof(DimShape) == alignof(Shape));
inline const DimShape& as_dims(const Shape& shape) {
  return reinterpret_cast<const DimShape&>(shape);
}

// Sizes passed to a function: {x.size(0), -1}, one number, a Shape, or the result of shape().
struct SizeList : Shape {
  constexpr SizeList() = default;
  constexpr SizeList(std::initializer_list<SizeArg> sizes) {
    for (const SizeArg& s : sizes) push_back(s.number);
  }
  // NOLINTBEGIN(google-explicit-constructor): implicit by design
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr SizeList(T size) : SizeList({SizeArg(size)}) {}
  constexpr SizeList(Dim size) : SizeList({SizeArg(size)}) {}
  constexpr SizeList(const Shape& shape) : Shape(shape) {}
  constexpr SizeList(const DimShape& sizes) {
    for (const Dim d : sizes) push_back(d.peek());
  }
  // NOLINTEND(google-explicit-constructor)
};

// Returns the product of the sizes: the number of elements.
inline Dim numel(const DimShape& sizes) {
  Dim n(1);
  for (const Dim d : sizes) n *= d;
  return n;
}

}  // namespace wick

namespace wick::detail {
inline Dim dim_larger(Dim a, Dim b) {
  if (!a.followed() && !b.followed()) return a.peek() < b.peek() ? b : a;
  return dim_combine(SizeOp::kMax, a, b);
}
inline Dim dim_smaller(Dim a, Dim b) {
  if (!a.followed() && !b.followed()) return b.peek() < a.peek() ? b : a;
  return dim_combine(SizeOp::kMin, a, b);
}
template <class T>
concept DimOrInt = std::integral<T> || std::same_as<T, Dim>;
constexpr Dim as_dim(Dim d) { return d; }
template <std::integral T>
constexpr Dim as_dim(T n) {
  return Dim(dim_number(n));
}
}  // namespace wick::detail

// Overloads for code that is written for integers: std::max(x.size(0), int64_t{1}),
// std::sqrt(x.size(-1)). The standard library's templates need the same type for both arguments, or
// have no overload for a class.
namespace std {  // NOLINT(cert-dcl58-cpp): overloads for a type of our own
inline wick::Dim max(const wick::Dim& a, const wick::Dim& b) {
  return wick::detail::dim_larger(a, b);
}
inline wick::Dim min(const wick::Dim& a, const wick::Dim& b) {
  return wick::detail::dim_smaller(a, b);
}
template <integral T>
wick::Dim max(const wick::Dim& a, const T& b) {
  return max(a, wick::detail::as_dim(b));
}
template <integral T>
wick::Dim max(const T& a, const wick::Dim& b) {
  return max(wick::detail::as_dim(a), b);
}
template <integral T>
wick::Dim min(const wick::Dim& a, const T& b) {
  return min(a, wick::detail::as_dim(b));
}
template <integral T>
wick::Dim min(const T& a, const wick::Dim& b) {
  return min(wick::detail::as_dim(a), b);
}
inline wick::Dim clamp(const wick::Dim& d, const wick::Dim& low, const wick::Dim& high) {
  return min(max(d, low), high);
}
template <wick::detail::DimOrInt A, wick::detail::DimOrInt B>
wick::Dim clamp(const wick::Dim& d, const A& low, const B& high) {
  return min(max(d, wick::detail::as_dim(low)), wick::detail::as_dim(high));
}
#define WICK_DIM_FUNCTION(name) \
  inline double name(wick::Dim d) { return name(static_cast<double>(static_cast<int64_t>(d))); }
WICK_DIM_FUNCTION(sqrt)
WICK_DIM_FUNCTION(cbrt)
WICK_DIM_FUNCTION(exp)
WICK_DIM_FUNCTION(exp2)
WICK_DIM_FUNCTION(log)
WICK_DIM_FUNCTION(log2)
WICK_DIM_FUNCTION(log10)
WICK_DIM_FUNCTION(sin)
WICK_DIM_FUNCTION(cos)
WICK_DIM_FUNCTION(tan)
WICK_DIM_FUNCTION(tanh)
WICK_DIM_FUNCTION(floor)
WICK_DIM_FUNCTION(ceil)
WICK_DIM_FUNCTION(round)
#undef WICK_DIM_FUNCTION
template <class T>
  requires std::is_arithmetic_v<T>
double pow(wick::Dim d, T to) {
  return pow(static_cast<double>(static_cast<int64_t>(d)), static_cast<double>(to));
}
template <class T>
  requires std::is_arithmetic_v<T>
double pow(T base, wick::Dim to) {
  return pow(static_cast<double>(base), static_cast<double>(static_cast<int64_t>(to)));
}
}  // namespace std
