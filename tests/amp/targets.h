// Shared by tests that run rows on all SIMD targets and thread counts.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/simd.h"
#include "wick/trainer.h"

namespace wick::test {

// Puts targets and threads back.
struct Restore {
  ~Restore() {
    force_simd_targets(0);
    set_num_threads(1);
  }
};

// f(name) for each target whose bits are the reference's.
template <class F>
void each_target(F&& f) {
  Restore restore;
  for_each_simd_target([&](int64_t target) {
    if (simd_target_has_fma(target)) f(simd_target_name(target));
  });
}

// Returns the bits of 16-bit floats; NaNs are one value.
inline std::vector<uint16_t> bits(const Tensor& t) {
  const Tensor c = t.detach().contiguous();
  const auto* p = static_cast<const uint16_t*>(c.data_ptr());
  std::vector<uint16_t> all(p, p + c.numel());
  const uint16_t inf = t.dtype() == DType::kF16 ? 0x7C00 : 0x7F80;
  for (uint16_t& v : all) {
    if ((v & 0x7FFF) > inf) v = 0x7FFF;
  }
  return all;
}

}  // namespace wick::test
