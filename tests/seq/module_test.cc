// Properties of sequence modules that the goldens do not cover: which parameters get a gradient,
// initial values, arguments that are refused, memory, sampling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/error_of.h"
#include "trainer/nn/attention.h"
#include "trainer/nn/embedding.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/nn/positional.h"
#include "trainer/nn/rnn.h"
#include "trainer/nn/transformer.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;
constexpr DType kD = DType::kF64;

TEST(Embedding, OnlyRowsLookedUpGetAGradient) {
  manual_seed(1);
  nn::Embedding table(50, 4);
  const Tensor index = tensor<int64_t>({{3, 41}, {3, 7}});
  sum(table(index)).backward();
  std::vector<float> g = table.weight.grad().to_vector<float>();
  for (int64_t r = 0; r < 50; ++r) {
    for (int64_t c = 0; c < 4; ++c) {
      EXPECT_EQ(g[static_cast<size_t>(r * 4 + c)], r == 3 ? 2 : r == 41 || r == 7 ? 1 : 0) << r;
    }
  }
}

TEST(Embedding, StartsNormalWithAPaddingRowOfZeros) {
  manual_seed(2);
  nn::Embedding table(400, 50, {.padding_idx = -1});
  Tensor w = table.weight.detach();
  EXPECT_EQ(amax(abs(w.select(0, 399))).item(), 0);
  Tensor rest = w.slice(0, 0, 399);
  EXPECT_NEAR(mean(rest).item(), 0, 0.03);  // 19950 draws: 4 standard errors
  EXPECT_NEAR(rest.std().item(), 1, 0.02);
  EXPECT_EQ(table.extra_repr(), "400, 50, padding_idx=399");
}

