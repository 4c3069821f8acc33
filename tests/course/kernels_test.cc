// The kernels of the course beside the functions that models use: values, gradients, ragged sizes,
// and the bytes that each moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "trainer/course/course.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using ::testing::HasSubstr;

constexpr double kUnit = 0x1p-24;

// Expects |a - b| <= bound, element by element.
void expect_within(const Tensor& a, const Tensor& b, const Tensor& bound, const char* what) {
  ASSERT_EQ(a.raw_shape(), b.raw_shape()) << what;
  const Tensor over = abs(a.to(DType::kF64) - b.to(DType::kF64)) - bound.to(DType::kF64);
  EXPECT_LE(max(over).item(), 0) << what;
}
bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return a.raw_shape() == b.raw_shape() &&
         memcmp(x.raw().data, y.raw().data, x.raw().nbytes()) == 0;
}

TEST(TiledMatmul, AnyTileOfAnySize) {
  manual_seed(1);
  const int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {64, 64, 64}, {65, 70, 130}, {3, 200, 65}};
  for (const auto& [m, k, n] : sizes) {
    const Tensor a = randn({m, k}), b = randn({k, n});
    const Tensor exact = matmul(a.to(DType::kF64), b.to(DType::kF64));
    const Tensor terms = matmul(abs(a), abs(b)).to(DType::kF64);
    for (int64_t tile : {1, 3, 64, 1000}) {
      if (m * n * k > 20'000 * tile * tile) continue;  // too many blocks
      const Tensor c = course::tiled_matmul(a, b, tile);
      const double blocks = static_cast<double>((k + tile - 1) / tile);
      expect_within(c, exact, terms * ((static_cast<double>(k) + blocks + 1) * kUnit * 1.01),
                    "tiled_matmul");
      if (tile >= k) {
        EXPECT_TRUE(same_bits(c, matmul(a, b)));
      }
    }
    EXPECT_TRUE(same_bits(course::vectorized_matmul(a, b), matmul(a, b)));
  }
}

TEST(TiledMatmul, GradientsOfBothOrders) {
  manual_seed(2);
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{course::tiled_matmul(in[0], in[1], 3)};
  };
  const std::vector<Tensor> in = {randn({4, 7}, DType::kF64).requires_grad_(),
                                  randn({7, 5}, DType::kF64).requires_grad_()};
  const GradcheckResult first = gradcheck(f, in), second = gradgradcheck(f, in);
  EXPECT_TRUE(first.ok) << first.message;
  EXPECT_TRUE(second.ok) << second.message;
}

// Under autocast a product's dtypes are joined as matmul()'s are, and gradients reach the leaves.
TEST(TiledMatmul, AutocastJoinsDtypes) {
  manual_seed(3);
  const Tensor a = randn({5, 8}).requires_grad_(),
               b = randn({8, 4}).to(DType::kBF16).clone().requires_grad_();
  const auto run = [&](const auto& product) {
    AutocastScope scope(DType::kBF16);
    const Tensor y = product(a, b);
    EXPECT_EQ(y.dtype(), DType::kBF16);
    variable_list out = grad({sum(y * y)}, {a, b});
    out.push_back(y.detach());
    return out;
  };
  const auto ours =
      run([](const Tensor& x, const Tensor& y) { return course::tiled_matmul(x, y, 8); });
  const auto exact = run([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].dtype(), exact[i].dtype());
    EXPECT_TRUE(same_bits(ours[i], exact[i])) << i;
  }
}

TEST(TiledMatmul, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of([] {
                course::tiled_matmul(ones({2, 3}), ones({4, 5}));
              }),
              HasSubstr("[tiled_matmul] needs a[M, K] and b[K, N], got [2,3], [4,5]"));
  EXPECT_THAT(error_of([] {
                course::tiled_matmul(ones({2, 3}), ones({3, 5}), 0);
              }),
              HasSubstr("tile must be at least 1, got 0"));
  EXPECT_THAT(error_of([] {
                course::tiled_matmul(ones({2, 0}), ones({0, 5}, DType::kF64));
              }),
              HasSubstr("[tiled_matmul] operands must have one dtype, got float32 and float64"));
}

