// The float64 rows of trainer/kernels/wide beside the plain loops: equal bits, at shapes that
// nobody chose, for every SIMD target and number of threads.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/kernels/simd.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"
#include "trainer/kernels/wide/product.h"

namespace wick::test {
namespace {

std::mt19937& draws() {
  static std::mt19937 r(7);
  return r;
}
int64_t below(int64_t n) { return static_cast<int64_t>(draws()() % static_cast<uint64_t>(n)); }
int64_t from_to(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }

// Values of all magnitudes, zeros of both signs among them.
Input wide(const Shape& s) {
  std::vector<double> v(static_cast<size_t>(numel(s)));
  for (double& e : v) {
    const int64_t kind = below(12);
    e = kind == 0   ? 0.0
        : kind == 1 ? -0.0
                    : std::ldexp(static_cast<double>(draws()()) / 4294967296.0 - 0.5,
                                 static_cast<int>(from_to(-3, 3)));
  }
  return {DType::kF64, s, 0, 0, std::move(v)};
}

// Returns how many of the targets took a row of kWideKernels.
int expect_equal(OpId op, const Sample& s) {
  const std::vector<Value> in = make_inputs(s, DType::kF64);
  std::vector<Value> want;
  const Status status = run_op(op, s.attrs.get(), in, s.outputs, reference_sets(), nullptr, &want);
  EXPECT_TRUE(status.ok()) << s.name << ": " << status.message();
  if (!status.ok()) return 0;
  int taken = 0;
  for_each_simd_target([&](int64_t target) {
    for (int threads : {1, 3}) {
      ThreadPool* pool =
          threads == 1 ? nullptr
                       : ThreadPool::create(default_allocator(), threads_here(threads)).value();
      std::vector<Value> got;
      std::string kernel;
      const Status run = run_op(op, s.attrs.get(), in, s.outputs, cpu_sets(), pool, &got, &kernel);
      ThreadPool::destroy(pool);
      EXPECT_TRUE(run.ok()) << run.message();
      if (!run.ok()) return;
      taken += kernel.ends_with("f64.simd") ? 1 : 0;
      EXPECT_EQ(bits_differ(want[0].view(), got[0].view()), "")
          << s.name << " by " << kernel << ", " << simd_target_name(target) << ", " << threads
          << " threads";
    }
  });
  return taken;
}

TEST(WideRows, HaveTheReferenceBitsOnEverySample) {
  int taken = 0;
  for (const TestRow* row : {&kTest_MatMul, &kTest_Linear, &kTest_Conv, &kTest_ConvInputGrad,
                             &kTest_ConvWeightGrad, &kTest_ConvTranspose}) {
    for (const Sample& s : row->samples()) taken += expect_equal(row->op, s);
  }
  if (wide_products()) {
    EXPECT_GT(taken, 100);
  }
}

TEST(WideRows, ProductsAtRandom) {
  for (int i = 0; i < 40; ++i) {
    const int64_t m = from_to(1, 40), k = from_to(1, i % 9 == 0 ? 700 : 40),
                  n = from_to(1, i % 7 == 0 ? 230 : 40), batch = from_to(1, 4);
    expect_equal(OpId::kMatMul, sample("matmul", {wide({m, k}), wide({k, n})}, NoAttrs{}));
    expect_equal(OpId::kMatMul,
                 sample("batches", {wide({batch, 1, m, k}), wide({2, k, n})}, NoAttrs{}));
    expect_equal(OpId::kMatMul, sample("vector", {wide({batch, m, k}), wide({k})}, NoAttrs{}));
    expect_equal(OpId::kLinear,
                 sample("linear", {wide({batch, m, k}), wide({n, k}), wide({n})}, NoAttrs{}));
  }
}

struct Drawn {
  ConvAttrs attrs;
  Shape x, w, y;
};

// A convolution of one to three spatial dims with at least one output.
Drawn draw_conv() {
  for (;;) {
    Drawn c;
    const int spatial = static_cast<int>(from_to(1, 3));
    const int64_t groups = from_to(1, 3), in = from_to(1, 3), out = from_to(1, 9);
    c.attrs.group = groups;
    c.x = {from_to(1, 4), groups * in};
    c.w = {groups * out, in};
    c.y = {c.x[0], groups * out};
    c.attrs.pads.count = 2 * spatial;
    bool whole = true;
    for (int d = 0; d < spatial; ++d) {
      const int64_t size = from_to(1, spatial == 1   ? 120
                                      : spatial == 2 ? 14
                                                     : 6),
                    kernel = from_to(1, 4), stride = from_to(1, 3), dilation = from_to(1, 2),
                    before = from_to(0, 3), after = from_to(0, 3);
      const int64_t room = size + before + after - (kernel - 1) * dilation - 1;
      whole = whole && room >= 0;
      c.x.push_back(size), c.w.push_back(kernel), c.y.push_back(room / stride + 1);
      c.attrs.strides.values[c.attrs.strides.count++] = stride;
      c.attrs.dilations.values[c.attrs.dilations.count++] = dilation;
      c.attrs.pads.values[d] = before, c.attrs.pads.values[spatial + d] = after;
    }
    if (whole) return c;
  }
}

TEST(WideRows, ConvolutionsAtRandom) {
  int taken = 0;
  for (int i = 0; i < 120; ++i) {
    const Drawn c = draw_conv();
    const std::string name =
        fmt::format("conv x {} w {} y {}", to_text(c.x).text, to_text(c.w).text, to_text(c.y).text);
    taken +=
        expect_equal(OpId::kConv, sample(name, {wide(c.x), wide(c.w), wide({c.w[0]})}, c.attrs));
    ConvGradAttrs input{c.attrs, {}}, weight{c.attrs, {}};
    for (int d = 2; d < c.x.rank(); ++d) {
      input.spatial.values[input.spatial.count++] = c.x[d];
      weight.spatial.values[weight.spatial.count++] = c.w[d];
    }
    taken += expect_equal(OpId::kConvInputGrad, sample(name, {wide(c.y), wide(c.w)}, input));
    taken += expect_equal(OpId::kConvWeightGrad, sample(name, {wide(c.x), wide(c.y)}, weight));
    ConvTransposeAttrs transposed{c.attrs, {}, {}, 0};
    bool whole = true;  // the pads may cut off all
    for (int d = 2; d < c.y.rank(); ++d) {
      const int at = d - 2, spatial = c.y.rank() - 2;
      whole = whole && (c.y[d] - 1) * c.attrs.strides.values[at] +
                               (c.w[d] - 1) * c.attrs.dilations.values[at] + 1 >
                           c.attrs.pads.values[at] + c.attrs.pads.values[spatial + at];
    }
    if (!whole) continue;
    taken += expect_equal(OpId::kConvTranspose,
                          sample(name, {wide(c.y), wide(c.w), wide({c.x[1]})}, transposed));
  }
  if (wide_products()) {
    EXPECT_GT(taken, 600);
  }
}

// Weights that are not finite beside padding, which transposed convolutions skip, and sums of -0,
// which products that underflow leave.
TEST(WideRows, PaddingChangesNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  ConvTransposeAttrs a;
  a.conv.pads = {1, 1};
  for (double weight : {-1e-200, inf, std::numeric_limits<double>::quiet_NaN()}) {
    const Input x = {DType::kF64, {1, 1, 3}, 0, 0, {1e-200, 2, 1e-200}};
    for (const std::vector<double>& w :
         {std::vector<double>{1, 1, weight}, {weight, 1e-200, 1}, {1e-200, weight, weight}}) {
      const Input kernel = {DType::kF64, {1, 1, 3}, 0, 0, w};
      expect_equal(OpId::kConvTranspose, sample("transposed", {x, kernel}, a));
      expect_equal(OpId::kConv, sample("plain", {x, kernel}, a.conv));
    }
  }
}

}  // namespace
}  // namespace wick::test
