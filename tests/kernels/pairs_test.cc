// Products whose operands are rounded to bf16: the instruction, every target without it, every form
// and number of threads have the bits of the plain loops, which keep their order for ever.
#include "runtime/kernels/gemm/pairs.h"

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

EpilogueAttrs epilogue(Activation act = Activation::kNone) {
  return {static_cast<int64_t>(act), act == Activation::kClip ? 0.0 : 0.1, 0.75,
          static_cast<int64_t>(Products::kBf16)};
}
FusedConvAttrs conv(IntList<6> pads = {}) {
  FusedConvAttrs a;
  a.conv.pads = pads;
  a.conv.products = static_cast<int64_t>(Products::kBf16);
  return a;
}

RowCall linear_call(Random& random, bool linear, int64_t m, int64_t n, int64_t k,
                    const EpilogueAttrs& a, unsigned parts = 0) {
  const OpId op = linear ? OpId::kFusedLinear : OpId::kFusedMatMul;
  RowCall call{op, AnyAttrs::of(a), {}, {}, {m, n}};
  call.add(random, {m, k});
  call.add(random, linear ? Shape{n, k} : Shape{k, n});
  call.add_epilogue(random, n, parts);
  return call;
}

// Makes some numbers so small that sums of products become subnormal.
void shrink(Random& random, std::vector<float>* data) {
  for (float& v : *data) {
    const uint32_t kind = random.next() % 4;
    v *= kind == 0 ? 0.0f : kind == 1 ? 0x1p-64f : kind == 2 ? 0x1p-60f : 0x1p-140f;
  }
}

// The rows of every target, with and without threads and packed weights.
void expect_bits(const RowCall& call, const std::string& row, Random& random) {
  const std::vector<float> want = call.run(kReferenceKernels);
  ThreadPool* pools[] = {nullptr, ThreadPool::create(default_allocator(), 3).value()};
  for_each_simd_target([&](int64_t target) {
    for (ThreadPool* pool : pools) {
      SCOPED_TRACE(simd_target_name(target));
      std::string name;
      const std::vector<float> got = call.run(kProductKernels, pool, random.next() % 2 != 0, &name);
      EXPECT_EQ(name, row);
      if (!simd_target_has_fma(target)) continue;
      EXPECT_TRUE(same_bits(got, want));
    }
  });
  ThreadPool::destroy(pools[1]);
}

int64_t pick(Random& random, std::initializer_list<int64_t> of) {
  return of.begin()[random.next() % of.size()];
}

TEST(Pairs, LinearLayersHaveTheReferenceBits) {
  Random random(31);
  for (int i = 0; i < 60; ++i) {
    const bool linear = i % 2 == 0;
    const int64_t m = pick(random, {1, 2, 5, 8, 9, 70}), n = pick(random, {1, 3, 16, 33, 50, 130}),
                  k = pick(random, {0, 1, 2, 7, 32, 65, 300});
    RowCall call =
        linear_call(random, linear, m, n, k, epilogue(static_cast<Activation>(random.next() % 10)),
                    random.next() % 8);
    if (i % 3 == 0) shrink(random, &call.data[0]);
    if (i % 6 == 0) shrink(random, &call.data[1]);
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
    expect_bits(call, linear ? "fused_linear.f32.bf16" : "fused_matmul.f32.bf16", random);
  }
  expect_bits(linear_call(random, true, 3, 20, 2500, epilogue()), "fused_linear.f32.bf16", random);
}

TEST(Pairs, ConvolutionsHaveTheReferenceBits) {
  Random random(32);
  for (int i = 0; i < 60; ++i) {
    const int64_t c = pick(random, {1, 2, 3, 16, 17, 40}), o = pick(random, {1, 5, 16, 48, 70});
    const int64_t k = pick(random, {1, 2, 3, 3, 5}), pad = pick(random, {0, k / 2, 2});
    FusedConvAttrs a = conv({pad, pad, pad, k / 2});
    a.conv.strides = {pick(random, {1, 1, 2}), pick(random, {1, 1, 3})};
    a.conv.dilations = {pick(random, {1, 1, 2}), 1};
    a.epilogue.activation = static_cast<int64_t>(random.next() % 4);
    a.epilogue.beta = 0.5;
    const Shape x = {pick(random, {1, 2}), c, pick(random, {9, 12}), pick(random, {7, 9, 20, 150})};
    RowCall call = conv_call(random, x, {o, c, k, k}, a, random.next() % 8);
    if (i % 4 == 0) shrink(random, &call.data[0]);
    SCOPED_TRACE(std::string(to_text(x).text) + " to " + to_text(call.y).text);
    expect_bits(call, "fused_conv.f32.bf16", random);
  }
  FusedConvAttrs line = conv({2, 2});
  expect_bits(conv_call(random, {2, 6, 19}, {9, 6, 5}, line), "fused_conv.f32.bf16", random);
}

