// The broadcasting texts that warnings and the broadcast check share; not public.
#pragma once

#include <string>

#include "runtime/core/shape.h"

namespace wick {

inline constexpr const char* kBroadcastRule =
    "(Rule: shapes are aligned at their last dimension; a missing or 1-sized dimension is "
    "repeated.)";

// Sets the broadcast shape; returns false if the shapes do not broadcast.
inline bool broadcast_shape(const Shape& a, const Shape& b, Shape* result) {
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  Shape r;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) return false;
    r.push_back(da == 1 ? db : da);
  }
  *result = r;
  return true;
}

// Returns a shape as it is written in C++: "{8, 1}".
inline std::string braces(const Shape& s) {
  std::string text = "{";
  for (int i = 0; i < s.rank(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(s[i]);
  }
  return text + "}";
}

}  // namespace wick