// Bytes that f's kernels move, by the profiler's table of costs.
double bytes_of(const std::function<void()>& f) {
  Profiler profiler;
  f();
  double bytes = 0;
  for (const ProfileSlice& s : profiler.stop().slices) bytes += s.cost.bytes();
  return bytes;
}

// T17: 2 trips through memory instead of the 18 of eight kernels; a course that counts one read and
// one write for each of seven steps says 14.
TEST(Gelu, FusedMovesANinthOfTheBytes) {
  const int64_t n = 10'000;
  const Tensor x = randn({n});
  const double trip = 4.0 * static_cast<double>(n);
  const auto near = [&](double trips) {  // scalars are arrays of one element
    return ::testing::AllOf(::testing::Ge(trips * trip), ::testing::Le(trips * trip + 100));
  };
  EXPECT_THAT(bytes_of([&] { course::fused_gelu(x); }), near(2));
  EXPECT_THAT(bytes_of([&] { course::unfused_gelu(x); }), near(18));
}

TEST(Gelu, FusedAndUnfusedAgree) {
  const Tensor x = linspace(-12, 12, 40'001);
  const Tensor fused = course::fused_gelu(x), unfused = course::unfused_gelu(x);
  EXPECT_LE(max(abs(fused - unfused)).item(), 1e-5);
  const Tensor near = x.slice(0, 15'001, 25'000);  // |x| < 3
  expect_within(course::fused_gelu(near), course::unfused_gelu(near), abs(near) * (8 * kUnit),
                "gelu");
  const Tensor leaf = linspace(-3, 3, 41, DType::kF64).requires_grad_();
  const Tensor a = grad({sum(course::fused_gelu(leaf))}, {leaf})[0];
  const Tensor b = grad({sum(course::unfused_gelu(leaf))}, {leaf})[0];
  EXPECT_LE(max(abs(a - b)).item(), 1e-12);
}

// P6-p4: the bits of the parts, and their bytes less two passes over the hidden values twice.
TEST(FusedMlp, HasTheBitsOfItsPartsAndFewerBytes) {
  manual_seed(3);
  const int64_t n = 37, in = 24, hidden = 96, out = 10;
  const Tensor x = randn({n, in}), w1 = randn({hidden, in}), b1 = randn({hidden}),
               w2 = randn({out, hidden}), b2 = randn({out});
  const auto parts = [&] { return linear(gelu(matmul(x, w1.t()) + b1), w2, b2); };
  EXPECT_TRUE(
      same_bits(course::fused_mlp(x, w1, b1, w2, b2), linear(gelu(linear(x, w1, b1)), w2, b2)));
  EXPECT_EQ(bytes_of(parts) - bytes_of([&] { course::fused_mlp(x, w1, b1, w2, b2); }),
            4.0 * 4 * n * hidden);
  const auto leaves = [&] {
    std::vector<Tensor> list;
    for (const Tensor& t : {x, w1, b1, w2, b2}) list.push_back(t.clone().requires_grad_());
    return list;
  };
  const auto fused = leaves(), unfused = leaves();
  sum(course::fused_mlp(fused[0], fused[1], fused[2], fused[3], fused[4])).backward();
  sum(linear(gelu(linear(unfused[0], unfused[1], unfused[2])), unfused[3], unfused[4])).backward();
  for (size_t i = 0; i < fused.size(); ++i)
    EXPECT_LE(max(abs(fused[i].grad() - unfused[i].grad())).item(),
              1e-5 * max(abs(unfused[i].grad())).item());
}

struct Window {
  int64_t n, c, h, w;
  Pair kernel, stride, padding;
};
const Window kWindows[] = {
    {1, 1, 3, 3, {3, 3}, 1, 0},      {2, 3, 7, 5, {3, 2}, {2, 1}, {1, 0}},
    {1, 4, 9, 9, {3, 3}, 2, 1},      {3, 2, 6, 11, {1, 5}, {3, 2}, {0, 2}},
    {2, 1, 8, 8, {4, 4}, {4, 4}, 0}, {1, 5, 5, 5, {5, 5}, 1, 2},
};

// <im2col x, g> = <x, col2im g>. The numbers are small integers, whose sums are exact.
TEST(Im2col, IsTheAdjointOfCol2im) {
  manual_seed(4);
  for (const Window& w : kWindows) {
    const Tensor x = randint(-4, 5, {w.n, w.c, w.h, w.w}).to(DType::kF32);
    const Tensor columns = course::im2col(x, w.kernel, w.stride, w.padding);
    const Tensor g = randint(-4, 5, columns.raw_shape()).to(DType::kF32);
    const Tensor back = course::col2im(g, {w.h, w.w}, w.kernel, w.stride, w.padding);
    EXPECT_EQ(sum(columns * g).item(), sum(x * back).item());
    const Tensor leaf = x.clone().requires_grad_();
    sum(course::im2col(leaf, w.kernel, w.stride, w.padding) * g).backward();
    EXPECT_TRUE(same_bits(leaf.grad(), back));
  }
}

TEST(Im2col, TakesTheWindowsInTheirOrder) {
  const Tensor x = arange(12).to(DType::kF32).reshape({1, 1, 3, 4});
  const Tensor columns = course::im2col(x, {2, 2}, {1, 2}, {0, 1});
  EXPECT_EQ(columns.raw_shape(), (Shape{1, 4, 6}));
  EXPECT_EQ(columns.to_string(), course::im2col(x, {2, 2}, {1, 2}, {0, 1}).to_string());
  // upper left, upper right, lower left, lower right of each window
  const float want[4][6] = {
      {0, 1, 3, 0, 5, 7}, {0, 2, 0, 4, 6, 0}, {0, 5, 7, 0, 9, 11}, {4, 6, 0, 8, 10, 0}};
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_EQ(columns.slice(1, i, i + 1).slice(2, j, j + 1).item(), want[i][j]) << i << " " << j;
  }
}

