// com.microsoft's operators in forms that the shared cases do not have. The expected values are
// ONNX Runtime 1.30's, but where a test says otherwise.
#include <gmock/gmock.h>

#include "tests/exporter/microsoft_model.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

using testing::HasSubstr;

TEST(Microsoft, AttentionHasACacheAndMasksByEndAndStart) {
  auto y = microsoft("Attention")
               .in(floats({2, 2, 4}, 1))
               .in(floats({4, 12}, 2))
               .in(floats({12}, 3))
               .in(i32({4}, {4, 3, 1, 0}))
               .in(floats({2, 2, 2, 2, 2}, 4))
               .set("num_heads", 2)
               .set("unidirectional", 1)
               .run(2);
  expect_near(y[0], {2, 2, 4},
              {-0.1652485, -0.9093363, 0.8260702, 0.4661256, 0.09391875, -0.9075911, -0.5672329,
               -0.6324194, -0.1949032, 0.02872605, -0.5540348, -0.3322953, -0.03418582, -0.868263,
               -0.60965, -0.3014431});
  ASSERT_TRUE(y[1].shape() == Shape({2, 2, 2, 4, 2}));
  EXPECT_NEAR(element_as_double(y[1], 4), -1.016599, 1e-5);   // keys: old ones, then new
  EXPECT_NEAR(element_as_double(y[1], 63), 0.1453062, 1e-5);  // values behind the keys
}

TEST(Microsoft, MultiHeadAttentionAddsMaskAndBiasBehindItsCache) {
  auto model = [](int outputs) {
    return microsoft("MultiHeadAttention")
        .in(floats({2, 2, 4}, 1))
        .in(floats({2, 2, 4}, 2))
        .in(floats({2, 2, 4}, 3))
        .in(floats({12}, 4))
        .in(i32({2, 4}, {1, 0, 1, 1, 1, 1, 1, 0}))
        .in(floats({1, 2, 2, 4}, 5))
        .in(floats({2, 2, 2, 2}, 6))
        .in(floats({2, 2, 2, 2}, 7))
        .set("num_heads", 2)
        .run(outputs);
  };
  auto y = model(3);
  expect_near(y[0], {2, 2, 4},
              {-0.6124247, 0.007096992, 0.09647973, 0.69612, -0.5293909, 0.04466826, 0.1756532,
               0.7474745, -0.03875993, -0.2717667, 0.4173208, 0.7840197, -0.06406751, -0.4287792,
               -0.02899197, 0.4869281});
  ASSERT_TRUE(y[1].shape() == Shape({2, 2, 4, 2}));
  EXPECT_NEAR(element_as_double(y[1], 4), 1.161905, 1e-5);
  EXPECT_NEAR(element_as_double(y[2], 31), -0.1714286, 1e-5);
}

// The cache counts only where the node gives it back: [1, 1, 1] with itself is its value.
TEST(Microsoft, MultiHeadAttentionReadsNoCacheThatItDoesNotGiveBack) {
  auto y = microsoft("MultiHeadAttention")
               .in(floats({1, 1, 2}, 1))
               .in(floats({1, 1, 2}, 2))
               .in(HostTensor::of<float>({1, 1, 2}, {3, -4}))
               .in({})
               .in({})
               .in({})
               .in(floats({1, 1, 1, 2}, 6))
               .in(floats({1, 1, 1, 2}, 7))
               .set("num_heads", 1)
               .run();
  expect_near(y[0], {1, 1, 2}, {3, -4});
}