TEST(Embedding, PretrainedIsFrozenUnlessAsked) {
  Tensor t = tensor<float>({{1, 2}, {3, 4}});
  nn::Embedding frozen = nn::Embedding::from_pretrained(t);
  EXPECT_FALSE(frozen.weight.requires_grad());
  EXPECT_EQ(frozen(tensor<int64_t>({1})).to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_TRUE(nn::Embedding::from_pretrained(t, false).weight.requires_grad());
  nn::Embedding given(2, 2, {.weight = t, .freeze = true});
  EXPECT_FALSE(given.weight.requires_grad());
  EXPECT_THAT(error_of([&] { nn::Embedding(3, 2, {.weight = t}); }),
              HasSubstr("[Embedding] weight must be [3,2], got [2,2]"));
}

TEST(Embedding, RefusesWhatIsNoRow) {
  nn::Embedding table(5, 2);
  EXPECT_THAT(error_of([&] {
                table(tensor<int64_t>({{0, 1}, {4, 5}}));
              }),
              testing::AllOf(HasSubstr("[embedding] index 5 at [1,1] is out of range for a weight "
                                       "of 5 rows"),
                             HasSubstr("module_test.cc:")));
  EXPECT_THAT(error_of([&] { table(tensor<int64_t>({0, -2})); }), HasSubstr("index -2 at [1]"));
  EXPECT_THAT(error_of([&] { table(tensor<float>({0})); }), HasSubstr("int64 or int32"));
  EXPECT_THAT(error_of([] { nn::Embedding(0, 2); }), HasSubstr("at least one row"));
  EXPECT_THAT(error_of([] { nn::Embedding(3, 2, {.padding_idx = 3}); }),
              HasSubstr("padding_idx 3 is out of range for 3 rows"));
  EXPECT_THAT(error_of([] { nn::Embedding(3, 2, {.max_norm = -1}); }), HasSubstr("max_norm > 0"));
  EXPECT_THAT(error_of([] { nn::Embedding(3, 2, {.max_norm = std::nan("")}); }),
              HasSubstr("max_norm > 0"));
}

TEST(EmbeddingBag, RefusesBadBags) {
  nn::EmbeddingBag bag(5, 2);
  const Tensor flat = tensor<int64_t>({1, 2, 3});
  EXPECT_THAT(error_of([&] { bag(flat); }), HasSubstr("[n] with offsets"));
  EXPECT_THAT(error_of([&] { bag(flat, tensor<int64_t>({0, 2, 1})); }), HasSubstr("at [1]"));
  EXPECT_THAT(error_of([&] { bag(flat, tensor<int64_t>({1, 2})); }), HasSubstr("begin with 0"));
  EXPECT_THAT(error_of([&] { bag(flat, tensor<int64_t>({0, 4})); }), HasSubstr("ascend"));
  EXPECT_THAT(error_of([&] { bag(flat, tensor<int64_t>({0}), ones({3})); }),
              HasSubstr("per_sample_weights go with mode sum"));
  EXPECT_THAT(error_of([] { nn::EmbeddingBag(5, 2, {.mode = "min"}); }), HasSubstr("'min'"));
  // All bags empty; the last offset given.
  EXPECT_EQ(bag(zeros({0}, DType::kI64), tensor<int64_t>({0, 0})).to_vector<float>(),
            std::vector<float>(4, 0));
  EXPECT_THAT(error_of([&] {
                bag(zeros({0}, DType::kI64), tensor<int64_t>({0, 5}));
              }),
              HasSubstr("offset 5 stands at [1]"));
  EXPECT_EQ(bag(zeros({0}, DType::kI64), zeros({0}, DType::kI64)).shape(), (Shape{0, 2}));
  nn::EmbeddingBag last(5, 2, {.mode = "sum", .include_last_offset = true});
  EXPECT_EQ(last(flat, tensor<int64_t>({0, 2, 3})).shape(), (Shape{2, 2}));
  EXPECT_THAT(error_of([&] { last(flat, tensor<int64_t>({0, 2})); }), HasSubstr("end with"));
}

// A batch of empty bags has a history, as PyTorch's, so that a step over it changes nothing.
TEST(EmbeddingBag, OfNothingHasAGradientOfZero) {
  const Tensor none = zeros({0}, DType::kI64), bags = tensor<int64_t>({0, 0, 0});
  for (const char* mode : {"sum", "mean", "max"}) {
    nn::EmbeddingBag bag(5, 2, {.mode = mode});
    const Tensor flat = bag(none, bags), table = bag(zeros({3, 0}, DType::kI64));
    EXPECT_EQ(flat.to_vector<float>(), std::vector<float>(6, 0)) << mode;
    EXPECT_EQ(table.to_vector<float>(), std::vector<float>(6, 0)) << mode;
    EXPECT_TRUE(flat.requires_grad() && table.requires_grad()) << mode;
    (sum(flat) + sum(table)).backward();
    EXPECT_EQ(bag.weight.grad().to_vector<float>(), std::vector<float>(10, 0)) << mode;
  }
}

TEST(EmbeddingBag, WeightsOfSamplesHaveTheTablesDtype) {
  nn::EmbeddingBag bag(5, 2, {.mode = "sum"});
  EXPECT_THAT(error_of([&] {
                bag(tensor({{0, 1}}), Tensor(), ones({1, 2}, kD));
              }),
              HasSubstr("[EmbeddingBag] per_sample_weights must have the table's dtype float32, "
                        "got float64"));
}

TEST(LayerNorm, GradientAgainstDifferences) {
  // Upstream's listing loses the variance's part of it.
  nn::LayerNorm norm(5);
  norm.to(kD);
  manual_seed(3);
  Tensor x = randn({3, 5}, kD).requires_grad_();
  const GradcheckResult r = gradcheck(
      [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{norm(in[0])}; }, {x});
  EXPECT_TRUE(r.ok) << r.message;
  EXPECT_THAT(error_of([&] { norm(zeros({2, 4}, kD)); }), HasSubstr("normalized_shape [5]"));
  EXPECT_THAT(error_of([] { nn::LayerNorm(Shape{3, 0}); }), HasSubstr("[LayerNorm]"));
  EXPECT_THAT(error_of([] { nn::LayerNorm(4, std::nan("")); }), HasSubstr("eps"));
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  nn::LSTM lstm(3, 4);
  nn::GRU gru(3, 4);
  EXPECT_THAT(error_of([&] {
                lstm(zeros({2, 2, 4}));
              }),
              HasSubstr("[LSTM] takes [time, batch, 3]"));
  EXPECT_THAT(error_of([&] { lstm(zeros({0, 2, 3})); }), HasSubstr("at least one step"));
  EXPECT_THAT(error_of([&] {
                lstm.with_state(zeros({5, 2, 3}), zeros({1, 3, 4}));
              }),
              HasSubstr("h_0 must be [1,2,4], got [1,3,4]"));
  EXPECT_THAT(error_of([&] {
                gru.with_state(zeros({5, 2, 3}), {}, zeros({1, 2, 4}));
              }),
              HasSubstr("[GRU] has no cell state"));
  EXPECT_THAT(error_of([] { nn::GRU(3, 0); }), HasSubstr("[GRU] input_size and hidden_size"));
  EXPECT_THAT(error_of([] { nn::GRU(3, 4, {.num_layers = 0}); }), HasSubstr("num_layers"));
  EXPECT_THAT(error_of([] { nn::GRU(3, 4, {.dropout = std::nan("")}); }), HasSubstr("dropout"));
  EXPECT_THAT(error_of([] { nn::GRU(3, 4, {.proj_size = 2}); }), HasSubstr("proj_size"));
  EXPECT_THAT(error_of([] { nn::LSTM(3, 4, {.proj_size = 4}); }), HasSubstr("proj_size"));
  EXPECT_THAT(error_of([] { nn::RNN(3, 4, {.nonlinearity = "sin"}); }), HasSubstr("'sin'"));
  EXPECT_THAT(error_of([] { nn::LSTM(3, 4, {.nonlinearity = "relu"}); }), HasSubstr("'relu'"));
  nn::LSTMCell cell(3, 4);
  EXPECT_THAT(error_of([&] { cell(zeros({2, 4})); }), HasSubstr("[LSTMCell] takes [batch, 3]"));
  EXPECT_THAT(error_of([&] {
                cell(zeros({2, 3}), {zeros({2, 3}), {}});
              }),
              HasSubstr("the state must be [2,4]"));
}

TEST(Recurrent, StartsUniformByItsHiddenSize) {
  manual_seed(4);
  nn::LSTM lstm(30, 64);
  for (const Tensor& p : lstm.parameters()) {
    EXPECT_LE(amax(abs(p.detach())).item(), 0.125);
    EXPECT_GT(amax(abs(p.detach())).item(), 0.11);
  }
}

TEST(Recurrent, DropoutBetweenLayersInTrainingAlone) {
  manual_seed(5);
  nn::GRU gru(3, 8, {.num_layers = 2, .dropout = 0.5});
  Tensor x = randn({4, 2, 3});
  EXPECT_NE(gru(x).to_vector<float>(), gru(x).to_vector<float>());
  gru.eval();
  EXPECT_EQ(gru(x).to_vector<float>(), gru(x).to_vector<float>());
}

TEST(Packed, ThereAndBack) {
  Tensor a = arange(6).reshape({3, 2}), b = arange(10, 12).reshape({1, 2}),
         c = arange(20, 24).reshape({2, 2});
  nn::PackedSequence p = nn::pack_sequence({a, c, b});
  EXPECT_EQ(p.batch_sizes.to_vector<int64_t>(), (std::vector<int64_t>{3, 2, 1}));
  EXPECT_EQ(p.data.select(1, 0).to_vector<int64_t>(), (std::vector<int64_t>{0, 20, 10, 2, 22, 4}));
  EXPECT_FALSE(p.sorted_indices.defined());
  auto [padded, lengths] = nn::pad_packed_sequence(nn::pack_sequence({b, a, c}, false), true, -1);
  EXPECT_EQ(lengths.to_vector<int64_t>(), (std::vector<int64_t>{1, 3, 2}));
  EXPECT_EQ(padded.to_vector<int64_t>(),
            nn::pad_sequence({b, a, c}, true, -1).to_vector<int64_t>());
  EXPECT_THAT(error_of([&] { nn::pack_sequence({b, a}); }), HasSubstr("lengths must descend"));
  EXPECT_THAT(error_of([&] { nn::pad_sequence({}); }), HasSubstr("at least one sequence"));
  EXPECT_THAT(error_of([&] {
                nn::pad_sequence({a, zeros({2, 3})});
              }),
              HasSubstr("[3,2] and [2,3]"));
  Tensor x = zeros({3, 2, 1});
  EXPECT_THAT(error_of([&] { nn::pack_padded_sequence(x, {3}); }),
              HasSubstr("1 lengths for a batch"));
  EXPECT_THAT(error_of([&] { nn::pack_padded_sequence(x, {3, 0}); }), HasSubstr("length 0 at [1]"));
  EXPECT_THAT(error_of([&] { nn::pack_padded_sequence(x, {4, 1}); }), HasSubstr("length 4 at [0]"));
  EXPECT_THAT(error_of([&] { nn::pad_packed_sequence(p, false, 0, 2); }),
              HasSubstr("total_length 2"));
}

TEST(Attention, ScoresQuadrupleWhenTheLengthDoubles) {
  constexpr int64_t kHeads = 2, kSize = 4;
  auto bytes = [&](int64_t n) {
    NoGrad guard;
    Tensor q = ones({1, kHeads, n, kSize});
    const size_t before = live_bytes();
    nn::AttentionResult r = nn::attention_with_weights(q, q, q);
    r.output = Tensor();
    return live_bytes() - before;
  };
  auto peak = [&](int64_t n) {
    NoGrad guard;
    Tensor q = ones({1, kHeads, n, kSize});
    reset_peak_bytes();
    const size_t before = live_bytes();
    nn::attention_with_weights(q, q, q);
    return static_cast<double>(peak_bytes() - before);
  };
  for (int64_t n : {64, 128, 256}) {
    EXPECT_EQ(bytes(n), static_cast<size_t>(n * n * kHeads) * sizeof(float));
    EXPECT_EQ(bytes(2 * n), 4 * bytes(n));
    std::printf("attention: %lld positions, scores %zu bytes, peak x%.2f at twice the length\n",
                static_cast<long long>(n), bytes(n), peak(2 * n) / peak(n));
    EXPECT_GT(peak(2 * n), 3.5 * peak(n));
  }
}

TEST(Attention, WeightsAreThoseOfTheFunction) {
  manual_seed(6);
  Tensor q = randn({2, 3, 5, 4}), k = randn({2, 3, 5, 4}), v = randn({2, 3, 5, 6});
  auto r = nn::attention_with_weights(q, k, v, nn::create_causal_mask(5));
  EXPECT_EQ(r.output.to_vector<float>(),
            scaled_dot_product_attention(q, k, v, {}, 0, true).to_vector<float>());
  EXPECT_NEAR(sum(r.weights).item(), 30, 1e-4);
  EXPECT_EQ(sum(triu(r.weights, 1)).item(), 0);
  EXPECT_EQ(nn::create_causal_mask(2).to(DType::kI64).to_vector<int64_t>(),
            (std::vector<int64_t>{1, 0, 1, 1}));
  EXPECT_THAT(error_of([&] {
                nn::attention_with_weights(q, randn({2, 3, 5, 3}), v);
              }),
              HasSubstr("[scaled_dot_product_attention]"));
  EXPECT_THAT(error_of([&] {
                nn::attention_with_weights(q, k, v, zeros({5, 5}), 0, true);
              }),
              HasSubstr("not both"));
  EXPECT_THAT(error_of([&] { nn::attention_with_weights(q, k, v, {}, 1.5); }), HasSubstr("p must"));
}

TEST(Attention, RefusesWhatDoesNotFit) {
  nn::MultiheadAttention m(6, 2);
  EXPECT_THAT(error_of([] { nn::MultiheadAttention(6, 4); }), HasSubstr("does not divide into 4"));
  EXPECT_THAT(error_of([] { nn::MultiheadAttention(0, 1); }), HasSubstr("does not divide"));
  EXPECT_THAT(error_of([] { nn::MultiheadAttention(6, 2, {.dropout = -1}); }),
              HasSubstr("dropout"));
  EXPECT_THAT(error_of([&] { m(zeros({4, 2, 5})); }), HasSubstr("of sizes 6, 6 and 6"));
  Tensor x = zeros({4, 2, 6});
  EXPECT_THAT(error_of([&] { m(x, zeros({3, 2, 6}), x); }), HasSubstr("one length"));
  EXPECT_THAT(error_of([&] {
                m(x, x, x, {}, true, zeros({4, 3}));
              }),
              HasSubstr("attn_mask must be [4,4] or [4,4,4], got [4,3]"));
  EXPECT_THAT(error_of([&] {
                m(x, x, x, zeros({4, 2}));
              }),
              HasSubstr("key_padding_mask must be [2,4], got [4,2]"));
}

// Integers would be added to the scores as numbers: 1 hides nothing.
TEST(Attention, RefusesMasksOfIntegers) {
  nn::MultiheadAttention m(6, 2);
  const Tensor x = zeros({4, 2, 6}), mask = zeros({4, 4}, DType::kI64),
               padding = zeros({2, 4}, DType::kU8);
  EXPECT_THAT(
      error_of([&] { m(x, x, x, padding); }),
      HasSubstr("[MultiheadAttention] a mask is bool (true: hidden) or floats that are added "
                "to the scores, got uint8: convert with to(DType::kBool) (module_test.cc:"));
  EXPECT_THAT(error_of([&] { m(x, x, x, {}, true, mask); }), HasSubstr("got int64"));
  const Tensor q = zeros({2, 4, 3});
  EXPECT_THAT(error_of([&] { scaled_dot_product_attention(q, q, q, mask); }),
              HasSubstr("[scaled_dot_product_attention] a mask is bool (true: visible)"));
  EXPECT_THAT(error_of([&] { nn::attention_with_weights(q, q, q, mask); }), HasSubstr("got int64"));
}

TEST(Transformer, LayersAreCopiesToBeginWith) {
  manual_seed(7);
  nn::TransformerEncoderLayer layer(8, 2);
  nn::TransformerEncoder encoder(layer, 3);
  const nn::NamedTensors state = encoder.state_dict();
  EXPECT_EQ(state.size(), 36u);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(state[i].second.to_vector<float>(), state[24 + i].second.to_vector<float>());
    EXPECT_NE(state[i].second.data_ptr(), state[24 + i].second.data_ptr());
  }
  EXPECT_THAT(error_of([&] { nn::TransformerEncoder(layer, 0); }), HasSubstr("at least one layer"));
  // The copies have the layer's dtype, and are frozen where it is.
  layer.to(DType::kF64);
  layer.linear1->weight.requires_grad_(false);
  nn::TransformerEncoder wide(layer, 2);
  for (const auto& [name, p] : wide.named_parameters()) {
    EXPECT_EQ(p.dtype(), DType::kF64) << name;
    EXPECT_EQ(p.requires_grad(), !name.ends_with("linear1.weight")) << name;
  }
  EXPECT_THAT(error_of([] { nn::TransformerEncoderLayer(8, 2, {.activation = "selu"}); }),
              HasSubstr("'selu'"));
  nn::Transformer t(8, 2, 1, 1, {.dim_feedforward = 16});
  EXPECT_THAT(error_of([&] { t(zeros({4, 2, 8}), zeros({4, 3, 8})); }), HasSubstr("one batch"));
}

