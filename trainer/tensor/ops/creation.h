// Functions that make tensors, in addition to zeros, ones, full and arange of tensor.h.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- nested braces up to four levels, one number, bools: tensor({{{1., 2.}}}), tensor(3),
// tensor({true})
namespace detail {
// The sizes of nested braces: one number per level, that of its first list.
struct Levels {
  int64_t size[4] = {-1, -1, -1, -1};
  int used = 0;
};
Tensor nested(const void* data, const Levels& levels, DType dtype, const Where& where);
[[noreturn]] void ragged(const Where& where);

template <class T>
void gather(T v, int, Levels*, std::vector<T>* out, const Where&) {
  out->push_back(v);
}
template <class T, class L>
void gather(const std::initializer_list<L>& list, int depth, Levels* levels, std::vector<T>* out,
            const Where& where) {
  const auto n = static_cast<int64_t>(list.size());
  if (levels->size[depth] < 0) levels->size[depth] = n;
  if (levels->size[depth] != n) ragged(where);
  for (const L& each : list) gather<T>(each, depth + 1, levels, out, where);
}
template <class T, class L>
Tensor from_lists(const L& lists, int rank, const Where& where) {
  Levels levels;
  levels.used = rank;
  std::vector<T> values;
  gather<T>(lists, 0, &levels, &values, where);
  return nested(values.data(), levels, dtype_of<T>, where);
}
template <class T>
using Lists3 = std::initializer_list<std::initializer_list<std::initializer_list<T>>>;
}  // namespace detail

// Make a tensor of nested braces, three or four levels deep, with the dtype of T. Throw Error if
// lists of one level differ in length.
template <class T>
Tensor tensor(detail::Lists3<T> values, Where where = Where::current()) {
  return detail::from_lists<T>(values, 3, where);
}
template <class T>
Tensor tensor(std::initializer_list<detail::Lists3<T>> values, Where where = Where::current()) {
  return detail::from_lists<T>(values, 4, where);
}
// Makes bools.
Tensor tensor(std::initializer_list<bool> values, Where where = Where::current());
// Makes a 0-dim tensor of the number's dtype.
template <class T>
  requires std::is_arithmetic_v<T>
Tensor tensor(T value, Where where = Where::current()) {
  return full({}, value, dtype_of<T>, where);
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
// Makes a 0-dim tensor of that dtype.
Tensor scalar_tensor(Scalar value, DType dtype = DType::kF32, Where where = Where::current());

// -- like another tensor: its shape and device, but with another dtype.
// t's shape and device, and this dtype.
Tensor zeros_like(const Arg& t, DType dtype);
Tensor ones_like(const Arg& t, DType dtype);
Tensor empty_like(const Arg& t, DType dtype);
Tensor full_like(const Arg& t, Scalar value, DType dtype);

// -- ranges. If one argument is a float, the result is float32: arange(1, 5, .5)
// start, start + step ... below end. Throws Error for a step of 0 or of the wrong sign.
Tensor arange_float(double start, double end, double step, DType dtype, const Where& where);
template <class A, class B, class C = int>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && std::is_arithmetic_v<C> &&
           (std::is_floating_point_v<A> || std::is_floating_point_v<B> ||
            std::is_floating_point_v<C>))
Tensor arange(A start, B end, C step = 1, DType dtype = DType::kF32,
              Where where = Where::current()) {
  return arange_float(static_cast<double>(start), static_cast<double>(end),
                      static_cast<double>(step), dtype, where);
}
// Returns `steps` numbers from start to end, both included; for one step only start.
Tensor linspace(double start, double end, SizeArg steps, DType dtype = DType::kF32,
                Where where = Where::current());
// Returns base to the power of these numbers.
Tensor logspace(double start, double end, SizeArg steps, double base = 10,
                DType dtype = DType::kF32, Where where = Where::current());

// -- matrices
// n rows and m columns (n for identity) of zeros, with ones on the main diagonal.
Tensor eye(SizeArg n, SizeArg m, DType dtype = DType::kF32, Where where = Where::current());
Tensor identity(SizeArg n, DType dtype = DType::kF32, Where where = Where::current());
// Returns ones on and below diagonal k.
Tensor tri(SizeArg n, SizeArg m, SizeArg k = 0, DType dtype = DType::kF32,
           Where where = Where::current());

}  // namespace wick
