// A small convolutional program with packed weights, whose work a thread pool splits, and its input
// of any batch.
#pragma once

#include <cstring>

#include "tests/runtime/programs.h"

namespace wick::test {

inline std::vector<float> ramp(size_t n, float step) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>(static_cast<int>(i % 17) - 8) * step;
  return v;
}

// x [n,4,16,16] to e [n,10]: convolution, pool, matrix product.
inline std::vector<uint8_t> small_cnn() {
  ProgramBuilder p;
  p.symbol("n", 1, 8);
  auto x = p.value("x", DType::kF32, {kSym, 4, 16, 16});
  auto w = p.constant<float>("w", {8, 4, 3, 3}, ramp(8 * 4 * 3 * 3, 0.125f));
  auto b = p.constant<float>("b", {8}, ramp(8, 0.5f));
  auto fc = p.constant<float>("fc", {512, 10}, ramp(5120, 0.0625f));
  auto to = p.constant<int64_t>("to", {2}, {-1, 512});
  auto c = p.value("c", DType::kF32, {kSym, 8, 16, 16});
  auto r = p.value("r", DType::kF32, {kSym, 8, 16, 16});
  auto m = p.value("m", DType::kF32, {kSym, 8, 8, 8});
  auto f = p.value("f", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto y = p.value("y", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto e = p.value("e", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  ConvAttrs conv;
  conv.pads = {1, 1, 1, 1};
  PoolAttrs pool;
  pool.kernel_shape = {2, 2};
  pool.strides = {2, 2};
  p.node(OpId::kConv, {x, w, b}, {c}, conv, "conv");
  p.node(OpId::kRelu, {c}, {r}, NoAttrs{}, "relu");
  p.node(OpId::kMaxPool, {r}, {m}, pool, "pool");
  p.node(OpId::kReshape, {m, to}, {f}, ReshapeAttrs{}, "flat");
  p.node(OpId::kMatMul, {f, fc}, {y}, NoAttrs{}, "fc");
  p.node(OpId::kTanh, {y}, {e}, NoAttrs{}, "tanh");
  p.entry("main", {x}, {e});
  return p.finish();
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace wick::test