// M08: every shape, with stride 2 and padding, beside nn::Conv2d: two orders of one sum.
TEST(Im2colConv2d, IsAConvolution) {
  for (const Window& w : kWindows) {
    manual_seed(5);
    course::Im2colConv2d ours(w.c, 6, w.kernel, w.stride, w.padding);
    manual_seed(5);
    nn::Conv2d conv(w.c, 6, w.kernel, {.stride = w.stride, .padding = w.padding});
    EXPECT_TRUE(same_bits(ours.weight, conv.weight));
    EXPECT_TRUE(same_bits(ours.bias, conv.bias));
    const Tensor a = randn({w.n, w.c, w.h, w.w}).requires_grad_();
    const Tensor b = a.detach().clone().requires_grad_();
    const Tensor y = ours(a), z = conv(b);
    const Tensor terms = conv2d(abs(a.detach()), abs(conv.weight.detach()), abs(conv.bias.detach()),
                                w.stride, w.padding);
    const auto k = static_cast<double>(w.c * w.kernel.h * w.kernel.w);
    expect_within(y, z, terms * (2 * (k + 1) * kUnit * 1.01), "im2col convolution");
    const Tensor g = randn(y.raw_shape());
    y.backward(g);
    z.backward(g);
    for (const auto& [p, q] :
         {std::pair(a.grad(), b.grad()), std::pair(ours.weight.grad(), conv.weight.grad()),
          std::pair(ours.bias.grad(), conv.bias.grad())})
      EXPECT_LE(max(abs(p - q)).item(), 1e-3 * max(abs(q)).item());
  }
  {
    course::Im2colConv2d ours(2, 3, 3);
    nn::Conv2d conv(2, 3, 3);
    const Tensor x = ones({1, 2, 5, 5});
    AutocastScope scope(DType::kBF16);
    EXPECT_EQ(ours(x).dtype(), conv(x).dtype());
  }
  EXPECT_THAT(error_of([] {
                course::Im2colConv2d(3, 2, 3)(ones({1, 2, 5, 5}));
              }),
              HasSubstr("[Im2colConv2d] needs x[N, 3, H, W], got [1,2,5,5]"));
}

}  // namespace
}  // namespace wick