TEST(Positions, SinusoidsAndTables) {
  Tensor t = nn::create_sinusoidal_embeddings(20, 6, kD);
  for (int64_t p = 0; p < 20; ++p) {
    for (int64_t i = 0; i < 6; ++i) {
      const double angle =
          static_cast<double>(p) / std::pow(1e4, static_cast<double>(i - i % 2) / 6);
      EXPECT_NEAR(t.select(0, p).select(0, i).item(),
                  i % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-14);
    }
  }
  nn::PositionalEncoding pe(8, 4), fixed(8, 4, {.learned = false});
  EXPECT_EQ(pe.state_dict().size(), 1u);
  EXPECT_EQ(fixed.state_dict().size(), 0u);
  // The rows from start_pos on, and only they get a gradient.
  Tensor x = zeros({2, 3, 4});
  Tensor y = pe(x, 4);
  EXPECT_EQ(y.select(0, 1).to_vector<float>(),
            pe.position_embeddings.detach().slice(0, 4, 7).contiguous().to_vector<float>());
  sum(y).backward();
  EXPECT_EQ(sum(pe.position_embeddings.grad(), 1).to_vector<float>(),
            (std::vector<float>{0, 0, 0, 0, 8, 8, 8, 0}));
  EXPECT_THAT(error_of([&] { pe(x, 6); }),
              HasSubstr("positions 6 to 8 are out of range for 8 rows"));
  EXPECT_THAT(error_of([&] { pe(x, -1); }), HasSubstr("positions -1 to 1"));
  EXPECT_THAT(error_of([&] { pe(zeros({2, 3, 5})); }), HasSubstr("[..., T, 4]"));
  EXPECT_THAT(error_of([] { nn::create_sinusoidal_embeddings(4, 3); }), HasSubstr("even"));
  nn::EmbeddingLayer layer(10, 4, {.max_seq_len = 8, .scale_embeddings = true});
  // A text in two pieces is the text.
  Tensor tokens = tensor<int64_t>({1, 5, 2, 9, 9});
  Tensor whole = layer(tokens);
  Tensor pieces = cat({layer(tokens.slice(0, 0, 2)), layer(tokens.slice(0, 2, 5), 2)}, 0);
  EXPECT_EQ(whole.to_vector<float>(), pieces.to_vector<float>());
  EXPECT_THAT(error_of([] { nn::EmbeddingLayer(10, 4, {.pos_encoding = "rope"}); }),
              HasSubstr("'rope'"));
}

