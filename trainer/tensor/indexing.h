// Indexing, named as in libtorch:
//
//   using namespace wick::indexing;
//   x.index({0, Slice(1, None, 2), Ellipsis, None})   views, as long as there are no tensors
//   x.index({rows, Slice(), mask})                    copies; int64, int32, uint8 and bool tensors
//   x[3], x[{3, Slice()}]                             the same, short
//   x.index_put_({rows}, values, /*accumulate=*/true)
//   x.at({Slice(), 0}) += 1;   x[3] = y;   x.at({mask}) = 0;   writes, recorded by autograd
//
// The dims of broadcast index tensors are placed where the tensors are if these are adjacent,
// otherwise first (the rule of PyTorch and numpy). Steps must be positive: flip() reverses.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

namespace indexing {

// [start, stop) with a step; None is the end on that side, negative numbers count from the end.
struct Slice {
  std::optional<SizeArg> start, stop, step;
  // NOLINTNEXTLINE(google-explicit-constructor): a number alone is a start
  Slice(std::optional<SizeArg> first = {}, std::optional<SizeArg> last = {},
        std::optional<SizeArg> by = {})
      : start(first), stop(last), step(by) {}
};
// NOLINTBEGIN(readability-identifier-naming): Python's names
inline constexpr std::nullopt_t None = std::nullopt;  // a new dimension of size 1; an open end
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};  // all dimensions that are not listed; the same as "..."
// NOLINTEND(readability-identifier-naming)

}  // namespace indexing

// One entry of an index.
struct TensorIndex {
  // An entry is a number, start:end:step, ..., None, a bool, or a tensor of indices or bools.
  enum class Kind : uint8_t { kInt, kSlice, kEllipsis, kNone, kBool, kTensor };

  // NOLINTBEGIN(google-explicit-constructor): implicit by design
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  TensorIndex(T i, Where w = Where::current())
      : kind(Kind::kInt), number(static_cast<int64_t>(i)), where(w) {}
  TensorIndex(Dim i, Where w = Where::current()) : kind(Kind::kInt), number(i.peek()), where(w) {}
  template <std::same_as<bool> T>
  TensorIndex(T b, Where w = Where::current()) : kind(Kind::kBool), number(b ? 1 : 0), where(w) {}
  TensorIndex(indexing::Slice s, Where w = Where::current())
      : kind(Kind::kSlice), slice(s), where(w) {}
  TensorIndex(indexing::EllipsisType /*unused*/, Where w = Where::current())
      : kind(Kind::kEllipsis), where(w) {}
  TensorIndex(const char* text, Where w = Where::current());  // "..."
  TensorIndex(std::nullopt_t /*unused*/, Where w = Where::current())
      : kind(Kind::kNone), where(w) {}
  TensorIndex(const Tensor& t, Where w = Where::current())
      : kind(Kind::kTensor), tensor(t), where(w) {}
  // NOLINTEND(google-explicit-constructor)

  // Which kind of entry it is, and its value: `number` for kInt and kBool, `slice` or `tensor`.
  // `where`: the caller's line, for errors.
  Kind kind;
  int64_t number = 0;
  indexing::Slice slice;
  Tensor tensor;
  Where where;
};

// The entries of an index, from the first dimension on.
using Indices = std::vector<TensorIndex>;

// Returns x with the elements at an index replaced by value, or with `accumulate` incremented by
// it. value broadcasts to the shape of index() and is converted to x's dtype. For duplicate indices
// all values are added, or the last one is used and its gradient goes to each of them, as in
// PyTorch.
Tensor index_put(const Arg& x, const Indices& at, const Arg& value, bool accumulate = false);

// A place in a tensor: reading it copies or views the elements, assigning writes to the tensor for
// any index.
class IndexPlace {
 public:
  IndexPlace(const Tensor& base, Indices at, Where where)
      : base_(base), at_(std::move(at)), where_(where) {}
  IndexPlace(const IndexPlace&) = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a place is used as the tensor there
  operator Tensor() const { return get(); }
  // Returns the elements at the place: a view if there is no index tensor, else a copy.
  Tensor get() const { return base_.index(at_, where_); }

  // NOLINTBEGIN(misc-unconventional-assign-operator): a write through is no copy of the place
  void operator=(const Arg& value) const;
  void operator=(const Tensor& value) const { *this = Arg(value, where_); }
  void operator=(const IndexPlace& value) const { *this = Arg(value.get(), where_); }
  void operator=(Scalar value) const;
  void operator=(std::initializer_list<double> values) const;
  // NOLINTEND(misc-unconventional-assign-operator)
  // Change the elements at the place by an operation with value, which broadcasts to their shape.
  void operator+=(const Arg& value) const;
  void operator-=(const Arg& value) const;
  void operator*=(const Arg& value) const;
  void operator/=(const Arg& value) const;
  void operator+=(Scalar value) const;
  void operator-=(Scalar value) const;
  void operator*=(Scalar value) const;
  void operator/=(Scalar value) const;

 private:
  template <class F>
  void update(F&& f) const;

  Tensor base_;
  Indices at_;
  Where where_;
};

// The result of x[...]: the tensor at the index; `x[...] = value` writes to x.
class IndexedTensor : public Tensor {
 public:
  IndexedTensor(const Tensor& value, const IndexPlace& place) : Tensor(value), place_(place) {}
  IndexedTensor(const IndexedTensor&) = default;
  // NOLINTBEGIN(misc-unconventional-assign-operator): a write through is no copy of the handle
  void operator=(const Arg& value) && { place_ = value; }
  void operator=(const Tensor& value) && { place_ = value; }
  void operator=(const IndexedTensor& value) && { place_ = static_cast<const Tensor&>(value); }
  void operator=(Scalar value) && { place_ = value; }
  void operator=(std::initializer_list<double> values) && { place_ = values; }
  // NOLINTEND(misc-unconventional-assign-operator)
  // Change the elements at the place by an operation with value, which broadcasts to their shape.
  void operator+=(const Arg& value) && { place_ += value; }
  void operator-=(const Arg& value) && { place_ -= value; }
  void operator*=(const Arg& value) && { place_ *= value; }
  void operator/=(const Arg& value) && { place_ /= value; }
  void operator+=(Scalar value) && { place_ += value; }
  void operator-=(Scalar value) && { place_ -= value; }
  void operator*=(Scalar value) && { place_ *= value; }
  void operator/=(Scalar value) && { place_ /= value; }

 private:
  IndexPlace place_;
};

}  // namespace wick