TEST(Microsoft, GroupQueryAttentionAppendsAtEachSequencesEnd) {
  auto y = microsoft("GroupQueryAttention")
               .in(floats({2, 1, 16}, 1))
               .in(floats({2, 1, 8}, 2))
               .in(floats({2, 1, 8}, 3))
               .in(floats({2, 1, 4, 8}, 4))
               .in(floats({2, 1, 4, 8}, 5))
               .in(i32({2}, {3, 1}))
               .in(i32({1}, {4}))
               .set("num_heads", 2)
               .set("kv_num_heads", 1)
               .set("local_window_size", 2)
               .set("softcap", 0.5f)
               .run(3);
  expect_near(
      y[0], {2, 1, 16},
      {-0.4262936, -0.07391267, 0.2784683,     0.6308492,  0.2501893,  -0.6739126, -0.3215317,
       0.03084925, -0.3157637,  0.03661727,    0.3889982,  0.7413791,  -0.1057171, -0.5633827,
       -0.2110018, 0.1413792,   -0.0008947253, -0.834887,  -0.4825061, -0.1301251, 0.2222559,
       0.5746368,  0.1038672,   -0.7301252,    -0.3448171, -0.7664934, -0.4141124, -0.06173141,
       0.2906495,  0.6430305,   -0.2400551,    -0.6617315});
  ASSERT_TRUE(y[1].shape() == Shape({2, 1, 4, 8}));
  EXPECT_NEAR(element_as_double(y[1], 24), 0.9238095, 1e-6);   // the new key of the first
  EXPECT_NEAR(element_as_double(y[1], 40), -0.2761905, 1e-6);  // and of the second, after one
  EXPECT_EQ(element_as_double(y[1], 48), 0);                   // nothing behind it
}

TEST(Microsoft, GroupQueryAttentionRotatesPackedHeadsAndHasSinks) {
  auto y = microsoft("GroupQueryAttention")
               .in(floats({1, 2, 64}, 1))
               .in({})
               .in({})
               .in(floats({1, 1, 3, 16}, 4))
               .in(floats({1, 1, 3, 16}, 5))
               .in(i32({1}, {4}))
               .in(i32({1}, {5}))
               .in(floats({8, 8}, 6))
               .in(floats({8, 8}, 7))
               .in({})
               .in({})
               .in(floats({2}, 8))
               .set("num_heads", 2)
               .set("kv_num_heads", 1)
               .set("do_rotary", 1)
               .set("rotary_interleaved", 1)
               .run(3);
  expect_near(y[0], {1, 2, 32},
              {-0.1961758, -0.2216388, 0.006535305, 0.2347095, 0.06074741, -0.03482766});
  EXPECT_NEAR(element_as_double(y[0], 63), 0.1462973, 1e-5);
  EXPECT_NEAR(element_as_double(y[1], 48), 0.7442178, 1e-5);   // a key, rotated
  EXPECT_NEAR(element_as_double(y[2], 64), -0.7619048, 1e-6);  // a value, not
}

// Four bits a number; what is new is rounded, and read as it is kept.
TEST(Microsoft, GroupQueryAttentionKeepsAQuantizedCache) {
  const auto scale = [](int seed) {
    HostTensor t = floats({1, 1, 1, 16}, seed);
    for (int i = 0; i < 16; ++i)
      t.as<float>()[i] = t.as<float>()[i] * t.as<float>()[i] * 0.1f + 0.05f;
    return t;
  };
  auto y = microsoft("GroupQueryAttention")
               .in(floats({1, 1, 32}, 1))
               .in(floats({1, 1, 16}, 2))
               .in(floats({1, 1, 16}, 3))
               .in(bytes({1, 1, 3, 8}, 4))
               .in(bytes({1, 1, 3, 8}, 5))
               .in(i32({1}, {3}))
               .in(i32({1}, {4}))
               .in({})
               .in({})
               .in({})
               .in({})
               .in({})
               .in(scale(6))
               .in(scale(7))
               .set("num_heads", 2)
               .set("kv_num_heads", 1)
               .set("k_quant_type", std::string("PER_CHANNEL"))
               .set("v_quant_type", std::string("PER_CHANNEL"))
               .set("kv_cache_bit_width", 4)
               .run(3);
  expect_near(y[0], {1, 1, 32},
              {-0.09892604, -0.01906868, 0.2650978, -0.2484885, -0.3865642, -0.1613568});
  EXPECT_NEAR(element_as_double(y[0], 31), -0.2863523, 1e-5);
  const std::vector<double> keys = {47, 115, 254, 32, 148, 255, 50, 197};
  const std::vector<double> values = {214, 255, 50, 232, 15, 66, 250, 47};
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(element_as_double(y[1], 24 + i), keys[static_cast<size_t>(i)]);
    EXPECT_EQ(element_as_double(y[2], 24 + i), values[static_cast<size_t>(i)]);
  }
}

