#include "runtime/kernels/conv/conv.h"

#include "runtime/kernels/simd.h"
#include "tests/kernels/kernel_test_util.h"

namespace wick {
namespace {

using test::NanBuffer;
using test::Random;
using test::random_floats;
using test::same_bits;

ConvShape make(int64_t n, int64_t ic, int64_t h, int64_t w, int64_t oc, int64_t kernel,
               int64_t stride, int64_t pad, int64_t dilation = 1, int64_t groups = 1) {
  ConvShape s;
  s.n = n, s.ic = ic, s.h = h, s.w = w, s.oc = oc, s.kh = s.kw = kernel;
  s.stride_h = s.stride_w = stride, s.dilation_h = s.dilation_w = dilation;
  s.pad_top = s.pad_left = pad, s.groups = groups;
  s.oh = (h + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  s.ow = (w + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  return s;
}

struct Parts {
  bool bias = false, scale = false, residual = false;
  Activation act = Activation::kNone;
};

void check(const ConvShape& s, const Parts& parts) {
  Random random(static_cast<uint64_t>(s.n + 7 * s.ic + 31 * s.h + 101 * s.w + 1009 * s.oc + s.kh));
  const auto x = random_floats(random, s.n * s.ic * s.h * s.w);
  const auto w = random_floats(random, s.oc * s.group_in() * s.taps());
  const int64_t out = s.n * s.oc * s.oh * s.ow;
  const auto bias = random_floats(random, s.oc), scale = random_floats(random, s.oc);
  const auto shift = random_floats(random, s.oc), residual = random_floats(random, out);
  Epilogue e;
  if (parts.bias) e.bias = bias.data();
  if (parts.scale) e.scale = scale.data(), e.shift = shift.data();
  if (parts.residual) e.residual = residual.data();
  e.act = parts.act;
  e.alpha = parts.act == Activation::kClip ? -0.5f : 0.1f;
  e.beta = 0.75f;
  std::vector<float> expected(static_cast<size_t>(out));
  conv_ref(s, x.data(), w.data(), expected.data(), e);
  auto pool = ThreadPool::create(default_allocator(), 3);
  ASSERT_TRUE(pool.ok());
  for_each_simd_target([&](int64_t target) {
    const TileKernels& t = tile_kernels();
    if (has_loop(e.act)) e.loop = activation_loop(e.act, e.edition);  // of this target
    for (ThreadPool* p : {static_cast<ThreadPool*>(nullptr), pool.value()}) {
      const int threads = p == nullptr ? 1 : p->threads();
      for (bool by_image : {false, true}) {
        for (int path = 0; path < 2; ++path) {
          ConvPlan plan = conv_plan(t, s, threads);
          plan.by_image = by_image;
          if (path == 1) {  // the other way must give the same bits
            if (plan.path == ConvPlan::Path::kDepthwise) continue;
            const bool channels = plan.path == ConvPlan::Path::kPixels;
            plan = conv_plan_for(s, threads,
                                 channels ? ConvPlan::Path::kChannels : ConvPlan::Path::kPixels);
            plan.by_image = by_image;
          }
          NanBuffer packed(conv_packed_bytes(t, plan));
          conv_pack(t, plan, w.data(), packed.data());
          NanBuffer scratch(conv_scratch_bytes(t, plan, threads));
          std::vector<float> got(static_cast<size_t>(out), -7.0f);
          conv(t, plan, x.data(), packed.data(), got.data(), e, scratch.data(), p);
          SCOPED_TRACE(::testing::Message()
                       << simd_target_name(target) << " path " << static_cast<int>(plan.path)
                       << " threads " << threads << " by image " << by_image << ": x " << s.n << ","
                       << s.ic << "," << s.h << "," << s.w << " w " << s.oc << "," << s.kh << ","
                       << s.kw << " stride " << s.stride_h << " pad " << s.pad_top << " dilation "
                       << s.dilation_h << " groups " << s.groups);
          if (simd_target_has_fma(target)) {
            ASSERT_TRUE(same_bits(got, expected));
          } else {
            ASSERT_TRUE(test::close_without_fma(got, expected, plan.k, 2.0f));
          }
        }
      }
    }
  });
  ThreadPool::destroy(pool.value());
}

void check(const ConvShape& s, bool with_epilogue = false) {
  check(s, with_epilogue ? Parts{true, true, true, Activation::kRelu} : Parts{});
}

// Tiles that finish in registers, in place, by rows of a few vectors, over a flattened image and by
// channels, and the pass after them.
TEST(Conv, EveryEpilogue) {
  for (Activation act : {Activation::kNone, Activation::kRelu, Activation::kClip,
                         Activation::kLeakyRelu, Activation::kSigmoid, Activation::kHardSigmoid,
                         Activation::kTimesSigmoid, Activation::kTimesHardSigmoid}) {
    for (int mask = 0; mask < 8; ++mask) {
      const Parts parts = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, act};
      check(make(1, 1, 9, 28, 11, 3, 1, 1), parts);
      check(make(1, 3, 7, 7, 11, 1, 1, 0), parts);
      check(make(1, 2, 5, 7, 5, 3, 1, 1), parts);
      check(make(1, 12, 6, 6, 33, 3, 2, 1), parts);
      check(make(1, 3, 9, 20, 3, 3, 1, 1, 1, 3), parts);
    }
  }
}

TEST(Conv, LeNet) {
  check(make(1, 1, 28, 28, 32, 3, 1, 1));
  check(make(1, 32, 14, 14, 64, 3, 1, 1), true);
  check(make(3, 4, 14, 14, 20, 3, 1, 1), true);
}

// Several images fill a tile, and a tile ends in the middle of one.
TEST(Conv, SmallMapsTakeImagesTogether) {
  check(make(37, 6, 1, 1, 19, 3, 1, 1), true);
  check(make(140, 3, 1, 1, 50, 1, 1, 0));
  check(make(9, 5, 2, 2, 33, 3, 1, 1), true);
  check(make(11, 4, 3, 3, 20, 3, 1, 1), {true, false, true, Activation::kSigmoid});
  check(make(7, 4, 5, 4, 20, 3, 2, 1), true);
  check(make(5, 6, 4, 4, 24, 3, 1, 1, 1, 2), true);
}

TEST(Conv, PointWise) {
  for (int64_t hw : {1, 3, 7, 12}) {
    for (int64_t oc : {1, 3, 16, 33}) check(make(2, 5, hw, hw, oc, 1, 1, 0), oc % 2 == 0);
  }
  check(make(1, 20, 9, 9, 12, 1, 2, 0));
}

// Of the planes of every stride-th row and column, only those that a tap reads are made.
TEST(Conv, StridesWiderThanTheKernel) {
  for (int64_t kernel : {1, 2, 3}) {
    for (int64_t stride : {3, 5, 9}) {
      for (int64_t groups : {1, 3, 6}) {
        check(make(2, 6, 19, 17, 12, kernel, stride, 0, 1, groups), true);
        check(make(1, 6, 19, 23, 6, kernel, stride, 2, 1, groups));
        check(make(1, 6, 25, 27, 18, kernel, stride, 3, 2, groups), true);
      }
    }
  }
}

// A step's time is limited by its multiply-adds: padding that costs far more is left to the plain
// loops, which write none of it.
TEST(Conv, PaddingIsInProportionToTheWork) {
  EXPECT_TRUE(conv_supported(make(1, 64, 56, 56, 64, 3, 1, 1)));
  EXPECT_TRUE(conv_supported(make(1, 256, 33, 33, 256, 3, 1, 36, 36)));       // atrous
  EXPECT_TRUE(conv_supported(make(1, 512, 33, 33, 512, 3, 1, 36, 36, 512)));  // and by channel
  EXPECT_TRUE(conv_supported(make(1, 3, 4, 4, 8, 3, 1, 4000, 4000)));  // taps that reach are kept
  EXPECT_FALSE(conv_supported(make(1, 8, 4, 4, 8, 3, 1, 4000, 4000, 2)));
  EXPECT_FALSE(conv_supported(make(1, 512, 4, 4, 512, 3, 20000, 20000, 1, 512)));
  // whatever is supported takes scratch of that measure
  for (int64_t stride : {1, 100, 20000}) {
    for (int64_t dilation : {1, 100, 4000}) {
      for (int64_t groups : {1, 2, 8}) {
        const ConvShape s = make(1, 8, 4, 4, 8, 3, stride, dilation, dilation, groups);
        if (!conv_supported(s)) continue;
        EXPECT_LT(conv_scratch_bytes(tile_kernels(), conv_plan(tile_kernels(), s, 1), 1), 1 << 20)
            << stride << " " << dilation << " " << groups;
      }
    }
  }
}

TEST(Conv, StridesPadsDilations) {
  for (int64_t kernel : {2, 3, 5}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t pad : {0, 1, 2}) {
        check(make(1, 3, 11, 13, 9, kernel, stride, pad), true);
        check(make(2, 2, 12, 10, 17, kernel, stride, pad, 2));
      }
    }
  }
  check(make(1, 3, 40, 40, 8, 7, 2, 3));
}

TEST(Conv, UnevenKernelAndPads) {
  ConvShape s = make(2, 3, 9, 14, 6, 3, 1, 0);
  s.kh = 1, s.kw = 5, s.stride_w = 2, s.pad_left = 3, s.oh = 9, s.ow = 8;
  check(s);
  s.pad_top = 0, s.oh = 11;  // two rows of padding below only
  check(s, true);
  s = make(1, 1, 1, 50, 4, 3, 1, 0);
  s.kh = 1, s.oh = 1;
  check(s);
}

TEST(Conv, Groups) {
  check(make(2, 6, 9, 9, 8, 3, 1, 1, 1, 2), true);
  check(make(1, 12, 8, 8, 48, 3, 2, 1, 1, 3));
  check(make(1, 4, 7, 7, 16, 3, 1, 1, 1, 4));
}

TEST(Conv, Depthwise) {
  for (int64_t stride : {1, 2}) {
    for (int64_t hw : {5, 7, 14, 31}) {
      check(make(2, 6, hw, hw, 6, 3, stride, 1, 1, 6), true);
      check(make(1, 5, hw, hw, 10, 5, stride, 2, 1, 5));
    }
  }
  check(make(1, 3, 70, 70, 3, 3, 1, 1, 1, 3), true);
  check(make(1, 2, 16, 16, 2, 3, 3, 2, 2, 2));
}

TEST(Conv, LargeEnoughForEveryChunk) {
  check(make(1, 3, 60, 60, 20, 3, 1, 1), true);
  check(make(1, 16, 30, 30, 100, 3, 1, 1));
  check(make(7, 3, 30, 20, 50, 3, 2, 1));
}

// Kernels that lie partly or wholly outside the map wherever they are put.
TEST(Conv, TapsThatSeePaddingOnly) {
  for (int64_t dilation : {5, 7, 9}) {
    for (int64_t stride : {1, 2}) {
      check(make(2, 3, 6, 8, 21, 3, stride, dilation, dilation), dilation == 7);
      check(make(1, 2, 6, 8, 5, 5, stride, 2 * dilation, dilation));
    }
  }
  check(make(1, 20, 1, 1, 70, 3, 1, 1), true);
  check(make(3, 20, 1, 5, 7, 3, 1, 1));
  check(make(1, 2, 2, 2, 5, 3, 1, 30));  // far from the map: padding around it
  ConvShape s = make(1, 4, 6, 6, 9, 3, 1, 0);
  s.pad_top = 9, s.oh = 4, s.ow = 4;  // no output sees the map
  check(s);
}

// A sum that underflowed to -0 stays so for weights with a sign, and is +0 after one without; a
// weight that is not finite makes NaN of 0.
TEST(Conv, TapsThatSeePaddingOnlyKeepSignsAndNan) {
  const ConvShape s = make(1, 2, 1, 1, 40, 3, 1, 1);
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {1e-30f, 1e-30f}, w(40 * 18, -1.0f), y(40), want(40);
  for (size_t o = 0; o < 40; ++o) {
    float* own = w.data() + o * 18;
    own[4] = own[13] = -1e-30f;  // -0 in each channel's one tap that sees the map
    if (o % 4 == 1) own[2] = 1;  // before it: no matter
    if (o % 4 == 2) own[17] = o == 2 ? 0.0f : 3.0f;
    if (o % 4 == 3) own[o % 8] = o % 8 == 7 ? inf : -inf;
  }
  conv_ref(s, x.data(), w.data(), want.data(), {});
  EXPECT_TRUE(std::signbit(want[0]));
  EXPECT_FALSE(std::signbit(want[2]));
  EXPECT_TRUE(std::isnan(want[7]));
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    const TileKernels& t = tile_kernels();
    for (ConvPlan::Path path : {ConvPlan::Path::kPixels, ConvPlan::Path::kChannels}) {
      const ConvPlan plan = conv_plan_for(s, 1, path);
      EXPECT_EQ(plan.k, 5);
      NanBuffer packed(conv_packed_bytes(t, plan)), scratch(conv_scratch_bytes(t, plan, 1));
      conv_pack(t, plan, w.data(), packed.data());
      conv(t, plan, x.data(), packed.data(), y.data(), {}, scratch.data(), nullptr);
      for (size_t o = 0; o < 40; ++o) {
        EXPECT_EQ(std::isnan(y[o]), std::isnan(want[o])) << o;
        EXPECT_TRUE(std::isnan(want[o]) || std::signbit(y[o]) == std::signbit(want[o])) << o;
      }
    }
  });
}

TEST(Conv, PaddedTapsAreRealZeros) {
  // inf * 0 at the border is NaN: the contract counts a padded tap as a multiply-add
  ConvShape s = make(1, 1, 4, 4, 1, 3, 1, 1);
  std::vector<float> x(16, 1.0f), w(9, std::numeric_limits<float>::infinity()), y(16);
  const TileKernels& t = tile_kernels();
  ConvPlan plan = conv_plan(t, s, 1);
  NanBuffer packed(conv_packed_bytes(t, plan)), scratch(conv_scratch_bytes(t, plan, 1));
  conv_pack(t, plan, w.data(), packed.data());
  conv(t, plan, x.data(), packed.data(), y.data(), {}, scratch.data(), nullptr);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isinf(y[5]));
}

}  // namespace
}  // namespace wick
