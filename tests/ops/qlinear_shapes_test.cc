// Products of bytes of many shapes: layers of known networks and unusual ones, each against the
// reference by bits on every SIMD target, with and without AMX tiles and dot products, with one and
// two threads.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/simd.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

constexpr DType u8 = DType::kU8, i8 = DType::kI8;

Input bytes(DType t, Shape s) { return of(t, s, t == i8 ? -128 : 0, t == i8 ? 128 : 256); }
Input one(DType t, double v) { return {t, {}, 0, 0, {v}}; }
Input real(double v) { return one(DType::kF32, v); }

class QLinearShapes : public testing::Test {
 protected:
  QLinearShapes() : pool_(ThreadPool::create(default_allocator(), threads_here(2)).value()) {}
  ~QLinearShapes() override { ThreadPool::destroy(pool_); }

  void check(OpId op, const Sample& s, size_t outputs = 1) {
    SCOPED_TRACE(s.name);
    const std::vector<Value> in = make_inputs(s);
    std::vector<Value> want;
    ASSERT_TRUE(run_op(op, s.attrs.get(), in, outputs, reference_sets(), nullptr, &want).ok());
    for_each_simd_target([&](int64_t target) {
      for (const bool more : {true, false}) {
        allow_byte_instructions(more);
        for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), pool_}) {
          std::vector<Value> got;
          std::string kernel;
          ASSERT_TRUE(run_op(op, s.attrs.get(), in, outputs, cpu_sets(), pool, &got, &kernel).ok());
          ASSERT_NE(kernel.find(".simd"), std::string::npos) << kernel;
          for (size_t i = 0; i < outputs; ++i) {
            ASSERT_EQ(bits_differ(want[i].view(), got[i].view()), "")
                << "output " << i << " " << simd_target_name(target) << (more ? "" : " plain")
                << (pool == nullptr ? "" : " 2");
          }
          ++checks_;
        }
      }
      allow_byte_instructions(true);
    });
  }
  // Numbers of a seed alone: distributions differ between libraries, this generator does not.
  int64_t draw(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }
  DType byte() { return draw(0, 1) == 0 ? u8 : i8; }
  double zero(DType t) { return static_cast<double>(t == u8 ? draw(0, 255) : draw(-128, 127)); }
  double end_zero(DType t) {
    return draw(0, 1) == 0 ? (t == u8 ? 0 : -128) : (t == u8 ? 255 : 127);
  }

  Sample conv(const std::string& name, Shape x, Shape w, ConvAttrs a, bool plain) {
    const int64_t m = w[0];
    int64_t k = 1;
    for (int d = 1; d < w.rank(); ++d) k *= w[d];
    const DType xt = plain ? u8 : byte(), wt = plain ? i8 : byte(), yt = plain ? u8 : byte();
    // Sums of about 100 a tap and the square root of their number: some saturate, most do not.
    const double y = 0.0003 * 5000 * std::sqrt(static_cast<double>(k)) / 60;
    Input w_zero = plain ? of(i8, {m}, 0, 1) : draw(0, 1) == 0 ? one(wt, zero(wt)) : bytes(wt, {m});
    std::vector<Input> in = {
        bytes(xt, x),          real(0.02), one(xt, zero(xt)), bytes(wt, w),
        f32({m}, 0.001, 0.02), w_zero,     real(y),           one(yt, zero(yt))};
    if (plain || draw(0, 1) == 0) in.push_back(of(DType::kI32, {m}, -3000, 3000));
    return sample(name, in, a);
  }

  std::mt19937_64 random_{7};
  ThreadPool* pool_;
  int checks_ = 0;
};

template <class L>
void append(L* list, int64_t v) {
  list->values[list->count++] = v;
}

struct Layer {
  int64_t channels, outputs, size, kernel, stride, group;
};