TEST(Microsoft, SkipNormsGiveTheSumTheyNormalize) {
  auto y = microsoft("SkipLayerNormalization")
               .in(floats({1, 2, 4}, 1))
               .in(floats({2, 4}, 2))
               .in(floats({4}, 3))
               .in(floats({4}, 4))
               .in(floats({4}, 5))
               .set("epsilon", 1e-3f)
               .run(4);
  expect_near(
      y[0], {1, 2, 4},
      {0.7288032, -1.070693, 0.1729322, -0.938179, 0.9732715, -0.6144934, -0.9865754, 0.9047354});
  expect_near(
      y[3], {1, 2, 4},
      {0.6761905, -0.2761904, 0.7809523, -0.1714286, -0.5238096, 0.5333334, -0.4190476, 0.6380953});
}
TEST(Microsoft, EmbedLayerNormalizationCountsTheMaskedWords) {
  auto y = microsoft("EmbedLayerNormalization")
               .in(i32({2, 2}, {1, 2, 0, 3}))
               .in(i32({2, 2}, {0, 1, 1, 0}))
               .in(floats({4, 4}, 1))
               .in(floats({3, 4}, 2))
               .in(floats({2, 4}, 3))
               .in(floats({4}, 4))
               .in(floats({4}, 5))
               .in(i32({2, 2}, {1, 0, 1, 1}))
               .run(3);
  expect_near(
      y[0], {2, 2, 4},
      {-0.2974546, 1.270394, 0.4789175, 0.6822946, 0.9405214, 0.1746387, 1.17182, 0.8343152,
       0.5319088, 1.046549, -0.01965606, 0.9487235, -0.3070855, -1.044614, 0.47713, 1.004443});
  expect_near(y[1], {2}, {1, 2}, 0);
  EXPECT_NEAR(element_as_double(y[2], 0), 0.1619048, 1e-6);
}
// Channels last, as its documentation has it: no kernel of ONNX Runtime's runs it on a CPU.
TEST(Microsoft, GroupNormIsGroupNormalizationWithChannelsLast) {
  const HostTensor x = floats({2, 3, 2, 4}, 1), scale = floats({4}, 2), bias = floats({4}, 3);
  HostTensor first(DType::kF32, {2, 4, 3, 2});
  for (int64_t i = 0; i < x.numel(); ++i)
    first.as<float>()[(i / 24 * 4 + i % 4) * 6 + i / 4 % 6] = x.as<float>()[i];
  auto got = microsoft("GroupNorm").in(x).in(scale).in(bias).set("groups", 2).set("activation", 1);
  auto want = NodeModel("GroupNormalization", 21).in(first).in(scale).in(bias).set("num_groups", 2);
  const HostTensor y = got.run()[0], plain = want.run()[0];
  for (int64_t i = 0; i < y.numel(); ++i) {
    const double v = element_as_double(plain, (i / 24 * 4 + i % 4) * 6 + i / 4 % 6);
    EXPECT_NEAR(element_as_double(y, i), v / (1 + std::exp(-v)), 1e-6) << i;
  }
}

