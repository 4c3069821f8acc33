// Rows of the quantization ops. Cases that an oracle of one element does not cover (axes, blocks,
// other dtypes, sums of bytes) are in quantize_test.cc.
#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

Input bytes(DType t, Shape s) {
  return of(t, s, t == DType::kI8 ? -128 : 0, t == DType::kI8 ? 128 : 256);
}
Input one(DType t, double v) { return {t, {}, 0, 0, {v}}; }

// A number from doubles at both ends: what is rounded half to even and kept to bytes.
double to_byte(double v) {
  if (std::isnan(v)) return 0;
  const double whole = v - std::remainder(v, 1.0);
  return std::isinf(v) ? v : whole;
}

std::vector<Sample> matmuls() {
  const DType u8 = DType::kU8, i8 = DType::kI8;
  return {sample("MatMulInteger/u8i8", {bytes(u8, {3, 5}), bytes(i8, {5, 4})}),
          sample("MatMulInteger/zero_points",
                 {bytes(u8, {3, 37}), bytes(u8, {37, 19}), one(u8, 130), one(u8, 7)}),
          sample("MatMulInteger/rows",
                 {bytes(i8, {2, 3, 5}), bytes(i8, {5, 4}), bytes(i8, {2, 3, 1}), bytes(i8, {4})}),
          sample("MatMulInteger/vectors", {bytes(u8, {5}), bytes(u8, {5})}),
          sample("MatMulInteger/only_b",
                 {bytes(u8, {2, 5}), bytes(u8, {5, 3}), Input::absent(), bytes(u8, {3})}),
          // more rows and columns than a task's, an odd k, batches that broadcast
          sample("MatMulInteger/tasks", {bytes(u8, {70, 33}), bytes(i8, {33, 790}), one(u8, 9)}),
          sample("MatMulInteger/batches", {bytes(i8, {2, 1, 5, 7}), bytes(u8, {3, 7, 50}),
                                           bytes(i8, {2, 1, 5, 1}), bytes(u8, {3, 1, 50})}),
          sample("MatMulInteger/row", {bytes(u8, {1, 130}), bytes(u8, {130, 99}), one(u8, 255)}),
          sample("MatMulInteger/no_inner", {bytes(u8, {2, 0}), bytes(u8, {0, 3})}),
          sample("MatMulInteger/empty", {bytes(u8, {0, 4}), bytes(u8, {4, 3})})};
}

std::vector<Sample> convs() {
  const DType u8 = DType::kU8, i8 = DType::kI8;
  ConvAttrs padded, strided, grouped;
  padded.pads = {1, 1, 2, 0};
  strided.strides = {2, 1}, strided.dilations = {1, 2};
  grouped.group = 2;
  ConvAttrs corner = strided, wide, depthwise;
  corner.strides = {3, 2}, corner.pads = {2, 3, 4, 5};
  wide.pads = {1, 1, 1, 1};
  depthwise.pads = {1, 1, 1, 1}, depthwise.group = 11, depthwise.strides = {2, 2};
  ConvAttrs far;
  far.strides = {1 << 30, 1 << 30}, far.dilations = {INT32_MAX, INT32_MAX};
  far.pads = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
  return {
      sample("ConvInteger/bands",
             {bytes(u8, {1, 5, 40, 37}), bytes(i8, {13, 5, 3, 3}), one(u8, 17)}, wide),
      sample("ConvInteger/corner",
             {bytes(i8, {2, 3, 19, 21}), bytes(u8, {7, 3, 3, 3}), one(i8, -9), bytes(u8, {7})},
             corner),
      sample("ConvInteger/depthwise",
             {bytes(u8, {1, 11, 15, 14}), bytes(u8, {11, 1, 3, 3}), one(u8, 128), bytes(u8, {11})},
             depthwise),
      sample("ConvInteger/groups_zeros",
             {bytes(i8, {1, 4, 6, 7}), bytes(u8, {6, 2, 3, 3}), one(i8, 5), bytes(u8, {6})},
             grouped),
      // taps far apart: no band of theirs
      sample("ConvInteger/far", {bytes(u8, {1, 1, 1, 2}), bytes(u8, {2, 1, 2, 2})}, far),
      sample("ConvInteger/one_tap",
             {bytes(u8, {1, 64, 9, 9}), bytes(u8, {20, 64, 1, 1}), one(u8, 3)}, ConvAttrs{}),
      sample("ConvInteger/u8", {bytes(u8, {1, 1, 3, 3}), bytes(u8, {1, 1, 2, 2}), one(u8, 1)},
             ConvAttrs{}),
      sample("ConvInteger/padded",
             {bytes(u8, {2, 3, 5, 4}), bytes(i8, {4, 3, 3, 2}), one(u8, 200), bytes(i8, {4})},
             padded),
      sample("ConvInteger/strided", {bytes(i8, {1, 2, 7, 8}), bytes(u8, {3, 2, 3, 2})}, strided),
      sample("ConvInteger/grouped",
             {bytes(i8, {1, 4, 6}), bytes(i8, {6, 2, 3}), Input::absent(), one(i8, -3)}, grouped),
      sample("ConvInteger/volume", {bytes(u8, {1, 1, 3, 4, 5}), bytes(u8, {2, 1, 2, 2, 2})},
             ConvAttrs{}),
      sample("ConvInteger/empty", {bytes(u8, {0, 1, 3, 3}), bytes(u8, {1, 1, 2, 2})}, ConvAttrs{})};
}

