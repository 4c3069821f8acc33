// Converts tensors to C++: nested lists, numbers, rows.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

namespace detail {
template <class T, int Rank>
struct NestedList {
  using Type = std::vector<typename NestedList<T, Rank - 1>::Type>;
};
template <class T>
struct NestedList<T, 0> {
  using Type = T;
};
template <class T, int Rank>
typename NestedList<T, Rank>::Type nest(const T*& p, const Shape& shape, int dim) {
  if constexpr (Rank == 0) {
    return *p++;
  } else {
    typename NestedList<T, Rank>::Type list;
    for (int64_t i = 0; i < shape[dim]; ++i) list.push_back(nest<T, Rank - 1>(p, shape, dim + 1));
    return list;
  }
}
}  // namespace detail

// tolist<float, 2>(x) returns a vector of rows. T must be x's dtype, and Rank its rank; bools are
// uint8_t.
template <class T, int Rank>
typename detail::NestedList<T, Rank>::Type tolist(const Arg& x) {
  if (x.tensor.rank() != Rank) {
    throw_error("tolist",
                "the tensor has rank " + std::to_string(x.tensor.rank()) + ", the list " +
                    std::to_string(Rank),
                x.where, Code::kShapeMismatch);
  }
  Tensor own = x.tensor.detach();
  if (own.dtype() == DType::kBool) own = own.to(DType::kU8, x.where);
  std::vector<T> flat = own.to_vector<T>(x.where);
  const T* p = flat.data();
  return detail::nest<T, Rank>(p, x.tensor.raw_shape(), 0);
}

// Returns the size of the first dimension; throws Error for a 0-dim tensor.
int64_t len(const Arg& x);

// for (Tensor row : x) iterates over views along the first dimension.
class RowIterator {
 public:
  RowIterator(Tensor of, int64_t at) : of_(std::move(of)), at_(at) {}
  Tensor operator*() const { return of_.select(0, at_); }
  RowIterator& operator++() {
    ++at_;
    return *this;
  }
  bool operator!=(const RowIterator& o) const { return at_ != o.at_; }

 private:
  Tensor of_;
  int64_t at_;
};
// Begin and end of for (Tensor row : t): the slices of dimension 0.
inline RowIterator begin(const Tensor& t) { return {t, 0}; }
inline RowIterator end(const Tensor& t) { return {t, len(t)}; }

}  // namespace wick