TEST_F(QLinearShapes, LayersOfNetworks) {
  const Layer all[] = {
      {3, 64, 61, 7, 2, 1},   {64, 64, 28, 3, 1, 1},     {64, 128, 28, 3, 2, 1},
      {64, 128, 29, 1, 2, 1}, {128, 33, 14, 3, 1, 1},    {256, 64, 14, 1, 1, 1},
      {512, 40, 7, 3, 1, 1},  {96, 24, 28, 1, 1, 1},     {32, 32, 57, 3, 1, 32},
      {96, 96, 31, 3, 2, 96}, {144, 144, 14, 3, 1, 144}, {960, 48, 7, 1, 1, 1},
      {24, 24, 15, 5, 2, 24}, {3, 16, 33, 3, 2, 1},      {128, 128, 9, 3, 1, 4},
      {16, 64, 27, 1, 1, 1},  {40, 20, 70, 3, 1, 1},     {512, 512, 7, 1, 1, 1},
  };
  for (const Layer& l : all) {
    ConvAttrs a;
    a.strides = {l.stride, l.stride}, a.group = l.group;
    const int64_t pad = l.kernel / 2;
    a.pads = {pad, pad, pad, pad};
    check(OpId::kQLinearConv, conv(fmt::format("c{} m{} s{} k{} st{} g{}", l.channels, l.outputs,
                                               l.size, l.kernel, l.stride, l.group),
                                   {1, l.channels, l.size, l.size},
                                   {l.outputs, l.channels / l.group, l.kernel, l.kernel}, a, true));
  }
  EXPECT_GT(checks_, 70);
}

// x of more than a chunk, so that bands of rows follow each other; and images that share one.
TEST_F(QLinearShapes, BandsAndBatches) {
  ConvAttrs same, strided;
  same.pads = {1, 1, 1, 1};
  strided.pads = {1, 1, 1, 1}, strided.strides = {2, 2};
  check(OpId::kQLinearConv, conv("bands", {1, 160, 97, 99}, {3, 160, 3, 3}, same, true));
  check(OpId::kQLinearConv, conv("strided", {1, 160, 131, 130}, {9, 160, 3, 3}, strided, false));
  check(OpId::kQLinearConv, conv("one", {2, 256, 66, 65}, {9, 256, 1, 1}, {}, true));
  check(OpId::kQLinearConv, conv("batch", {9, 64, 7, 7}, {70, 64, 3, 3}, same, true));
  ConvAttrs depthwise = same;
  depthwise.group = 20;
  check(OpId::kQLinearConv, conv("depthwise", {3, 20, 120, 150}, {20, 1, 3, 3}, depthwise, true));
  depthwise.group = 3;  // few and large
  check(OpId::kQLinearConv, conv("few", {1, 3, 120, 150}, {3, 1, 3, 3}, depthwise, true));
  check(OpId::kQLinearConv, conv("large", {2, 3, 530, 520}, {3, 1, 3, 3}, depthwise, true));
}

TEST_F(QLinearShapes, AnyConvolution) {
  for (int i = 0; i < 120; ++i) {
    const bool depthwise = draw(0, 3) == 0, line = draw(0, 7) == 0;
    const int64_t group = depthwise ? draw(1, 40) : draw(0, 3) == 0 ? draw(2, 3) : 1;
    const int64_t channels = depthwise ? 1 : draw(0, 2) == 0 ? draw(16, 90) : draw(1, 20);
    const int64_t outputs = depthwise ? draw(1, 2) : draw(1, 40);
    ConvAttrs a;
    a.group = group;
    Shape x = {draw(1, 3), group * channels}, w = {group * outputs, channels};
    for (int d = line ? 1 : 0; d < 2; ++d) {
      const int64_t k = draw(1, 5), dilation = draw(1, 2), reach = (k - 1) * dilation + 1;
      x.push_back(draw(reach, reach + 24));
      w.push_back(k);
      append(&a.strides, draw(1, 3)), append(&a.dilations, dilation);
    }
    for (int d = 0; d < 2 * (x.rank() - 2); ++d) append(&a.pads, draw(0, 3));
    check(OpId::kQLinearConv, conv(fmt::format("random {}", i), x, w, a, false));
  }
}

