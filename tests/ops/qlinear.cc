// Rows of the operators of bytes; qlinear_test.cc checks their numbers.
#include <cmath>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

constexpr DType u8 = DType::kU8, i8 = DType::kI8;

Input bytes(DType t, Shape s) { return of(t, s, t == i8 ? -128 : 0, t == i8 ? 128 : 256); }
Input one(DType t, double v) { return {t, {}, 0, 0, {v}}; }
Input scale(double v) { return one(DType::kF32, v); }
Input scales(int64_t n) { return f32({n}, 0.001, 0.02); }
Input bias(int64_t n) { return of(DType::kI32, {n}, -3000, 3000); }

struct Conv {
  const char* name;
  Shape x, w;
  ConvAttrs attrs = {};
};

// Every pair of dtypes; powers of two as scales, where sums lie on ties; all that saturates.
std::vector<Sample> convs() {
  ConvAttrs same, strided, grouped, depthwise, far, corner, seven;
  same.pads = {1, 1, 1, 1};
  strided.strides = {2, 2}, strided.pads = {1, 1, 1, 1};
  grouped.group = 2;
  depthwise.group = 37, depthwise.pads = {1, 1, 1, 1};
  far.strides = {1 << 30, 1 << 30}, far.dilations = {INT32_MAX, INT32_MAX};
  far.pads = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
  corner.strides = {3, 2}, corner.dilations = {1, 2}, corner.pads = {2, 3, 4, 5};
  seven.strides = {2, 2}, seven.pads = {3, 3, 3, 3};
  ConvAttrs depthwise_strided = depthwise;
  depthwise_strided.strides = {2, 2}, depthwise_strided.pads = {2, 2, 2, 2};
  const Conv all[] = {
      {"bands", {1, 5, 40, 37}, {13, 5, 3, 3}, same},
      {"strided", {2, 9, 15, 14}, {33, 9, 3, 3}, strided},
      {"grouped", {1, 8, 7, 6}, {6, 4, 3, 3}, grouped},
      {"depthwise", {1, 37, 15, 17}, {37, 1, 3, 3}, depthwise},
      {"depthwise_strided", {2, 37, 20, 19}, {37, 1, 5, 5}, depthwise_strided},
      {"pointwise", {1, 67, 9, 9}, {50, 67, 1, 1}},
      {"deep", {1, 130, 7, 7}, {70, 130, 3, 3}, same},
      {"first", {1, 3, 33, 35}, {19, 3, 7, 7}, seven},
      {"corner", {1, 3, 19, 21}, {7, 3, 3, 3}, corner},
      {"far", {1, 1, 1, 2}, {2, 1, 2, 2}, far},
      {"line", {2, 6, 31}, {5, 6, 3}},
      {"volume", {1, 2, 3, 4, 5}, {3, 2, 2, 2, 2}},
      {"one", {1, 1, 1, 1}, {1, 1, 1, 1}},
  };
  std::vector<Sample> rows;
  for (const Conv& c : all) {
    const int64_t m = c.w[0];
    const std::string name = std::string("QLinearConv/") + c.name;
    rows.push_back(sample(name,
                          {bytes(u8, c.x), scale(0.02), one(u8, 131), bytes(i8, c.w), scales(m),
                           of(i8, {m}, 0, 1), scale(0.4), one(u8, 120), bias(m)},
                          c.attrs));
    rows.push_back(sample(name + "/i8",
                          {bytes(i8, c.x), scale(0.02), one(i8, -7), bytes(i8, c.w), scale(0.01),
                           one(i8, 0), scale(0.5), one(i8, 3)},
                          c.attrs));
    rows.push_back(sample(name + "/zeros",
                          {bytes(u8, c.x), scale(0.5), one(u8, 9), bytes(u8, c.w), scale(0.25),
                           bytes(u8, {m}), scale(32), one(u8, 128), bias(m)},
                          c.attrs));
    rows.push_back(sample(name + "/mixed",
                          {bytes(i8, c.x), scale(0.125), one(i8, 5), bytes(u8, c.w), scale(0.125),
                           one(u8, 128), scale(1), one(u8, 7)},
                          c.attrs));
    rows.push_back(sample(name + "/powers",
                          {bytes(u8, c.x), scale(0.5), one(u8, 0), bytes(i8, c.w), scale(0.5),
                           one(i8, 0), scale(16), one(i8, -4), bias(m)},
                          c.attrs));
    rows.push_back(sample(name + "/saturated",
                          {of(u8, c.x, 254, 256), scale(1), one(u8, 0), of(i8, c.w, 126, 128),
                           scale(1), one(i8, 0), scale(0.5), one(u8, 255), bias(m)},
                          c.attrs));
  }
  rows.push_back(sample("QLinearConv/empty",
                        {bytes(u8, {0, 1, 3, 3}), scale(1), one(u8, 0), bytes(i8, {1, 1, 2, 2}),
                         scale(1), one(i8, 0), scale(1), one(u8, 0)},
                        ConvAttrs{}));
  return rows;
}