// x, weights, scales, zero points, a bias: rows, columns and k off every tile, panel and block.
std::vector<Sample> block_linears() {
  struct Sizes {
    Shape x;
    int64_t n, block;
  };
  const Sizes sizes[] = {{{1, 64}, 70, 32},      {{16}, 1, 16},       {{3, 37}, 5, 16},
                         {{2, 2, 130}, 50, 128}, {{9, 600}, 49, 256}, {{1, 257}, 145, 256},
                         {{8, 33}, 17, 16},      {{261, 48}, 20, 32}, {{70, 1030}, 99, 64},
                         {{6, 168}, 450, 64}};
  std::vector<Sample> all;
  for (const Sizes& s : sizes) {
    for (DType t : {DType::kI4, DType::kU4, DType::kI8, DType::kU8}) {
      const bool sign = t == DType::kI4 || t == DType::kI8;
      const double size = dtype_bits(t) == 4 ? 16 : 256;
      const int64_t k = s.x[s.x.rank() - 1], blocks = (k + s.block - 1) / s.block;
      const auto numbers = [&](Shape shape) {
        return of(t, shape, sign ? -size / 2 : 0, sign ? size / 2 : size);
      };
      BlockLinearAttrs a;
      a.block_size = s.block;
      const std::string name = std::string("BlockLinear/") + dtype_name(t) + "_" +
                               std::to_string(k) + "x" + std::to_string(s.n);
      const Input x = f32(s.x, -1, 1), scale = f32({s.n, blocks}, -0.1, 0.1);
      const Input half = of(DType::kF16, {s.n, blocks}, -0.1, 0.1), bias = f32({s.n}, -1, 1);
      all.push_back(sample(name, {x, numbers({s.n, k}), scale}, a));
      all.push_back(
          sample(name + "/zeros", {x, numbers({s.n, k}), half, numbers({s.n, blocks}), bias}, a));
      a.zero_point = sign ? -3 : 8;
      all.push_back(sample(name + "/zero", {x, numbers({s.n, k}), half, Input::absent(), bias}, a));
      // Scales as files have them: each is above 0. The weights are then unpacked in another way.
      const Input plain = of(DType::kF16, {s.n, blocks}, 0.001, 0.1);
      all.push_back(sample(name + "/plain", {x, numbers({s.n, k}), plain}, a));
      a.zero_point = 0;
      all.push_back(sample(name + "/plain_zeros",
                           {x, numbers({s.n, k}), plain, numbers({s.n, blocks}), bias}, a));
    }
  }
  all.push_back(sample(
      "BlockLinear/no_inner",
      {f32({2, 0}), of(DType::kU4, {3, 0}, 0, 16), f32({3, 0}), Input::absent(), f32({3}, -1, 1)},
      BlockLinearAttrs{}));
  Input odd = of(DType::kF16, {130, 4}, 0.001, 0.1);
  const double kinds[] = {0.5, 0.25, 0.0, 2, 0.125, -0.0, 1e-3, 6e-8, 65504, -1};
  for (int i = 0; i < 520; ++i) odd.values.push_back(kinds[i / 48 % 10]);
  all.push_back(sample("BlockLinear/odd_scales",
                       {f32({3, 128}, -1, 1), of(DType::kU4, {130, 128}, 0, 16), odd},
                       BlockLinearAttrs{}));
  // Some of them in one block of a panel alone, behind blocks of plain ones.
  Input few = of(DType::kF16, {130, 4}, 0.001, 0.1);
  for (int i = 0; i < 520; ++i) {
    const bool third = i % 4 == 2, last = i % 4 == 3;
    few.values.push_back(third && i / 4 == 7 ? 65504 : last && i / 4 == 60 ? -1 : 0.375);
  }
  all.push_back(sample("BlockLinear/odd_blocks",
                       {f32({3, 128}, -1, 1), of(DType::kU4, {130, 128}, 0, 16), few},
                       BlockLinearAttrs{}));
  few.values[30] = -HUGE_VAL, few.values[243] = 0x1p-24;
  all.push_back(sample("BlockLinear/infinite_block",
                       {f32({1, 128}, 0.5, 1), of(DType::kU4, {130, 128}, 1, 16), few},
                       BlockLinearAttrs{}));
  all.push_back(sample("BlockLinear/no_rows",
                       {f32({0, 16}), of(DType::kU4, {3, 16}, 0, 16), f32({3, 1})},
                       BlockLinearAttrs{}));
  return all;
}

}  // namespace