TEST(Microsoft, FusedMatMulTransposesBatches) {
  auto y = microsoft("FusedMatMul")
               .in(floats({3, 2, 4}, 1))
               .in(floats({2, 5, 4}, 2))
               .set("transBatchA", 1)
               .set("transB", 1)
               .set("alpha", 0.5f)
               .run();
  expect_near(y[0], {2, 3, 5},
              {-0.2456689, 0.0843991,  -0.2266666,  -0.212381,  0.07941046, 0.7852608,
               0.1439002,  -0.3252154, -0.076644,   0.05709747, -0.23161,   -0.4281633,
               0.360907,   0.240907,   -0.3862585,  0.2092517,  0.3406802,  -0.169025,
               -0.2576871, 0.2947846,  -0.03809521, -0.2752381, -0.3401361, 0.8293877,
               -0.1924263, -0.218458,  -0.2213152,  0.7614512,  -0.2461678, -0.2203174});
}
TEST(Microsoft, RotaryEmbeddingOfAPartFromAnOffsetOn) {
  auto y = microsoft("RotaryEmbedding")
               .in(floats({1, 2, 8}, 1))
               .in(whole({1}, {1}))
               .in(floats({4, 1}, 2))
               .in(floats({4, 1}, 3))
               .set("num_heads", 2)
               .set("rotary_embedding_dim", 2)
               .set("interleaved", 1)
               .run();
  expect_near(y[0], {1, 2, 8},
              {-0.04390023, -0.2391837, 0.6666666, -0.9904762, 0.5332426, 0.06367346, 0.06666672,
               0.4190476, 0.2206803, 0.7855783, -0.5333333, -0.1809524, -0.3696145, -0.09995465,
               0.8761904, -0.7809524});
}
TEST(Microsoft, RotaryEmbeddingByThreePositionsInterleaved) {
  auto y = microsoft("MRotaryEmbedding")
               .in(floats({1, 2, 8}, 1))
               .in(whole({3, 1, 2}, {0, 1, 2, 3, 1, 0}))
               .in(floats({4, 4}, 2))
               .in(floats({4, 4}, 3))
               .set("mrope_section", std::vector<int64_t>{2, 1, 1})
               .set("mrope_layout", 1)
               .set("num_heads", 1)
               .run();
  expect_near(y[0], {1, 2, 8},
              {-0.114195, -0.2536054, -0.6526984, -0.3628117, -0.5847619, -0.3270749, -0.07809529,
               -0.9364172, 0.3738775, 0.2344671, -0.3058503, 0.374059, -0.5028571, -0.6624036,
               -0.6436281, 0.4305669});
}
TEST(Microsoft, CausalConvSpreadsItsTaps) {
  auto y = microsoft("CausalConvWithState")
               .in(floats({1, 2, 3}, 1))
               .in(floats({2, 1, 2}, 2))
               .in(floats({2}, 3))
               .in(floats({1, 2, 2}, 4))
               .set("dilation", 2)
               .set("activation", std::string("silu"))
               .run(2);
  expect_near(y[0], {1, 2, 3},
              {0.4500114, -0.2751746, -0.2225279, 0.2638243, 0.1660976, 0.3984421});
  expect_near(y[1], {1, 2, 2}, {0.3142858, 0.6666666, -0.6380953, -0.2857143});
}

