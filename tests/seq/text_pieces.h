// The ways to cut a text into pieces.
#pragma once

#include <cstdint>
#include <vector>

namespace wick::test {

// Returns all lists of positive counts with this sum, 2^(length - 1) of them.
inline std::vector<std::vector<int64_t>> pieces_of(int64_t length) {
  std::vector<std::vector<int64_t>> all;
  for (uint64_t cuts = 0; cuts < uint64_t{1} << (length - 1); ++cuts) {
    std::vector<int64_t> pieces = {1};
    for (int64_t i = 0; i + 1 < length; ++i) {
      if ((cuts >> i & 1) != 0) {
        pieces.push_back(1);
      } else {
        ++pieces.back();
      }
    }
    all.push_back(pieces);
  }
  return all;
}

}  // namespace wick::test
