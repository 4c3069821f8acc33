// Shared by the reference kernels with indices. Indices may be negative (counted from the end); an
// index out of range is an error, which is detected before anything is written.
#pragma once

#include "runtime/core/int_at.h"
#include "runtime/core/int_math.h"
#include "runtime/core/stop.h"
#include "runtime/core/string_ref.h"
#include "runtime/kernels/reference/exact.h"
#include "runtime/kernels/reference/rows.h"

namespace wick::reference {

template <DType T>
bool match_dtype(const KernelQuery& q) {
  return q.in[0].dtype == T;
}

// Matches ops that move elements of whole bytes.
inline bool match_move(const KernelQuery& q) {
  size_t size = dtype_size(q.in[0].dtype);
  return (size & (size - 1)) == 0 && size != 0 && size <= 16;
}
inline bool is_complex(DType t) { return t == DType::kC64 || t == DType::kC128; }

inline Status check_index(int64_t at, int axis, int64_t extent) {
  if (at >= -extent && at < extent) return {};
  return error(Code::kInvalidArgument,
               "index %lld is out of bounds for dimension %d with size %lld",
               static_cast<long long>(at), axis, static_cast<long long>(extent));
}

// Also returns ok where the run was ended meanwhile: callers check stopped().
inline Status check_indices(const TensorView& indices, int axis, int64_t extent) {
  Poll poll;
  const int64_t n = indices.numel();
  const auto low = static_cast<uint64_t>(extent), reach = 2 * low - 1;
  uint64_t signs = 0;  // the highest bit: an index lies before or behind the range
  each_ints(poll, indices, 0, n, [&](int64_t begin, int64_t end, const int64_t* p) {
    uint64_t any = 0;
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t place = static_cast<uint64_t>(p[i - begin]) + low;
      any |= place | (reach - place);
    }
    signs |= any;
  });
  if (static_cast<int64_t>(signs) >= 0) return {};
  for (int64_t i = 0; i < n; ++i) WICK_TRY(check_index(int_at(indices, i), axis, extent));
  return {};
}

// Integers wrap, as everywhere.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                    std::make_unsigned<T>, std::type_identity<Compute<T>>>::type;
template <class T>
T wrapping_add(T a, T b) {
  using W = Wrapping<T>;
  return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
}
template <class T>
T wrapping_mul(T a, T b) {
  // computes in one unsigned type of at least 32 bits: 16-bit operands would multiply as int
  using W = Wrapping<T>;
  if constexpr (std::is_integral_v<W> && sizeof(W) < 4)
    return static_cast<T>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
  else
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
}

// NaN propagates and +0 > -0, as everywhere in max and min. For bools: or, and.
template <class T>
T combine(T old_value, T new_value, ScatterReduction how) {
  auto old = static_cast<Compute<T>>(old_value), update = static_cast<Compute<T>>(new_value);
  bool negative = __builtin_signbit(static_cast<double>(update));
  switch (how) {
    case ScatterReduction::kNone: break;
    case ScatterReduction::kAdd: return wrapping_add(old_value, new_value);
    case ScatterReduction::kMul: return wrapping_mul(old_value, new_value);
    case ScatterReduction::kMax:
      if (old != old) return old_value;
      return update != update || update > old || (update == old && !negative) ? new_value
                                                                              : old_value;
    case ScatterReduction::kMin:
      if (old != old) return old_value;
      return update != update || update < old || (update == old && negative) ? new_value
                                                                             : old_value;
  }
  return new_value;
}

// Matches scatters of dtypes without arithmetic: updates are moved, without a reduction.
template <class A>
bool match_scatter_move(const KernelQuery& q) {
  const DType t = q.in[0].dtype;
  return q.as<A>().reduction == 0 && match_move(q) &&
         (t == DType::kString || is_complex(t) || is_small_float(t));
}

// A total order for every dtype: -0 < +0, and NaN above all.
template <class T>
bool sorts_before(T a_value, T b_value) {
  auto a = static_cast<Compute<T>>(a_value), b = static_cast<Compute<T>>(b_value);
  if (a != a || b != b) return a == a && b != b;
  return a < b || (a == b && __builtin_signbit(static_cast<double>(a)) >
                                 __builtin_signbit(static_cast<double>(b)));
}
inline bool sorts_before(const StringRef& a, const StringRef& b) { return a < b; }

// Ordered by the real part, then by the imaginary part.
template <class F>
struct Complex {
  F re, im;
  bool operator==(const Complex& o) const { return re == o.re && im == o.im; }
};
template <class F>
bool sorts_before(Complex<F> a, Complex<F> b) {
  if (sorts_before(a.re, b.re)) return true;
  return !sorts_before(b.re, a.re) && sorts_before(a.im, b.im);
}

}  // namespace wick::reference
