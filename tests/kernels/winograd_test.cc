// Convolutions whose products are Winograd's: every target, form and number of threads has the bits
// of the plain loops, which stay within their proven bound and keep their order for ever.
#include "runtime/kernels/conv/winograd.h"

#include <algorithm>

#include "runtime/kernels/product_rows.h"
#include "runtime/kernels/simd.h"
#include "tests/kernels/row_call.h"
#include "tests/support/digest.h"

namespace wick {
namespace {

using test::conv_call;
using test::Random;
using test::RowCall;
using test::same_bits;

FusedConvAttrs winograd(IntList<6> pads = {}) {
  FusedConvAttrs a;
  a.conv.pads = pads;
  a.conv.products = static_cast<int64_t>(Products::kWinograd);
  return a;
}

TEST(Winograd, RandomShapesHaveTheReferenceBits) {
  Random random(3);
  const auto pick = [&](std::initializer_list<int64_t> of) {
    return of.begin()[random.next() % of.size()];
  };
  ThreadPool* pools[] = {nullptr, ThreadPool::create(default_allocator(), 2).value(),
                         ThreadPool::create(default_allocator(), 5).value()};
  int checked = 0;
  for (int i = 0; i < 60; ++i) {
    const Shape x = {pick({1, 1, 2, 3}), pick({1, 3, 7, 16, 33, 64}), pick({1, 2, 5, 8, 13, 30}),
                     pick({1, 3, 4, 7, 14, 27})};
    FusedConvAttrs a = winograd({pick({1, 1, 2, 4}), pick({1, 1, 3}), pick({1, 2}), pick({1, 5})});
    const auto act = static_cast<Activation>(random.next() % 10);
    a.epilogue = {static_cast<int64_t>(act), act == Activation::kClip ? 0.0 : 0.1, 0.75};
    const RowCall call =
        conv_call(random, x, {pick({1, 5, 16, 31, 48, 70}), x[1], 3, 3}, a, random.next() % 8);
    const std::vector<float> want = call.run(kReferenceKernels);
    for_each_simd_target([&](int64_t target) {
      for (ThreadPool* pool : pools) {
        SCOPED_TRACE(std::string(simd_target_name(target)) + " " + to_text(x).text + " to " +
                     to_text(call.y).text + ", " +
                     std::to_string(pool == nullptr ? 1 : pool->threads()) + " threads");
        std::string row;
        const std::vector<float> got =
            call.run(kProductKernels, pool, random.next() % 2 != 0, &row);
        EXPECT_EQ(row, "fused_conv.f32.winograd");
        ++checked;
        if (!simd_target_has_fma(target)) continue;
        EXPECT_TRUE(same_bits(got, want));
      }
    });
  }
  for (ThreadPool* pool : pools) {
    if (pool != nullptr) ThreadPool::destroy(pool);
  }
  std::printf("COUNT: winograd convolutions: %d\n", checked);
}

// Blocks of tiles that threads cut, more tiles than one block has, and k beyond one block of gemm.
TEST(Winograd, LargeShapesHaveTheReferenceBits) {
  Random random(8);
  const RowCall calls[] = {
      conv_call(random, {1, 4, 70, 66}, {5, 4, 3, 3}, winograd({1, 1, 1, 1}), 7),
      conv_call(random, {1, 2, 3, 800}, {3, 2, 3, 3}, winograd(), 1),
      conv_call(random, {1, 1100, 4, 5}, {9, 1100, 3, 3}, winograd({1, 1, 1, 1}))};
  for (const RowCall& call : calls) {
    const std::vector<float> want = call.run(kReferenceKernels);
    for_each_simd_target([&](int64_t target) {
      if (!simd_target_has_fma(target)) return;
      EXPECT_TRUE(same_bits(call.run(kProductKernels), want));
    });
  }
}

// The bound of docs/numerics.md: gamma(c + 10) times 64 c max|x| max|w|.
TEST(Winograd, StaysWithinItsBound) {
  Random random(5);
  double worst = 0;
  for (const int64_t c : {1, 8, 64, 256}) {
    const RowCall call = conv_call(random, {1, c, 12, 13}, {8, c, 3, 3}, winograd({1, 1, 1, 1}));
    const std::vector<float> got = call.run(kReferenceKernels);
    const double n = static_cast<double>(c) + 10, u = 0x1p-24;
    const double bound = n * u / (1 - n * u) * 64 * static_cast<double>(c);
    for (int64_t i = 0; i < numel(call.y); ++i) {
      const int64_t o = i / (12 * 13), r = i / 13 % 12, q = i % 13;
      double sum = 0;
      for (int64_t k = 0; k < c * 9; ++k) {
        const int64_t h = r - 1 + k / 3 % 3, w = q - 1 + k % 3;
        if (h < 0 || h >= 12 || w < 0 || w >= 13) continue;
        sum += double{call.data[0][static_cast<size_t>((k / 9 * 12 + h) * 13 + w)]} *
               call.data[1][static_cast<size_t>(o * c * 9 + k)];
      }
      const double off = std::fabs(got[static_cast<size_t>(i)] - sum);
      worst = std::max(worst, off / bound);
      ASSERT_LE(off, bound) << c << " channels, element " << i;
    }
  }
  std::printf("winograd: at most %.3g of the bound\n", worst);
  EXPECT_GT(worst, 1e-4);  // a wider bound would show nothing
}

// Digests of its first day: files that ask for this order have its bits for ever.
TEST(Winograd, KeepsItsBits) {
  Random random(21);
  FusedConvAttrs a = winograd({1, 1, 1, 1});
  a.epilogue.activation = static_cast<int64_t>(Activation::kRelu);
  const RowCall call = conv_call(random, {2, 35, 9, 14}, {20, 35, 3, 3}, a, 7);
  const auto digest = [&](const KernelSet& set) {
    const std::vector<float> y = call.run(set);
    return test::digest(y.data(), static_cast<int64_t>(y.size()));
  };
  constexpr uint64_t kDigest = 0x7daab674aeb3ef2fu;
  EXPECT_EQ(digest(kReferenceKernels), kDigest);
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    EXPECT_EQ(digest(kProductKernels), kDigest) << simd_target_name(target);
  });
  RowCall exact = call;
  exact.attrs.as<FusedConvAttrs>().conv.products = 0;
  EXPECT_FALSE(same_bits(exact.run(kReferenceKernels), call.run(kReferenceKernels)));
}

// Other convolutions keep the exact order, whatever the node asks for.
TEST(Winograd, AppliesTo3x3OfStrideOneOnly) {
  Random random(6);
  const auto check = [&](Shape w, const FusedConvAttrs& a) {
    RowCall call = conv_call(random, {1, 8, 11, 12}, w, a);
    const std::vector<float> asked = call.run(kReferenceKernels);
    std::string row;
    call.run(kCpuKernels, nullptr, false, &row);
    EXPECT_EQ(row, "fused_conv.f32.simd");
    call.attrs.as<FusedConvAttrs>().conv.products = 0;
    EXPECT_TRUE(same_bits(asked, call.run(kReferenceKernels)));
  };
  check({16, 8, 5, 5}, winograd());
  check({16, 8, 3, 1}, winograd());
  FusedConvAttrs a = winograd();
  a.conv.strides = {1, 2};
  check({16, 8, 3, 3}, a);
  a = winograd();
  a.conv.dilations = {2, 1};
  check({16, 8, 3, 3}, a);
  a = winograd();
  a.conv.group = 2;
  check({16, 4, 3, 3}, a);
}

}  // namespace
}  // namespace wick