nn::GptOptions tiny() {
  return {.vocab_size = 11, .embed_dim = 16, .num_layers = 2, .num_heads = 2, .max_seq_len = 6};
}

TEST(Gpt, GeneratesBySeed) {
  manual_seed(8);
  nn::GPT gpt(tiny());
  Tensor start = tensor<int64_t>({{1, 2}, {3, 4}});
  nn::GenerateOptions o;
  o.max_new_tokens = 12;
  o.seed = 3;
  o.temperature = 2;
  auto text = [&] { return gpt.generate(start, o).to_vector<int64_t>(); };
  const std::vector<int64_t> first = text();
  EXPECT_EQ(first.size(), 28u);
  EXPECT_EQ(first[1], 2);
  EXPECT_EQ(text(), first);
  o.seed = 4;
  EXPECT_NE(text(), first);
  EXPECT_TRUE(gpt.training());
  const int threads = num_threads();
  set_num_threads(threads == 1 ? 2 : 1);
  o.seed = 3;
  EXPECT_EQ(text(), first);
  set_num_threads(threads);
  // One token to choose from, or no heat: the most probable one.
  o.top_k = 1;
  const std::vector<int64_t> greedy = text();
  o.top_k = {};
  o.temperature = 0;
  EXPECT_EQ(text(), greedy);
}