TEST_F(QLinearShapes, AnyProduct) {
  for (int i = 0; i < 60; ++i) {
    const int64_t m = draw(0, 1) == 0 ? draw(1, 9) : draw(10, 300), n = draw(1, 140),
                  k = draw(0, 1) == 0 ? draw(1, 70) : draw(60, 700);
    const DType at = byte(), bt = byte(), yt = byte();
    const double y = 0.05 * std::sqrt(static_cast<double>(k));
    const Input b_zero = draw(0, 1) == 0 ? one(bt, bt == u8 ? 128 : 0) : bytes(bt, {n});
    const Input b_scale = f32({n}, 0.001, 0.02);
    const auto with = [&](Shape b, std::vector<Input> rest) {
      std::vector<Input> in = {bytes(at, {m, k}), real(0.02), one(at, zero(at)),
                               bytes(bt, b),      b_scale,    b_zero};
      if (b_zero.shape.rank() == 0) in[4] = real(0.01);
      in.insert(in.end(), rest.begin(), rest.end());
      return sample(fmt::format("product {}: {} {} {}", i, m, n, k), in);
    };
    check(OpId::kQLinearMatMul, with({k, n}, {real(y), one(yt, zero(yt))}));
    const Input bias = of(DType::kI32, {n}, -3000, 3000);
    check(OpId::kQGemm, with({n, k}, {bias, real(y), one(yt, zero(yt))}));
    check(OpId::kQGemm, with({n, k}, {Input::absent()}));
    check(OpId::kDynamicLinear,
          sample(fmt::format("dynamic {}: {} {} {}", i, m, n, k),
                 {f32({m, k}, -3, 2), bytes(i8, {n, k}), b_scale, f32({n}, -1, 1)}));
  }
}

// A kernel for each channel: windows over rows that are narrower than a vector or wider, taps
// beside them on one side or on all, outputs a stride apart, padding alone.
TEST_F(QLinearShapes, AnyDepthwise) {
  for (int i = 0; i < 90; ++i) {
    const bool wide = draw(0, 3) == 0, far = draw(0, 4) == 0;
    const int64_t channels = draw(2, 7), images = draw(1, 2);
    ConvAttrs a;
    a.group = channels;
    Shape x = {images, channels}, w = {channels, 1};
    for (int d = 0; d < 2; ++d) {
      const int64_t k = draw(1, far ? 9 : 5), dilation = draw(1, far ? 4 : 2);
      x.push_back(draw(1, wide && d == 1 ? 150 : 20));
      w.push_back(k);
      append(&a.strides, draw(1, far ? 7 : 2)), append(&a.dilations, dilation);
    }
    for (int d = 0; d < 4; ++d) {
      const int64_t reach = (w[2 + d % 2] - 1) * a.dilations[d % 2] + 1;
      const int64_t least = std::max<int64_t>(0, reach - x[2 + d % 2]);
      append(&a.pads, draw(least, least + (far ? 20 : 2)));
    }
    Sample s = conv(fmt::format("depthwise {}", i), x, w, a, draw(0, 1) == 0);
    if (draw(0, 2) == 0) s.in[2].values = {end_zero(s.in[2].dtype)};
    check(OpId::kQLinearConv, s);
  }
}

// Every place that a zero point may have, one for all, one of each row or column, none, at the ends
// of its range; vectors; batches, with a matrix of each or one for all.
TEST_F(QLinearShapes, AnyIntegerProduct) {
  for (int i = 0; i < 80; ++i) {
    const int64_t m = draw(0, 1) == 0 ? draw(1, 9) : draw(10, 90), n = draw(1, 140),
                  k = draw(0, 1) == 0 ? draw(1, 70) : draw(60, 300);
    const DType at = byte(), bt = byte();
    Shape a = {m, k}, b = {k, n}, per_row = {m, 1}, per_column = {n};
    const int64_t batches = draw(0, 2) == 0 ? draw(2, 3) : 0;
    if (batches > 0) a = {batches, m, k}, per_row = {batches, m, 1};
    if (batches > 0 && draw(0, 1) == 0) b = {batches, k, n}, per_column = {batches, 1, n};
    if (batches == 0 && draw(0, 4) == 0) a = {k}, per_row = {};
    if (batches == 0 && draw(0, 4) == 0) b = {k}, per_column = {};
    const auto zeros = [&](DType t, const Shape& many) -> Input {
      switch (draw(0, 3)) {
        case 0: return Input::absent();
        case 1: return one(t, end_zero(t));
        case 2: return one(t, zero(t));
        default: return bytes(t, many);
      }
    };
    const Input a_zero = zeros(at, per_row), b_zero = zeros(bt, per_column);
    check(OpId::kMatMulInteger, sample(fmt::format("integer product {}: {} {} {}", i, m, n, k),
                                       {bytes(at, a), bytes(bt, b), a_zero, b_zero}));
  }
}