// uint8, scales of the last axis or of the tensor: what broadcasts to x.
WICK_TEST_ROW(
    QuantizeLinear,
    [] {
      const double inf = INFINITY;
      QuantizeAttrs last;
      last.axis = -1;
      return std::vector<Sample>{
          sample("Quantize/tensor",
                 {f32({3, 67}, -300, 300), one(DType::kF32, 1.5), one(DType::kU8, 128)},
                 QuantizeAttrs{}),
          sample("Quantize/no_zero", {f32({1030}, -9, 300), one(DType::kF32, 0.75)},
                 QuantizeAttrs{}),
          sample("Quantize/last",
                 {f32({4, 5, 3}, -300, 300), f32({3}, 0.5, 3), of(DType::kU8, {3}, 0, 255)}, last),
          sample("Quantize/halves",
                 {{DType::kF32,
                   {10},
                   0,
                   0,
                   {0.5, 1.5, 2.5, -0.5, 127.5, 254.5, 255.5, inf, -inf, NAN}},
                  one(DType::kF32, 1)},
                 QuantizeAttrs{}),
          sample("Quantize/empty", {f32({0, 4}), one(DType::kF32, 1)}, QuantizeAttrs{})};
    },
    [](const double* in) {
      const double q = to_byte(static_cast<float>(in[0] / in[1])) + in[2];
      return std::fmin(std::fmax(q, 0), 255);
    },
    0);
WICK_TEST_ROW(
    DequantizeLinear,
    [] {
      DequantizeAttrs last;
      last.axis = 1;
      std::vector<Sample> s;
      for (DType t : {DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kI32, DType::kU4,
                      DType::kI4, DType::kU2, DType::kI2, DType::kF4E2M1, DType::kF8E5M2}) {
        const bool sign = t != DType::kU8 && t != DType::kU16 && t != DType::kU4 && t != DType::kU2;
        const double lo = t == DType::kF4E2M1 ? -1 : sign ? -2 : 0, hi = t == DType::kI2 ? 2 : 3;
        std::string n = std::string("Dequantize/") + dtype_name(t);
        s.push_back(sample(n, {of(t, {3, 7}, lo, hi), f32({7}, 0.1, 3), of(t, {7}, lo, hi)}, last));
        s.push_back(sample(n + "/tensor", {of(t, {1030}, lo, hi), one(DType::kF32, 0.3)},
                           DequantizeAttrs{}));
      }
      s.push_back(sample("Dequantize/empty", {of(DType::kU8, {0, 3}), one(DType::kF32, 1)},
                         DequantizeAttrs{}));
      return s;
    },
    [](const double* in) { return (in[0] - in[2]) * in[1]; }, 1);
WICK_TEST_ROW(
    MatMulInteger, [] { return matmuls(); }, nullptr, 0);
WICK_TEST_ROW(
    ConvInteger, [] { return convs(); }, nullptr, 0);
WICK_TEST_ROW(
    BlockLinear, [] { return block_linears(); }, nullptr, 2048);
WICK_TEST_ROW(
    BitCast,
    [] {
      const BitCastAttrs to{static_cast<int64_t>(DType::kI32)};
      return std::vector<Sample>{
          sample("BitCast/f32", {f32({67}, -300, 300)}, to), sample("BitCast/[]", {f32({})}, to),
          sample("BitCast/specials",
                 {{DType::kF32, {5}, 0, 0, {0.0, -0.0, INFINITY, 1e-40, -3e38}}}, to),
          sample("BitCast/empty", {f32({0, 3})}, to)};
    },
    [](const double* in) {
      return static_cast<double>(std::bit_cast<int32_t>(static_cast<float>(in[0])));
    },
    0);
WICK_TEST_ROW(
    Dropout,
    [] {
      return std::vector<Sample>{
          sample("Dropout/plain", {f32({3, 67})}, NoAttrs{}, 2),
          sample("Dropout/eval", {f32({5}), one(DType::kF32, 0.5), one(DType::kBool, 0)}, NoAttrs{},
                 2),
          sample("Dropout/zero_ratio", {f32({5}), one(DType::kF32, 0), one(DType::kBool, 1)},
                 NoAttrs{}, 2),
          sample("Dropout/empty", {f32({0, 2})}, NoAttrs{}, 2)};
    },
    nullptr, 0);

}  // namespace wick::test
