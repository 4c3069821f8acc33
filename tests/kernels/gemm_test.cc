#include "runtime/kernels/gemm/gemm.h"

#include <algorithm>

#include "runtime/kernels/simd.h"
#include "tests/kernels/kernel_test_util.h"

namespace wick {
namespace {

using test::NanBuffer;
using test::Random;
using test::random_floats;
using test::same_bits;

struct Case {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  int64_t a_gap = 0, b_gap = 0, c_gap = 0;  // extra elements between rows
  int column_step = 1;                      // of A and B
  bool epilogue = false;
  bool channel_is_row = false;
};

constexpr float kUntouched = -7.0f;

class GemmData {
 public:
  explicit GemmData(const Case& c)
      : case_(c), random_(static_cast<uint64_t>(c.m * 1000003 + c.n * 1009 + c.k)) {
    g_.m = c.m, g_.n = c.n, g_.k = c.k;
    a_ = place(c.m, c.k, c.a_transposed, c.a_gap, &g_.a_row, &g_.a_col);
    b_ = place(c.k, c.n, c.b_transposed, c.b_gap, &g_.b_row, &g_.b_col);
    g_.a = a_.data(), g_.b = b_.data();
    g_.c_row = c.n + c.c_gap;
    const int64_t channels = c.channel_is_row ? c.m : c.n;
    bias_ = random_floats(random_, channels);
    scale_ = random_floats(random_, channels);
    shift_ = random_floats(random_, channels);
    residual_ = random_floats(random_, c.m * c.n);
    if (c.epilogue) {
      Epilogue& e = g_.epilogue;
      e.bias = bias_.data(), e.scale = scale_.data(), e.shift = shift_.data();
      e.residual = residual_.data(), e.residual_step = c.n;
      e.channel = c.channel_is_row ? Epilogue::Channel::kRow : Epilogue::Channel::kColumn;
      e.act = c.n % 2 == 0 ? Activation::kRelu : Activation::kClip;
      e.alpha = -0.25f, e.beta = 0.5f;
    }
  }

  std::vector<float> reference() {
    std::vector<float> c = fresh_c();
    g_.c = c.data();
    gemm_ref(g_);
    return c;
  }

  std::vector<float> ours(bool packed, ThreadPool* pool) {
    const TileKernels& t = tile_kernels();
    std::vector<float> c = fresh_c();
    Gemm g = g_;
    g.c = c.data();
    NanBuffer panels(packed ? gemm_packed_b_bytes(t, g.k, g.n) : 0);
    if (packed) {
      gemm_pack_b(t, g.b, g.b_row, g.b_col, g.k, g.n, panels.data(), pool);
      g.packed_b = panels.data();
      g.b = nullptr;
    }
    NanBuffer scratch(
        gemm_scratch_bytes(t, g.m, g.n, g.k, packed, pool == nullptr ? 1 : pool->threads()));
    gemm(t, g, scratch.data(), pool);
    return c;
  }

 private:
  std::vector<float> fresh_c() {
    return std::vector<float>(static_cast<size_t>(std::max<int64_t>(1, g_.m * g_.c_row)),
                              kUntouched);
  }
  std::vector<float> place(int64_t rows, int64_t cols, bool transposed, int64_t gap, int64_t* row,
                           int64_t* col) {
    const int64_t inner = (transposed ? rows : cols) * case_.column_step + gap;
    *row = transposed ? case_.column_step : inner;
    *col = transposed ? inner : case_.column_step;
    return random_floats(random_, (transposed ? cols : rows) * inner + 1);
  }