std::vector<Sample> matmuls() {
  const auto row = [](const char* name, DType a, Shape as, DType b, Shape bs, Input b_scale,
                      Input b_zero, double y, DType to) {
    return sample(std::string("QLinearMatMul/") + name,
                  {bytes(a, as), scale(0.02), one(a, 3), bytes(b, bs), b_scale, b_zero, scale(y),
                   one(to, 10)});
  };
  return {row("plain", u8, {5, 37}, i8, {37, 19}, scale(0.01), one(i8, 0), 0.3, u8),
          row("columns", u8, {70, 65}, i8, {65, 99}, scales(99), of(i8, {99}, 0, 1), 0.3, u8),
          row("zeros", i8, {9, 130}, u8, {130, 50}, scales(50), bytes(u8, {50}), 2, i8),
          row("batches", u8, {2, 1, 5, 7}, i8, {3, 7, 50}, scale(0.5), one(i8, 9), 8, i8),
          row("shared", u8, {2, 3, 5, 8}, i8, {8, 6}, scales(6), of(i8, {6}, 0, 1), 0.1, u8),
          row("vectors", u8, {5}, u8, {5}, scale(1), one(u8, 0), 512, u8),
          row("long", u8, {1, 1030}, i8, {1030, 33}, scale(0.25), one(i8, 0), 64, u8),
          row("no_inner", u8, {2, 0}, i8, {0, 3}, scale(1), one(i8, 0), 1, u8),
          row("empty", u8, {0, 4}, i8, {4, 3}, scale(1), one(i8, 0), 1, u8)};
}

std::vector<Sample> gemms() {
  std::vector<Sample> rows;
  struct Sizes {
    Shape a;
    int64_t n;
  };
  const Sizes all[] = {{{1, 64}, 70},   {{16}, 1},       {{3, 37}, 5}, {{2, 2, 130}, 50},
                       {{70, 1030}, 9}, {{33, 256}, 48}, {{2, 0}, 3},  {{0, 16}, 3}};
  int i = 0;
  for (const Sizes& s : all) {
    const int64_t k = s.a[s.a.rank() - 1], n = s.n;
    const std::string name = "QGemm/" + std::to_string(i++);
    rows.push_back(sample(name, {bytes(u8, s.a), scale(0.02), one(u8, 77), bytes(i8, {n, k}),
                                 scales(n), of(i8, {n}, 0, 1), bias(n), scale(0.5), one(u8, 99)}));
    rows.push_back(sample(name + "/float", {bytes(i8, s.a), scale(0.02), one(i8, -3),
                                            bytes(i8, {n, k}), scale(0.5), one(i8, 0), bias(n)}));
    rows.push_back(sample(name + "/zeros",
                          {bytes(u8, s.a), scale(0.5), one(u8, 200), bytes(u8, {n, k}), scales(n),
                           bytes(u8, {n}), Input::absent(), scale(4), one(i8, 1)}));
  }
  return rows;
}

std::vector<Sample> binaries(const char* op) {
  const auto row = [&](const char* name, DType a, Shape as, DType b, Shape bs, double y, DType to) {
    return sample(std::string(op) + "/" + name, {bytes(a, as), scale(0.25), one(a, 7), bytes(b, bs),
                                                 scale(0.5), one(b, 100), scale(y), one(to, 12)});
  };
  return {row("same", u8, {3, 67}, u8, {3, 67}, 0.75, u8),
          row("ties", u8, {1030}, u8, {1030}, 1, i8),
          row("i8", i8, {3, 5, 9}, i8, {3, 5, 9}, 3, i8),
          row("mixed", u8, {4, 33}, i8, {4, 33}, 2, u8),
          row("mixed_to_i8", i8, {2, 80}, u8, {2, 80}, 3, i8),
          row("saturated", u8, {5, 200}, i8, {200}, 0.001, i8),
          row("lines", u8, {3, 1, 130}, u8, {1, 4, 1}, 0.6, i8),
          row("row", u8, {4, 33}, u8, {33}, 0.3, u8),
          row("column", i8, {4, 33}, i8, {4, 1}, 0.3, i8),
          row("channel", u8, {2, 5, 4, 4}, u8, {5, 1, 1}, 0.6, u8),
          row("single", u8, {}, u8, {7, 3}, 1, u8),
          row("empty", u8, {0, 3}, u8, {0, 3}, 1, u8)};
}

