// Random numbers for tests that make their cases: the same seed gives the same case everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace wick::test {

// splitmix64.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Below n; 0 where nothing is.
  int below(int n) { return n <= 1 ? 0 : static_cast<int>(next() % static_cast<uint64_t>(n)); }
  size_t below(size_t n) { return n <= 1 ? 0 : static_cast<size_t>(next() % n); }
  bool one_in(int n) { return below(n) == 0; }
  template <class List>
  auto& of(List& list) {
    return list[static_cast<size_t>(below(static_cast<int>(std::size(list))))];
  }

 private:
  uint64_t state_;
};

}  // namespace wick::test