// Every error names the node.
TEST(Microsoft, RefusesWhatItCannotReadByTheNodesName) {
  const HostTensor x = floats({1, 2, 4}, 1);
  const auto n_bits = [&](int64_t k, int64_t n, int64_t block, int64_t bits, HostTensor b) {
    return microsoft("MatMulNBits")
        .in(x)
        .constant(std::move(b))
        .in(floats({3, 1}, 3))
        .set("K", k)
        .set("N", n)
        .set("block_size", block)
        .set("bits", bits);
  };
  const auto gqa = [&](int64_t heads, int64_t kv) {
    return microsoft("GroupQueryAttention")
        .in(x)
        .in(x)
        .in(x)
        .in({})
        .in({})
        .in(i32({1}, {1}))
        .in(i32({1}, {2}))
        .set("num_heads", heads)
        .set("kv_num_heads", kv);
  };
  const std::vector<std::pair<NodeModel, std::string>> bad = {
      {microsoft("NoSuchOperator").in(x), "no operator of this name"},
      {microsoft("Inverse").in(floats({2, 2}, 1)), "trainer only"},
      {microsoft("Attention").in(x).in(floats({4, 12}, 2)), "'num_heads' is required"},
      {microsoft("Attention").in(x).in(floats({4, 12}, 2)).set("num_heads", 0),
       "must be 1 or more"},
      {microsoft("Attention").in(x).in(floats({4, 10}, 2)).set("num_heads", 1), "3 parts"},
      {microsoft("Attention").in(x).in(floats({12}, 2)).set("num_heads", 1), "must have rank 2"},
      {microsoft("MultiHeadAttention").in(x).in(x).in(x).set("num_heads", 3), "does not divide"},
      {microsoft("MultiHeadAttention").in(x).set("num_heads", 1), "must be packed"},
      {gqa(3, 2), "multiple of kv_num_heads"},
      {gqa(2, 2).set("k_quant_type", std::string("PER_ROW")), "not 'PER_ROW'"},
      {gqa(2, 2).set("sliding_window_cache", 1), "whole sequence"},
      {gqa(2, 2).set("do_rotary", 1), "input 7 is required"},
      {n_bits(4, 3, 16, 3, bytes({3, 1, 8}, 1)), "bits must be 2, 4 or 8"},
      {n_bits(4, 3, 24, 4, bytes({3, 1, 8}, 1)), "power of two"},
      {n_bits(4, 3, 16, 4, bytes({3, 1, 7}, 1)), "3 rows of 8 bytes"},
      {n_bits(5, 3, 16, 4, bytes({3, 1, 8}, 1)), "must end in K = 5"},
      {n_bits(4, int64_t{1} << 31, 16, 4, bytes({3, 1, 8}, 1)), "must be 1 or more"},
      {n_bits(INT32_MAX, INT32_MAX, 16, 4, bytes({3, 1, 8}, 1)), "too large"},
      {n_bits(4, 3, 16, 4, floats({3, 1, 8}, 1)), "must be uint8"},
      {microsoft("GatherBlockQuantized")
           .in(bytes({4}, 1))
           .in(whole({1}, {0}))
           .in(floats({4, 1}, 1)),
       "one rank"},
      {microsoft("GatherBlockQuantized")
           .in(bytes({2, 16}, 1))
           .in(whole({1}, {0}))
           .in(floats({2, 1}, 1))
           .set("gather_axis", 1),
       "axis 0"},
      {microsoft("QLinearConcat").in(number(1)).in(byte(0)).in(bytes({2}, 1)).set("axis", 0),
       "three inputs"},
      {microsoft("RotaryEmbedding")
           .in(floats({2, 2}, 1))
           .in(whole({1}, {0}))
           .in(floats({2, 1}, 1))
           .in(floats({2, 1}, 1)),
       "rank 3 or 4"},
      {microsoft("FusedConv")
           .in(floats({1, 1, 3, 3}, 1))
           .in(floats({1, 1, 2, 2}, 1))
           .set("activation", std::string("Nothing")),
       "unknown activation"},
      {microsoft("NhwcMaxPool").in(bytes({3, 3}, 1)).set("kernel_shape", std::vector<int64_t>{2}),
       "channels"},
      {microsoft("GroupNorm")
           .in(floats({2, 3}, 1))
           .in(floats({3}, 1))
           .in(floats({3}, 1))
           .set("groups", 1)
           .set("activation", 0),
       "rank 3 or more"},
      {microsoft("SkipLayerNormalization").in(x), "is required"},
      {microsoft("CausalConvWithState").in(x).in(floats({2, 1, 2}, 1)).set("ndim", 2), "ndim 2"},
  };
  for (const auto& [model, why] : bad) {
    NodeModel named = model;
    const auto file = named.named("the_node").bytes(false, 1);
    const std::string error = error_of([&] { import_onnx_bytes(file); });
    EXPECT_THAT(error, HasSubstr("'the_node'"));
    EXPECT_THAT(error, HasSubstr(why));
  }
}

}  // namespace
}  // namespace wick::test
