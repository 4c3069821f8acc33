// Statistics of a tensor's numbers: the range of the finite ones, and how many are not finite. Not
// public.
#pragma once

#include <string>
#include <string_view>

#include "runtime/core/tensor_view.h"

namespace wick {

struct ValueRange {
  double min = 0, max = 0;  // of the finite values; meaningless if there are none
  int64_t count = 0, finite = 0, nan = 0, positive_inf = 0, negative_inf = 0;
  int64_t first_bad = -1;  // row-major index of the first NaN or inf
  double first_bad_value = 0;

  bool all_finite() const { return finite == count; }
  // Returns "in [-1, 3.5]", "2 nan and 1 inf of 6, the rest in [0, 1]", or "empty".
  std::string text() const;
};

// Reads every element, with any strides. Integers and bools are always finite.
ValueRange range_of(const TensorView& v);
// Returns one element as a double. `at` is an offset in elements from v.data.
double element(const TensorView& v, int64_t at);
// Returns a row-major index as a position in a tensor of this shape: "[0,2]".
std::string position_text(const Shape& shape, int64_t index);
std::string number_text(double value);       // "%.4g"
std::string bytes_text(uint64_t bytes);      // "412 MiB", "1.5 KiB", "24 bytes"
std::string type_text(const TensorView& v);  // "f32[2,3]"

// Concatenates the pieces. (Chains of + that begin with a literal cause false -Wrestrict alarms in
// GCC 12.)
template <class... P>
std::string joined(const P&... pieces) {
  std::string text;
  ((text += std::string_view(pieces)), ...);
  return text;
}

// Calls f(element, row-major index) for every element, last dimension fastest.
template <class F>
void for_each_element(const TensorView& v, const F& f) {
  const int64_t n = v.numel();
  int64_t index[kMaxRank] = {};
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    f(element(v, at), i);
    for (int d = v.rank() - 1; d >= 0; --d) {
      at += v.strides[d];
      if (++index[d] < v.shape[d]) break;
      at -= v.strides[d] * v.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace wick