// One range for all: quotients on ties and next to them, beyond whole vectors and with a rest.
TEST_F(QLinearShapes, DynamicBytesOfOneRange) {
  for (const int64_t n : {1, 15, 16, 63, 64, 65, 129, 1000, 20001}) {
    for (const float scale : {1.0F, 0.1F, 0.003F}) {
      std::vector<double> halves = {-64 * scale, 191 * scale};
      for (int64_t i = 2; i < n; ++i) {
        const float half = static_cast<float>(draw(-127, 381)) / 2 * scale;
        const int64_t side = draw(-1, 1);
        halves.push_back(side == 0 ? half : std::nextafter(half, static_cast<float>(1000 * side)));
      }
      halves.resize(static_cast<size_t>(n));
      check(OpId::kDynamicQuantizeLinear,
            sample(fmt::format("halves of {} {}", scale, n), {{DType::kF32, {n}, 0, 0, halves}}),
            3);
    }
    check(OpId::kDynamicQuantizeLinear, sample(fmt::format("any {}", n), {f32({n}, -3, 2)}), 3);
    check(OpId::kDynamicQuantizeLinear, sample(fmt::format("positive {}", n), {f32({n}, 1, 2)}), 3);
    for (const double odd : {HUGE_VAL, -HUGE_VAL, static_cast<double>(NAN), 3e38, 1e-42}) {
      std::vector<double> x(static_cast<size_t>(n), 0.25);
      x[static_cast<size_t>(n) / 2] = odd;
      check(OpId::kDynamicQuantizeLinear,
            sample(fmt::format("{} in {}", odd, n), {{DType::kF32, {n}, 0, 0, x}}), 3);
    }
  }
}

// Without y's scale nothing is rounded to bytes, so the first scale may be infinite.
TEST_F(QLinearShapes, AnInfiniteRangeMakesReals) {
  for (const double scale : {HUGE_VAL, 3e38, 1e-45}) {
    check(OpId::kQGemm, sample(fmt::format("scale {}", scale),
                               {bytes(u8, {5, 37}), real(scale), one(u8, 3), bytes(i8, {19, 37}),
                                f32({19}, 0.5, 20), one(i8, 0)}));
  }
}

// Numbers that are none, infinite or next to nothing.
TEST_F(QLinearShapes, DynamicRowsOfStrangeNumbers) {
  const double inf = HUGE_VAL, nan = NAN;
  std::vector<double> x;
  for (const std::vector<double>& row : {std::vector<double>{nan, 1, -1},
                                         {inf, 1, 2},
                                         {-inf, 1, 2},
                                         {-inf, inf, nan},
                                         {nan, nan},
                                         {1e-45, -1e-45},
                                         {3e38, -3e38},
                                         {1e-40, 3e-40, -2e-40},
                                         {-0.0, 0.0}}) {
    for (size_t k = 0; k < 21; ++k) x.push_back(row[k % row.size()]);
  }
  const auto rows = static_cast<int64_t>(x.size() / 21);
  check(OpId::kDynamicLinear,
        sample("strange", {{DType::kF32, {rows, 21}, 0, 0, x}, bytes(i8, {19, 21}), real(0.5)}));
}

}  // namespace
}  // namespace wick::test
