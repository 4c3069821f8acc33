// tensor(): a tensor of numbers that stand in the program, or in a vector.
//
//   tensor({1., 2.})               float32, as PyTorch's default dtype is
//   tensor({{1, 2}, {3, 4}})       int64 [2, 2]; braces nest up to four levels
//   tensor({1., NAN, 2})           numbers of several types: float32, or int64 if none is a float
//   tensor({true, false})          bool
//   tensor(0.5), tensor(3)         0-dim, by the same rule
//   tensor({0.1, 0.2}, DType::kF64), or tensor<double>({0.1, 0.2})
//   tensor(std::vector<double>{1}) a vector's elements keep their type: float64
//
// double and int are the types that C++ gives to a number without a suffix, so that they say
// nothing about the dtype that is wanted. Every other type of number is kept (0.5f: float32,
// int8_t: int8).
#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "trainer/tensor/dims.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// The last argument of tensor(): a dtype, or nothing. It also holds the caller's line.
struct TensorAs {
  OptDType dtype;
  Where where;                                        // the caller's line
  TensorAs(Where w = Where::current()) : where(w) {}  // NOLINT: implicit by design
  TensorAs(DType t, Where w = Where::current())       // NOLINT: implicit by design
      : dtype(t), where(w) {}
};

// A number of any type, in a list that has several types.
struct Literal {
  double value;   // the number
  int64_t whole;  // the same as an integer
  DType dtype;    // bool, int64 or float32, by its category
  template <class T>
    requires std::is_arithmetic_v<T>
  Literal(T v)  // NOLINT: implicit by design
      : value(static_cast<double>(v)),
        whole(Scalar(v).int_value),
        dtype(std::is_same_v<T, bool> ? DType::kBool
              : std::is_integral_v<T> ? DType::kI64
                                      : DType::kF32) {}
};

namespace detail {

// A std::vector<bool> has no contiguous bytes, so bools are stored as unsigned char.
template <class T>
using Element = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

struct Deduced;
// The dtype of numbers of type U that stand in the program, where tensor<T>() may say another.
template <class T, class U>
constexpr DType literal_dtype() {
  if constexpr (!std::is_same_v<T, Deduced>) {
    return dtype_of<T>;
  } else {
    return std::is_same_v<U, double> ? DType::kF32
           : std::is_same_v<U, int>  ? DType::kI64
                                     : dtype_of<U>;
  }
}

// The sizes of nested braces: one number per level, that of its first list; -1: no such level.
struct Levels {
  int64_t size[4] = {-1, -1, -1, -1};
};
// Copies contiguous numbers of dtype `from`, each converted once.
Tensor literal(const void* data, DType from, const Levels& levels, DType dtype, const Where& where);
// The same for numbers of several types.
Tensor literal(const std::vector<Literal>& values, const Levels& levels, const TensorAs& as);
[[noreturn]] void ragged(const Where& where);

template <class T>
void gather(const T& v, int, Levels*, std::vector<Element<T>>* out, const Where&) {
  out->push_back(v);
}
template <class T, class L>
void gather(const std::initializer_list<L>& list, int depth, Levels* levels,
            std::vector<Element<T>>* out, const Where& where) {
  const auto n = static_cast<int64_t>(list.size());
  if (levels->size[depth] < 0) levels->size[depth] = n;
  if (levels->size[depth] != n) ragged(where);
  for (const L& each : list) gather<T>(each, depth + 1, levels, out, where);
}
template <class T, class U, class L>
Tensor from_lists(const L& lists, const TensorAs& as) {
  Levels levels;
  std::vector<Element<U>> values;
  gather<U>(lists, 0, &levels, &values, as.where);
  if constexpr (std::is_same_v<U, Literal>) {
    TensorAs typed = as;
    if constexpr (!std::is_same_v<T, Deduced>) typed.dtype = as.dtype.value_or(dtype_of<T>);
    return literal(values, levels, typed);
  } else {
    return literal(values.data(), dtype_of<U>, levels, as.dtype.value_or(literal_dtype<T, U>()),
                   as.where);
  }
}

template <class T>
using List = std::initializer_list<T>;

}  // namespace detail

// Make a tensor of nested braces, with one dim a level. Throw Error if lists of one level differ in
// length.
template <class T = detail::Deduced, class U>
  requires(!std::is_same_v<U, Dim>)
Tensor tensor(detail::List<U> values, TensorAs as = TensorAs()) {
  return detail::from_lists<T, U>(values, as);
}
// tensor<int64_t>({x.size(0) / 2}): sizes as numbers, which a capture refuses.
template <class T>
  requires(!std::is_same_v<T, detail::Deduced>)
Tensor tensor(detail::List<std::type_identity_t<T>> values, TensorAs as = TensorAs()) {
  return detail::from_lists<T, T>(values, as);
}
// The same with two levels and more. A list of numbers of several types is one of Literals.
template <class T = detail::Deduced, class U>
Tensor tensor(detail::List<detail::List<U>> values, TensorAs as = TensorAs()) {
  return detail::from_lists<T, U>(values, as);
}
template <class T = detail::Deduced, class U>
Tensor tensor(detail::List<detail::List<detail::List<U>>> values, TensorAs as = TensorAs()) {
  return detail::from_lists<T, U>(values, as);
}
template <class T = detail::Deduced, class U>
Tensor tensor(detail::List<detail::List<detail::List<detail::List<U>>>> values,
              TensorAs as = TensorAs()) {
  return detail::from_lists<T, U>(values, as);
}
template <class T = detail::Deduced>
Tensor tensor(detail::List<Literal> values, TensorAs as = TensorAs()) {
  return detail::from_lists<T, Literal>(values, as);
}
template <class T = detail::Deduced>
Tensor tensor(detail::List<detail::List<Literal>> values, TensorAs as = TensorAs()) {
  return detail::from_lists<T, Literal>(values, as);
}
// Makes a 0-dim tensor.
template <class T = detail::Deduced, class U>
  requires std::is_arithmetic_v<U>
Tensor tensor(U value, TensorAs as = TensorAs()) {
  return full({}, value, as.dtype.value_or(detail::literal_dtype<T, U>()), as.where);
}
// Copies a vector; the dtype is that of its elements unless another is given.
template <class T>
Tensor tensor(const std::vector<T>& values, TensorAs as = TensorAs()) {
  detail::Levels levels{{static_cast<int64_t>(values.size()), -1, -1, -1}};
  const DType dtype = as.dtype.value_or(dtype_of<T>);
  if constexpr (std::is_same_v<T, bool>) {
    const std::vector<detail::Element<T>> bytes(values.begin(), values.end());
    return detail::literal(bytes.data(), dtype_of<T>, levels, dtype, as.where);
  } else {
    return detail::literal(values.data(), dtype_of<T>, levels, dtype, as.where);
  }
}

// Makes sizes int64: tensor(x.size(1)), tensor({x.size(0), x.size(1)}). A capture follows them.
inline Tensor tensor(Dim size, Where where = Where::current()) {
  return full({}, size, DType::kI64, where);
}
inline Tensor tensor(std::initializer_list<Dim> sizes, Where where = Where::current()) {
  std::vector<int64_t> v;
  for (const Dim d : sizes) v.push_back(d.peek());
  return tensor(v, where);
}

}  // namespace wick
