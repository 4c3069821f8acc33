// What tests of nodes that stand for several ops share: bits are compared with those of the ops.
#pragma once

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "trainer/tensor/watcher.h"
#include "wick/trainer.h"

namespace wick::test {

// Counts calls; where there is a watcher, the ops run by themselves.
struct Seen final : Watcher {
  int64_t calls = 0;
  void on_call(const TracedCall&) override { ++calls; }
};

// Returns whether shape, dtype and bits agree; all NaNs are one value.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.raw_shape() == b.raw_shape()) || a.dtype() != b.dtype()) return false;
  const auto p = a.detach().to(DType::kF64).to_vector<double>(),
             q = b.detach().to(DType::kF64).to_vector<double>();
  for (size_t i = 0; i < p.size(); ++i) {
    if (std::isnan(p[i]) != std::isnan(q[i])) return false;
    if (!std::isnan(p[i]) && std::bit_cast<uint64_t>(p[i]) != std::bit_cast<uint64_t>(q[i]))
      return false;
  }
  return true;
}

struct Picks {
  std::mt19937 bits;
  int64_t pick(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(bits() % static_cast<uint64_t>(to - from + 1));
  }
};

}  // namespace wick::test
