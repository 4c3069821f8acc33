// The stable sort of positions for the ops that sort. Unlike the standard library's sorts it can
// end early when the run is stopped.
#pragma once

#include <cstdint>
#include <cstring>

#include "runtime/core/stop.h"

namespace wick::reference {

// Sorts n positions in `at`, using `room` of the same size; before(a, b): position a must come
// before b. If `poll` ends it, the positions are in no order, and some are there twice.
template <class Before>
void merge_sort(int64_t* at, int64_t* room, int64_t n, Poll& poll, Before&& before) {
  constexpr int64_t kRun = 16;
  for (int64_t first = 0; first < n; first += kRun) {
    if (poll(4 * kRun)) return;
    int64_t end = first + kRun < n ? first + kRun : n;
    for (int64_t i = first + 1; i < end; ++i) {
      int64_t moved = at[i], j = i;
      for (; j > first && before(moved, at[j - 1]); --j) at[j] = at[j - 1];
      at[j] = moved;
    }
  }
  for (int64_t width = kRun; width < n; width *= 2) {
    for (int64_t first = 0; first + width < n; first += 2 * width) {
      if (poll(4)) return;
      int64_t middle = first + width, end = middle + width < n ? middle + width : n;
      if (!before(at[middle], at[middle - 1])) continue;
      memcpy(room, at + first, static_cast<size_t>(width) * sizeof(int64_t));
      int64_t left = 0, right = middle, to = first;
      while (left < width) {
        if (poll(4)) return;
        at[to++] = right < end && before(at[right], room[left]) ? at[right++] : room[left++];
      }
    }
  }
}

}  // namespace wick::reference