// Three steps of training: the weights as numbers.
std::vector<float> after_steps(nn::Module& m, const std::function<Tensor()>& loss) {
  optim::SGD optimizer(m.parameters(), {.lr = 0.1});
  for (int i = 0; i < 3; ++i) {
    m.zero_grad();
    loss().backward();
    optimizer.step();
  }
  std::vector<float> all;
  for (const Tensor& p : m.parameters()) {
    for (float v : p.detach().to_vector<float>()) all.push_back(v);
  }
  return all;
}

TEST(Determinism, BitsDoNotDependOnThreads) {
  const int threads = num_threads();
  auto run = [&](int n) {
    set_num_threads(n);
    manual_seed(21);
    nn::GptOptions o = tiny();
    o.dropout = 0.1;
    nn::GPT gpt(o);
    Tensor tokens = randint(11, {8, 6});
    std::vector<float> all = after_steps(gpt, [&] {
      return cross_entropy(gpt(tokens).reshape({-1, 11}), tokens.reshape({-1}));
    });
    nn::LSTM lstm(16, 32, {.num_layers = 2, .dropout = 0.2, .bidirectional = true});
    Tensor x = randn({12, 8, 16});
    for (float v : after_steps(lstm, [&] { return mean(square(lstm(x))); })) all.push_back(v);
    return all;
  };
  const std::vector<float> one = run(1), two = run(2), again = run(1);
  set_num_threads(threads);
  EXPECT_EQ(one, two);
  EXPECT_EQ(one, again);
}

