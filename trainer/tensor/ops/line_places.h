// The places of elements of each line of a tensor, found by a loop over the line instead of by ops
// over all of it, where these need not be visible; not public.
#pragma once

#include "trainer/tensor/lines.h"

namespace wick::detail {

// Returns whether the loops below may be used: nothing captures, records or watches, and they know
// the dtype.
bool walks(const Line& line);

// Returns the largest (or smallest) of the elements up to each one, and its place, which is that of
// the last of equals; a NaN, and the last of several, is above all.
ValuesIndices running_extremes(const Line& line, bool largest);

// Returns the place of one element of each line in their order (-0 < +0, NaN above all, equals by
// place), along a dim of size 1.
enum class Rank : uint8_t {
  kMedian,     // the lower middle, or the first NaN
  kNanMedian,  // the lower middle of those that are no NaN; the first NaN where there are no others
  kGiven,      // element `rank`
};
Tensor ranked_places(const Line& line, Rank which, int64_t rank = 0);

}  // namespace wick::detail
