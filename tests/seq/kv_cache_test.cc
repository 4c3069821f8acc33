// The KV cache of the trainer: logits with it are those without it, bit for bit, and each key and
// value is computed once.
#include "trainer/nn/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/seq/text_pieces.h"
#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using test::pieces_of;
using testing::HasSubstr;

nn::GptOptions small(int64_t max_seq_len = 12) {
  return {.vocab_size = 23,
          .embed_dim = 32,
          .num_layers = 2,
          .num_heads = 4,
          .max_seq_len = max_seq_len};
}

// Weights large enough that attention is not flat.
nn::GPT lively(const nn::GptOptions& options) {
  manual_seed(5);
  nn::GPT gpt(options);
  NoGrad guard;
  for (const Tensor& p : gpt.parameters()) p.copy_(randn(p.shape()) * 0.3f);
  gpt.eval();
  return gpt;
}

bool same(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  return x.size() == y.size() && memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

TEST(KvCache, AnySplitOfAPromptHasTheBitsOfTheWhole) {
  NoGrad guard;
  nn::GPT gpt = lively(small());
  const Tensor tokens = randint(23, {2, 7});
  const int threads = num_threads();
  for (int n : {1, 4}) {
    set_num_threads(n);
    const Tensor whole = gpt(tokens);
    for (int64_t length = 1; length <= 7; ++length) {
      EXPECT_TRUE(same(gpt(tokens.slice(1, 0, length)), whole.slice(1, 0, length))) << length;
    }
    auto cache = nn::create_kv_cache(gpt, 2);
    for (const std::vector<int64_t>& pieces : pieces_of(7)) {
      cache->reset();
      int64_t at = 0;
      for (int64_t count : pieces) {
        const Tensor logits = gpt(tokens.slice(1, at, at + count), *cache);
        EXPECT_TRUE(same(logits, whole.slice(1, at, at + count))) << n << " threads, token " << at;
        at += count;
        EXPECT_EQ(cache->length(), at);
      }
    }
  }
  set_num_threads(threads);
}

TEST(KvCache, GenerateGivesTheSameTokensPastTheWindow) {
  nn::GPT gpt = lively(small());
  const Tensor start = tensor<int64_t>({{1, 2, 3}, {4, 5, 6}});
  for (double temperature : {0.0, 1.5}) {
    nn::GenerateOptions o;
    o.max_new_tokens = 20;  // the window is 12
    o.temperature = temperature;
    o.seed = 9;
    const Tensor with = gpt.generate(start, o);
    o.use_cache = false;
    EXPECT_EQ(with.to_vector<int64_t>(), gpt.generate(start, o).to_vector<int64_t>());
  }
}

// Autocast makes keys and values of 16 bits; the cache has the model's float32.
TEST(KvCache, UnderAutocastToo) {
  NoGrad guard;
  nn::GPT gpt = lively(small());
  const Tensor tokens = tensor<int64_t>({{1, 2, 3, 4, 5}});
  for (DType low : {DType::kBF16, DType::kF16}) {
    AutocastScope scope(low);
    nn::GenerateOptions o;
    o.max_new_tokens = 20;
    o.temperature = 0;
    const Tensor with = gpt.generate(tokens, o);
    o.use_cache = false;
    EXPECT_EQ(with.to_vector<int64_t>(), gpt.generate(tokens, o).to_vector<int64_t>());
    auto cache = nn::create_kv_cache(gpt);
    const Tensor whole = gpt(tokens).to(DType::kF32);
    for (int64_t at : {0, 2, 4}) {
      const int64_t end = std::min<int64_t>(at + 2, 5);
      const Tensor logits = gpt(tokens.slice(1, at, end), *cache);
      EXPECT_EQ(logits.dtype(), low);
      EXPECT_TRUE(same(logits.to(DType::kF32), whole.slice(1, at, end))) << at;
    }
  }
}

// Attention that another function computes, as with heads on several ranks, has no cache.
TEST(KvCache, GenerateGoesWithoutWhereAttentionTakesNone) {
  nn::GPT gpt = lively(small());
  for (nn::Module* m : gpt.modules()) {
    auto* attention = dynamic_cast<nn::MultiheadAttention*>(m);
    if (attention == nullptr) continue;
    EXPECT_TRUE(attention->takes_cache());
    attention->set_forward([](const Arg& query, const Arg&, const Arg&, const Tensor&, bool,
                              const Tensor&, bool) -> nn::AttentionResult {
      return {cumsum(query, 1) * 0.5f, {}};
    });
    EXPECT_FALSE(attention->takes_cache());
  }
  const Tensor start = tensor<int64_t>({{1, 2, 3}});
  nn::GenerateOptions o;
  o.max_new_tokens = 5;
  o.temperature = 0;
  const Tensor with = gpt.generate(start, o);
  o.use_cache = false;
  EXPECT_EQ(with.to_vector<int64_t>(), gpt.generate(start, o).to_vector<int64_t>());
  auto cache = nn::create_kv_cache(gpt);
  EXPECT_THAT(error_of([&] { gpt(start, *cache); }), HasSubstr("its forward was replaced"));
  EXPECT_EQ(cache->length(), 0);
}

// Counts the tokens whose keys and values a block's attention computes.
int64_t computed(nn::GPT& gpt, bool use_cache) {
  int64_t count = 0;
  for (nn::Module* m : gpt.modules()) {
    auto* attention = dynamic_cast<nn::MultiheadAttention*>(m);
    if (attention == nullptr) continue;
    auto hook = attention->register_forward_pre_hook(
        [&](nn::Module&, const Tensor& x) { count += x.size(1); });
    nn::GenerateOptions o;
    o.max_new_tokens = 100;
    o.seed = 1;
    o.use_cache = use_cache;
    gpt.generate(zeros({1, 1}, DType::kI64), o);
    hook.remove();
    break;  // the first block stands for all
  }
  return count;
}

TEST(KvCache, AHundredTokensTakeAHundredComputationsNot5050) {
  nn::GPT gpt = lively(small(100));
  EXPECT_EQ(computed(gpt, false), 5050);
  EXPECT_EQ(computed(gpt, true), 100);
}

TEST(KvCache, EnabledItIsTheModelsOwn) {
  NoGrad guard;
  nn::GPT gpt = lively(small());
  const Tensor tokens = randint(23, {1, 5}), whole = gpt(tokens);
  EXPECT_EQ(gpt.kv_cache(), nullptr);
  auto cache = nn::enable_kv_cache(gpt);
  EXPECT_EQ(gpt.kv_cache(), cache);
  EXPECT_TRUE(same(gpt(tokens.slice(1, 0, 3)), whole.slice(1, 0, 3)));
  EXPECT_TRUE(same(gpt(tokens.slice(1, 3, 4)), whole.slice(1, 3, 4)));
  EXPECT_EQ(cache->length(), 4);
  // generate() has a cache of its own and leaves this one alone
  nn::GenerateOptions o;
  o.max_new_tokens = 4;
  gpt.generate(tokens, o);
  EXPECT_EQ(cache->length(), 4);
  EXPECT_TRUE(same(gpt(tokens.slice(1, 4, 5)), whole.slice(1, 4, 5)));
  cache->reset();
  EXPECT_TRUE(same(gpt(tokens), whole));
  nn::disable_kv_cache(gpt);
  EXPECT_TRUE(same(gpt(tokens), whole));
  EXPECT_EQ(cache->length(), 5) << "it is no longer the model's";
}

TEST(KvCache, UpdateGetAdvanceReset) {
  nn::KvCache cache(2, 5, 2, 3, 4);
  EXPECT_EQ(cache.get_memory_usage(), 2u * 2 * (2 * 3 * 5 * 4) * sizeof(float));
  const Tensor k = randn({2, 3, 2, 4}), v = randn({2, 3, 2, 4}), later = randn({2, 3, 1, 4});
  for (int64_t layer : {0, 1}) cache.update(layer, k, v);
  EXPECT_EQ(cache.length(), 0);
  EXPECT_TRUE(same(cache.get(1).keys, k));
  EXPECT_TRUE(same(cache.get(1).values, v));
  cache.update(1, k * 2, v);  // replaces it: nothing has been counted yet
  EXPECT_TRUE(same(cache.get(1).keys, k * 2));
  cache.advance();
  EXPECT_EQ(cache.length(), 2);
  cache.update(0, later, later);
  EXPECT_THAT(error_of([&] { cache.advance(); }),
              HasSubstr("layers were updated with 1 and 0 tokens"));
  cache.update(1, later, later);
  cache.advance();
  EXPECT_TRUE(same(cache.get(0).keys, cat({k, later}, 2)));
  EXPECT_EQ(cache.get(0).values.shape(), (Shape{2, 3, 3, 4}));
  cache.reset();
  EXPECT_EQ(cache.length(), 0);
  EXPECT_EQ(cache.get(0).keys.shape(), (Shape{2, 3, 0, 4}));
}

TEST(KvCache, AForwardThatThrewLeavesIt) {
  nn::GPT gpt = lively(small());
  const Tensor two = tensor<int64_t>({{1, 2}});
  nn::KvCache short_one(1, 12, 1, 4, 8);  // the second layer has no place in it
  EXPECT_THAT(error_of([&] { gpt(two, short_one); }), HasSubstr("there is no layer 1"));
  EXPECT_EQ(short_one.length(), 0);
  EXPECT_EQ(short_one.get(0).keys.shape(), (Shape{1, 4, 0, 8}));

  nn::KvCache cache(1, 5, 2, 3, 4);
  const Tensor k = randn({1, 3, 2, 4}), later = randn({1, 3, 1, 4});
  for (int64_t layer : {0, 1}) cache.update(layer, k, k);
  cache.advance();
  cache.update(0, later, later);
  cache.discard();
  EXPECT_TRUE(same(cache.get(0).keys, k));
  cache.advance();  // of no new tokens
  EXPECT_EQ(cache.length(), 2);
}

TEST(KvCache, Refuses) {
  nn::KvCache cache(1, 3, 1, 2, 4);
  const Tensor four = zeros({1, 2, 4, 4}), one = zeros({1, 2, 1, 4});
  EXPECT_THAT(error_of([] { nn::KvCache(1, 0, 1, 1, 1); }),
              HasSubstr("[KvCache] max_seq_len must be positive, got 0"));
  EXPECT_THAT(error_of([&] { cache.update(0, four, four); }),
              testing::AllOf(HasSubstr("room for 3 tokens, holds 0 and cannot take 4 more"),
                             HasSubstr("kv_cache_test.cc:")));
  EXPECT_THAT(error_of([&] { cache.update(1, one, one); }), HasSubstr("there is no layer 1"));
  EXPECT_THAT(error_of([&] { cache.update(0, one, four); }),
              HasSubstr("takes float32 key and value [1,2,1,4]"));
  EXPECT_THAT(error_of([&] { cache.update(0, one.to(DType::kF64), one.to(DType::kF64)); }),
              HasSubstr("got float64 [1,2,1,4]"));
  EXPECT_THAT(error_of([&] { cache.get(-1); }), HasSubstr("there is no layer -1"));

  nn::GPT gpt = lively(small(4));
  const Tensor token = tensor<int64_t>({{1}});
  EXPECT_THAT(error_of([&] { nn::create_kv_cache(gpt, 1, 5); }),
              HasSubstr("the model takes 4 tokens, a cache for 5 was asked for"));
  auto own = nn::create_kv_cache(gpt, 1, 2);
  gpt(tensor<int64_t>({{1, 2}}), *own);
  EXPECT_THAT(error_of([&] { gpt(token, *own); }), HasSubstr("holds 2 and cannot take 1 more"));
  EXPECT_EQ(own->length(), 2);
  gpt.train();
  EXPECT_THAT(error_of([&] { gpt(token, *own); }), HasSubstr("call eval() first"));
  nn::GptOptions o = small();
  o.causal = false;
  nn::GPT both(o);
  both.eval();
  EXPECT_THAT(error_of([&] { both(token, *own); }), HasSubstr("needs a causal model"));
  nn::MultiheadAttention sequence_first(8, 2);
  EXPECT_THAT(error_of([&] {
                sequence_first(zeros({1, 1, 8}), Tensor(), cache, 0);
              }),
              HasSubstr("a cache needs batch_first"));
  nn::MultiheadAttention attention(8, 2, {.batch_first = true});
  auto run = [&] { attention(zeros({1, 1, 8}), Tensor(), cache, 0); };
  EXPECT_THAT(error_of(run), HasSubstr("a KV cache is for eval mode"));
  attention.eval();
  EXPECT_THAT(error_of(run), HasSubstr("not recorded for gradients: run it under NoGrad"));
  NoGrad guard;
  EXPECT_EQ(error_of(run), "no error");
}

}  // namespace
}  // namespace wick