// Slopes per channel, image and element; all dtypes; slopes that no byte holds.
std::vector<Sample> prelus() {
  const auto row = [](const char* name, DType x, Shape s, Input slope, double y, DType to) {
    return sample(std::string("QLinearPRelu/") + name,
                  {bytes(x, s), scale(0.25), one(x, x == i8 ? -7 : 121), slope, scale(y),
                   one(to, to == i8 ? 12 : 100)});
  };
  const double inf = INFINITY;
  const Input odd{DType::kF32, {6}, 0, 0, {inf, -inf, NAN, 0, -0.0, 3e38}};
  return {row("channel", u8, {2, 5, 9, 7}, f32({5, 1, 1}), 0.3, u8),
          row("batch", i8, {2, 5, 9, 7}, f32({1, 5, 1, 1}), 0.2, i8),
          row("long", u8, {1, 3, 33, 40}, f32({3, 1, 1}, -1, 1), 0.17, u8),
          row("long_i8", i8, {1, 2, 1030}, f32({2, 1}, -3, 1), 0.17, u8),
          row("row", u8, {4, 33}, f32({33}), 0.3, i8),
          row("column", i8, {33, 3}, f32({33, 1}), 0.3, u8),
          row("image", u8, {2, 3, 5, 7}, f32({3, 5, 7}), 0.4, u8),
          row("scalar", i8, {3, 67}, f32({}), 0.25, i8),
          row("one", u8, {5, 200}, f32({1}), 0.125, u8),
          row("saturated", u8, {5, 200}, f32({200}, -2, 2), 0.001, i8),
          row("ties", i8, {1030}, {DType::kF32, {}, 0, 0, {0.5}}, 0.25, i8),
          row("odd", u8, {40, 6}, odd, 0.3, u8),
          row("number", i8, {}, f32({}), 0.3, i8),
          row("empty", u8, {0, 3}, f32({3}), 0.3, u8)};
}

std::vector<Sample> pools() {
  PoolAttrs two, three, pads;
  two.kernel_shape = {2, 2}, two.strides = {2, 2};
  three.kernel_shape = {3, 3}, three.pads = {1, 1, 1, 1}, three.strides = {2, 1};
  pads = three, pads.count_include_pad = 1, pads.ceil_mode = 1;
  PoolAttrs line;
  line.kernel_shape = {5};
  PoolAttrs thirds = pads, cube, hangs;
  thirds.strides = {3, 3};
  cube.kernel_shape = {2, 3, 2}, cube.strides = {1, 2, 2}, cube.pads = {1, 1, 0, 0, 1, 1};
  hangs.kernel_shape = {2, 5}, hangs.strides = {1, 2}, hangs.dilations = {1, 70};
  hangs.pads = {0, 140, 0, 139}, hangs.ceil_mode = 1;
  const auto row = [](const char* name, DType x, Shape s, DType to, PoolAttrs a) {
    return sample(std::string("QLinearAveragePool/") + name,
                  {bytes(x, s), scale(0.5), one(x, 20), scale(0.25), one(to, 11)}, a);
  };
  return {
      row("two", u8, {2, 3, 8, 34}, u8, two),         row("three", i8, {1, 5, 9, 11}, i8, three),
      row("pads", u8, {1, 5, 9, 10}, i8, pads),       row("line", i8, {2, 3, 40}, u8, line),
      row("thirds", i8, {1, 3, 10, 131}, i8, thirds), row("volume", u8, {1, 2, 3, 5, 40}, i8, cube),
      row("hangs", u8, {1, 2, 4, 9}, u8, hangs),      row("wide", u8, {1, 2, 3, 200}, i8, three),
      row("empty", u8, {0, 3, 8, 8}, u8, two)};
}
std::vector<Sample> global_pools() {
  const auto row = [](const char* name, DType x, Shape s, DType to) {
    return sample(std::string("QLinearGlobalAveragePool/") + name,
                  {bytes(x, s), scale(0.5), one(x, 20), scale(0.125), one(to, 11)});
  };
  return {row("7x7", u8, {2, 37, 7, 7}, u8), row("8x8", i8, {2, 5, 8, 8}, u8),
          row("long", i8, {1, 3, 1030}, i8), row("mixed", u8, {1, 5, 9, 2}, i8),
          row("empty", u8, {0, 3, 8, 8}, u8)};
}

std::vector<Sample> tables() {
  const auto row = [](const char* name, DType x, Shape s, DType to) {
    return sample(std::string("ByteTable/") + name,
                  {bytes(x, s), to == DType::kF32 ? f32({256}) : bytes(to, {256})});
  };
  return {row("u8", u8, {3, 1030}, u8),    row("i8", i8, {67}, i8),
          row("mixed", i8, {2, 3, 5}, u8), row("f32", u8, {4, 33}, DType::kF32),
          row("one", i8, {}, u8),          row("empty", u8, {0, 4}, u8)};
}