  Case case_;
  Random random_;
  Gemm g_;
  std::vector<float> a_, b_, bias_, scale_, shift_, residual_;
};

void check(const Case& c) {
  GemmData data(c);
  const std::vector<float> expected = data.reference();
  auto pool = ThreadPool::create(default_allocator(), 2);
  ASSERT_TRUE(pool.ok());
  for_each_simd_target([&](int64_t target) {
    for (bool packed : {false, true}) {
      for (ThreadPool* p : {static_cast<ThreadPool*>(nullptr), pool.value()}) {
        SCOPED_TRACE(::testing::Message()
                     << simd_target_name(target) << " m " << c.m << " n " << c.n << " k " << c.k
                     << " transposed " << c.a_transposed << c.b_transposed << " packed " << packed
                     << " threads " << (p == nullptr ? 1 : 2));
        const std::vector<float> got = data.ours(packed, p);
        if (simd_target_has_fma(target)) {
          EXPECT_TRUE(same_bits(got, expected));
        } else {
          EXPECT_TRUE(test::close_without_fma(got, expected, c.k, 2.0f));
        }
      }
    }
  });
  ThreadPool::destroy(pool.value());
}

TEST(Gemm, EverySmallSize) {
  for (int64_t m : {1, 2, 3, 5, 8, 9, 13}) {
    for (int64_t n : {1, 4, 15, 16, 17, 31, 33, 48, 49, 97}) {
      for (int64_t k : {1, 2, 7, 19}) check({.m = m, .n = n, .k = k});
    }
  }
}

TEST(Gemm, BlocksOfKResumeWithTheSameBits) {
  for (int64_t k : {1023, 1024, 1025, 2100}) {
    check({.m = 11, .n = 50, .k = k});
    check({.m = 3, .n = 70, .k = k, .epilogue = true});
  }
}

TEST(Gemm, BlocksOfRowsAndColumns) {
  check({.m = 401, .n = 260, .k = 20});
  check({.m = 9, .n = 2100, .k = 5});
  check({.m = 5, .n = 1100, .k = 40});  // the streaming depth
  check({.m = 60, .n = 1100, .k = 300});
  check({.m = 270, .n = 60, .k = 40});
  check({.m = 200, .n = 300, .k = 530, .a_transposed = true, .epilogue = true});
}

TEST(Gemm, TransposedStridedAndGapped) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      check({.m = 21, .n = 53, .k = 37, .a_transposed = ta, .b_transposed = tb});
      check({.m = 21,
             .n = 253,
             .k = 37,
             .a_transposed = ta,
             .b_transposed = tb,
             .a_gap = 3,
             .b_gap = 5,
             .c_gap = 7});
      check({.m = 10, .n = 253, .k = 12, .a_transposed = ta, .b_transposed = tb, .column_step = 2});
      check({.m = 2, .n = 53, .k = 12, .a_transposed = ta, .b_transposed = tb, .column_step = 3});
    }
  }
  // rows that fall on the same cache sets take the packed way
  check({.m = 20, .n = 253, .k = 40, .a_gap = 256 - 40});
}

TEST(Gemm, Epilogues) {
  for (bool by_row : {false, true}) {
    for (int64_t n : {7, 48, 100}) {
      check({.m = 14, .n = n, .k = 9, .epilogue = true, .channel_is_row = by_row});
    }
  }
}

TEST(Gemm, EmptySizes) {
  check({.m = 0, .n = 5, .k = 4});
  check({.m = 5, .n = 0, .k = 4});
  check({.m = 3, .n = 20, .k = 0, .epilogue = true});
}

TEST(Gemm, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float specials[] = {0.0f,          -0.0f,     kInf,       -kInf,
                            std::nanf(""), 0x1p-149f, -0x1p-130f, 0x1p127f};
  std::vector<float> a(9 * 6), b(6 * 50);
  Random random(5);
  for (float& x : a) x = specials[random.below(8)];
  for (float& x : b) x = specials[random.below(8)];
  Gemm g;
  g.m = 9, g.n = 50, g.k = 6, g.a = a.data(), g.a_row = 6, g.a_col = 1;
  g.b = b.data(), g.b_row = 50, g.b_col = 1, g.c_row = 50;
  for (auto act : {Activation::kNone, Activation::kRelu, Activation::kClip}) {
    g.epilogue.act = act;
    g.epilogue.beta = 6;
    std::vector<float> expected(9 * 50), got(9 * 50);
    g.c = expected.data();
    gemm_ref(g);
    for_each_simd_target([&](int64_t target) {
      if (!simd_target_has_fma(target)) return;
      SCOPED_TRACE(simd_target_name(target));
      const TileKernels& t = tile_kernels();
      NanBuffer scratch(gemm_scratch_bytes(t, g.m, g.n, g.k, false, 1));
      g.c = got.data();
      gemm(t, g, scratch.data(), nullptr);
      EXPECT_TRUE(same_bits(got, expected));
    });
  }
}

}  // namespace
}  // namespace wick