// One word of each operand at a time: numbers at the ends of the range, infinities and NaN.
TEST(Pairs, AddAsTheInstructionDoes) {
  if (!has_pair_words()) GTEST_SKIP() << "not supported by this CPU";
  Random random(33);
  const auto bits = [&](int64_t exponent, int64_t range) {
    return static_cast<uint32_t>((exponent + random.below(range)) << 23 | random.below(1 << 23) |
                                 random.below(2) << 31);
  };
  const auto daz = [](float v) { return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; };
  for (int i = 0; i < 400000; ++i) {
    // Exponents of the operands and of the sum that they are added to.
    constexpr int64_t kKinds[][3] = {{110, 110, 120}, {50, 50, 0}, {180, 180, 225}, {0, 0, 0}};
    const auto& kind = kKinds[i % 4];
    const int64_t range = i % 4 == 3 ? 256 : 30;
    uint32_t a[2], b[2];
    for (int e = 0; e < 2; ++e) {
      a[e] = bits(kind[0], range) & 0xFFFF0000;
      b[e] = bits(kind[1], range) & 0xFFFF0000;
    }
    float sums[16];
    std::fill_n(sums, 16, daz(std::bit_cast<float>(bits(kind[2], range))));
    if (i % 5 == 0) {  // a sum just below 2^-126, where rounding decides
      a[0] = 0x00800000, b[0] = bits(100, 6) & 0xFFFF0000, a[1] = 0;
      std::fill_n(sums, 16, random.below(2) == 0 ? 0x1p-126f : -0x1p-126f);
    }
    float want = sums[0];
    for (int e = 1; e >= 0; --e)
      want = pair_add(daz(std::bit_cast<float>(a[e])), daz(std::bit_cast<float>(b[e])), want);
    const float word = std::bit_cast<float>(a[1] | a[0] >> 16);
    float words[16];
    std::fill_n(words, 16, std::bit_cast<float>(b[1] | b[0] >> 16));
    const int32_t offset = 0;
    TileArgs t = {};
    t.rows[0] = &word, t.vec = words, t.out = sums, t.out_step = 16;
    t.row_offset = &offset, t.k = 1, t.row_count = 1, t.cols = 16, t.resume = true;
    pair_words_tile(t);
    ASSERT_TRUE(same_bits({want}, {sums[15]}))
        << std::hexfloat << std::bit_cast<float>(a[0]) << " " << std::bit_cast<float>(a[1]) << " "
        << std::bit_cast<float>(b[0]) << " " << std::bit_cast<float>(b[1]);
  }
}

// The bound of docs/numerics.md: two roundings to 8 bits and one to 24 for each addition.
TEST(Pairs, StayWithinTheirBound) {
  Random random(34);
  double worst = 0;
  for (const int64_t k : {1, 10, 300, 2000}) {
    const RowCall call = linear_call(random, true, 4, 50, k, epilogue());
    const std::vector<float> got = call.run(kReferenceKernels);
    for (int64_t i = 0; i < 200; ++i) {
      double sum = 0, size = 0;
      for (int64_t j = 0; j < k; ++j) {
        const double term = double{call.data[0][static_cast<size_t>(i / 50 * k + j)]} *
                            call.data[1][static_cast<size_t>(i % 50 * k + j)];
        sum += term, size += std::fabs(term);
      }
      const double n = static_cast<double>(k) * 0x1p-24;
      const double bound = ((1 + 0x1p-8) * (1 + 0x1p-8) * (1 + n / (1 - n)) - 1) * size;
      const double off = std::fabs(got[static_cast<size_t>(i)] - sum);
      worst = std::max(worst, off / bound);
      ASSERT_LE(off, bound) << k << " terms, element " << i;
    }
  }
  std::printf("pairs: at most %.3g of the bound\n", worst);
  EXPECT_GT(worst, 0.2);  // of one term
}

// Digests of their first day: files that ask for this order have its bits for ever.
TEST(Pairs, KeepTheirBits) {
  Random random(35);
  FusedConvAttrs a = conv({1, 1, 1, 1});
  a.conv.strides = {1, 2};
  RowCall calls[] = {linear_call(random, true, 7, 45, 83, epilogue(Activation::kRelu), 7),
                     conv_call(random, {2, 7, 9, 14}, {20, 7, 3, 3}, a, 3),
                     linear_call(random, false, 7, 45, 84, epilogue(), 1)};
  shrink(random, &calls[2].data[0]);
  shrink(random, &calls[2].data[1]);
  const auto digest = [&](const KernelSet& set) {
    uint64_t all = test::kDigestSeed;
    for (const RowCall& call : calls) {
      const std::vector<float> y = call.run(set);
      all = test::digest(y.data(), static_cast<int64_t>(y.size()), all);
    }
    return all;
  };
  constexpr uint64_t kDigest = 0x8cde158c07fa0aabu;
  EXPECT_EQ(digest(kReferenceKernels), kDigest);
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    EXPECT_EQ(digest(kProductKernels), kDigest) << simd_target_name(target);
  });
}

// Groups and three dims keep the exact order, whatever the node asks for.
TEST(Pairs, ApplyToOneGroupOverOneOrTwoDims) {
  Random random(36);
  const auto check = [&](const Shape& x, const Shape& w, const FusedConvAttrs& a) {
    RowCall call = conv_call(random, x, w, a);
    const std::vector<float> asked = call.run(kReferenceKernels);
    std::string row;
    call.run(kCpuKernels, nullptr, false, &row);
    EXPECT_EQ(row, "fused_conv.f32.simd");
    call.attrs.as<FusedConvAttrs>().conv.products = 0;
    EXPECT_TRUE(same_bits(asked, call.run(kReferenceKernels)));
  };
  FusedConvAttrs a = conv();
  a.conv.group = 2;
  check({1, 8, 11, 12}, {16, 4, 3, 3}, a);
  check({1, 3, 4, 5, 6}, {5, 3, 2, 3, 3}, conv());
}

}  // namespace
}  // namespace wick