std::vector<Sample> softmaxes() {
  const auto row = [](const char* name, DType x, Shape s, double sx, DType to, double zero) {
    return sample(std::string("QLinearSoftmax/") + name,
                  {bytes(x, s), scale(sx), one(x, 20), scale(1.0 / 256), one(to, zero)});
  };
  return {row("classes", u8, {5, 10}, 0.1, u8, 0),   row("table", u8, {3, 256}, 0.1, i8, -128),
          row("blocks", i8, {2, 9000}, 0.03, u8, 3), row("long", i8, {3, 1030}, 0.02, i8, -128),
          row("sharp", u8, {2, 3, 33}, 8, u8, 0),    row("one", u8, {4, 1}, 0.1, u8, 0),
          row("none", u8, {4, 0}, 0.1, u8, 0)};
}

std::vector<Sample> dynamics() {
  const auto row = [](const char* name, Shape x, int64_t n, Input s, bool b, double lo, double hi) {
    const int64_t k = x[x.rank() - 1];
    std::vector<Input> in = {f32(x, lo, hi), bytes(i8, {n, k}), s};
    if (b) in.push_back(f32({n}, -1, 1));
    return sample(std::string("DynamicLinear/") + name, in);
  };
  return {row("rows", {5, 37}, 19, scales(19), true, -2, 2),
          row("single", {1, 130}, 70, scale(0.01), false, -1, 3),
          row("positive", {2, 3, 64}, 33, scales(33), true, 1, 3),
          row("negative", {9, 65}, 48, scales(48), false, -3, -1),
          sample("DynamicLinear/odd",
                 {{DType::kF32, {2, 4}, 0, 0, {NAN, 1, -2, 0.5, INFINITY, 1, -1, 0}},
                  bytes(i8, {3, 4}),
                  scale(1)}),
          row("zero", {3, 16}, 5, scales(5), true, 0, 0),
          row("vector", {256}, 3, scale(1), true, -1, 1),
          row("no_inner", {2, 0}, 3, scale(1), true, -1, 1),
          row("empty", {0, 8}, 3, scale(1), true, -1, 1)};
}

}  // namespace

// Their sums are exact and their numbers are held by qlinear_test.cc.
WICK_TEST_ROW(
    QLinearConv, [] { return convs(); }, nullptr, 0, true);
WICK_TEST_ROW(
    QLinearMatMul, [] { return matmuls(); }, nullptr, 0, true);
WICK_TEST_ROW(
    QGemm, [] { return gemms(); }, nullptr, 0, true);
WICK_TEST_ROW(
    QLinearAdd, [] { return binaries("QLinearAdd"); }, nullptr, 0, true);
WICK_TEST_ROW(
    QLinearMul, [] { return binaries("QLinearMul"); }, nullptr, 0, true);
WICK_TEST_ROW(
    QLinearPRelu, [] { return prelus(); }, nullptr, 0, true);
WICK_TEST_ROW(
    QLinearAveragePool, [] { return pools(); }, nullptr, 0, true);
WICK_TEST_ROW(
    QLinearGlobalAveragePool, [] { return global_pools(); }, nullptr, 0, true);
WICK_TEST_ROW(
    ByteTable, [] { return tables(); }, nullptr, 0, true);
WICK_TEST_ROW(
    QLinearSoftmax, [] { return softmaxes(); }, nullptr, 0, true);
WICK_TEST_ROW(
    DynamicQuantizeLinear,
    [] {
      const auto row = [](const char* name, Shape s, double lo, double hi) {
        return sample(std::string("DynamicQuantizeLinear/") + name, {f32(s, lo, hi)}, NoAttrs{}, 3);
      };
      const Input odd{DType::kF32, {6}, 0, 0, {1.0, NAN, -0.0, 3e38, -2.0, 1e-40}};
      return std::vector<Sample>{row("both", {3, 67}, -2, 3),
                                 row("positive", {1030}, 1, 2),
                                 row("negative", {70000}, -3, -1),
                                 row("zero", {5}, 0, 0),
                                 row("single", {}, -1, 1),
                                 row("empty", {0, 3}, 0, 1),
                                 sample("DynamicQuantizeLinear/odd", {odd}, NoAttrs{}, 3)};
    },
    nullptr, 0, true);
WICK_TEST_ROW(
    DynamicLinear, [] { return dynamics(); }, nullptr, 0, true);

}  // namespace wick::test
