#include "graph/ir/stored_dtype.h"

#include <bit>

#include "runtime/core/half.h"

namespace wick::ir {
namespace {

template <class T>
bool holds(float x) {
  return std::bit_cast<uint32_t>(static_cast<float>(T(x))) == std::bit_cast<uint32_t>(x);
}

}  // namespace

DType stored_dtype(const HostTensor& t) {
  if (t.dtype() != DType::kF32 || t.numel() == 0) return t.dtype();
  bool half = true, brain = true;
  const float* x = t.as<float>();
  for (int64_t i = 0; i < t.numel() && (half || brain); ++i) {
    half = half && holds<Half>(x[i]);
    brain = brain && holds<BFloat16>(x[i]);
  }
  return half ? DType::kF16 : brain ? DType::kBF16 : DType::kF32;
}

}  // namespace wick::ir
