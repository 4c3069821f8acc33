// One call on the device, compared with the CPU's kernels.
#pragma once

#include <random>

#include "tests/ops/op_row.h"
#include "tests/ops/values.h"

namespace wick::test {

// `out` has the shapes of the results; the staging path, so that a missing copy shows.
Status run_on_device(OpId op, const void* attrs, const std::vector<Value>& in,
                     const std::vector<Value>& out);

// The result must be the CPU's f32 by value, near it (where f64 would pick other places), or near
// the exact result; near means within vulkan_bounds.
enum class To { kCpu, kNearCpu, kOracle };

// False where the CPU refuses the call, or gives nothing; differences are test failures.
bool agrees(OpId op, const Sample& s, To to = To::kOracle);

class Random {
 public:
  int64_t operator()(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(engine_() % static_cast<uint64_t>(hi - lo + 1));
  }

 private:
  std::mt19937_64 engine_{20};
};

}  // namespace wick::test