TEST(Gpt, TopKTakesFromTheLargest) {
  manual_seed(9);
  nn::GPT gpt(tiny());
  gpt.eval();
  Tensor start = tensor<int64_t>({{1}});
  NoGrad guard;
  std::vector<int64_t> allowed = topk(gpt(start).select(1, 0), 3).indices.to_vector<int64_t>(),
                       seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    int64_t next = gpt.generate(start, {1, 5, 3, seed}).to_vector<int64_t>()[1];
    EXPECT_THAT(allowed, testing::Contains(next));
    seen.push_back(next);
  }
  for (int64_t t : allowed) EXPECT_THAT(seen, testing::Contains(t));  // missed: 3 * (2/3)^60
}

TEST(Gpt, Refuses) {
  nn::GPT gpt(tiny());
  Tensor start = tensor<int64_t>({{1}});
  EXPECT_THAT(error_of([&] { gpt(zeros({1, 7}, DType::kI64)); }), HasSubstr("1 to 6"));
  EXPECT_THAT(error_of([&] { gpt(tensor<int64_t>({1})); }), HasSubstr("[GPT]"));
  EXPECT_THAT(error_of([&] { gpt(tensor<int64_t>({{1, 11}})); }), HasSubstr("index 11 at [0,1]"));
  EXPECT_THAT(error_of([] { nn::GPT({.vocab_size = 0}); }), HasSubstr("vocab_size"));
  EXPECT_THAT(error_of([&] { gpt.generate(start, {1, std::nan("")}); }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([&] { gpt.generate(start, {1, -1}); }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([&] { gpt.generate(start, {1, 1, 0}); }), HasSubstr("top_k"));
  EXPECT_THAT(error_of([&] { gpt.generate(start, {-1}); }), HasSubstr("max_new_tokens"));
  EXPECT_THAT(error_of([&] {
                gpt.generate(zeros({1, 0}, DType::kI64));
              }),
              HasSubstr("at least one"));
}

TEST(Gpt, ParametersScaleAsCounted) {
  // 12 C^2 + 13 C a block, and the tables.
  auto count = [](const nn::GptOptions& o) {
    int64_t n = 0;
    for (const Tensor& p : nn::GPT(o).parameters()) n += p.numel();
    return n;
  };
  nn::GptOptions o = tiny(), deep = tiny(), tied = tiny();
  const int64_t c = 16, block = 12 * c * c + 13 * c;
  EXPECT_EQ(count(o), 2 * block + (11 + 6 + 11) * c + 2 * c);
  deep.num_layers = 5;
  EXPECT_EQ(count(deep) - count(o), 3 * block);
  tied.tie_weights = true;
  EXPECT_EQ(count(tied), count(o) - 11 * c);
}

}  // namespace
}  // namespace wick
