// Every sequence module against PyTorch in float64: names, outputs and all gradients (goldens by
// make_seq.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "tests/support/where.h"
#include "trainer/nn/attention.h"
#include "trainer/nn/embedding.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/nn/rnn.h"
#include "trainer/nn/transformer.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;
constexpr DType kD = DType::kF64;

// make_seq.py's numbers.
Tensor number(const Shape& shape, int64_t seed) {
  std::vector<double> v;
  for (int64_t i = 0; i < numel(shape); ++i) {
    v.push_back(static_cast<double>((i * 37 + seed * 23) % 101 - 50) / 64);
  }
  return from_blob(v.data(), shape, kD);
}

const std::map<std::string, std::string>& goldens() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> m;
    std::ifstream file(source_dir("/tests/seq/goldens/seq.txt"));
    for (std::string line; std::getline(file, line);) {
      const size_t second = line.find(' ', line.find(' ') + 1);
      m[line.substr(0, second)] = second == std::string::npos ? "" : line.substr(second + 1);
    }
    return m;
  }();
  return all;
}

double worst = 0;
std::string worst_at;

void compare(const std::string& key, const Tensor& got) {
  auto at = goldens().find(key);
  ASSERT_NE(at, goldens().end()) << key;
  std::vector<double> want, have = got.to_vector<double>();
  std::istringstream words(at->second);
  for (std::string word; words >> word;) want.push_back(std::stod(word));
  ASSERT_EQ(have.size(), want.size()) << key;
  double largest = 0;
  for (double w : want) largest = std::max(largest, std::fabs(w));
  for (size_t i = 0; i < want.size(); ++i) {
    // An element is judged by itself, and by a hundredth of the largest: where terms of that size
    // cancel, what is left has their error.
    const double scale = std::fabs(want[i]) + 0.01 * std::max(largest, 1.0);
    const double off = std::fabs(have[i] - want[i]) / scale;
    ASSERT_LE(off, 1e-12) << key << ", element " << i << ": " << have[i] << ", PyTorch has "
                          << want[i];
    if (off > worst) worst = off, worst_at = key;
  }
}

void check(const std::string& name, nn::Module& m, const std::vector<Shape>& shapes,
           const std::function<List(const List&)>& run) {
  SCOPED_TRACE(name);
  m.to(kD);
  List inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(number(shapes[i], 100 + static_cast<int64_t>(i)).requires_grad_());
  }
  {
    NoGrad guard;
    int64_t seed = 1;
    for (const Tensor& p : m.parameters()) p.copy_(number(p.shape(), seed++) / 2);
  }
  std::string names;
  for (const auto& [key, value] : m.state_dict()) names += (names.empty() ? "" : " ") + key;
  EXPECT_EQ(names, goldens().at(name + " names"));
  std::string repr = m.repr();
  std::replace(repr.begin(), repr.end(), '\n', '|');
  EXPECT_EQ(repr, goldens().at(name + " repr"));
  List outputs = run(inputs);
  Tensor loss;
  for (size_t k = 0; k < outputs.size(); ++k) {
    compare(name + " out" + std::to_string(k), outputs[k]);
    Tensor part = sum(outputs[k] * number(outputs[k].shape(), 50 + static_cast<int64_t>(k)));
    loss = loss.defined() ? loss + part : part;
  }
  loss.backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    compare(name + " in" + std::to_string(i), inputs[i].grad());
  }
  for (const auto& [key, p] : m.named_parameters()) {
    ASSERT_TRUE(p.grad().defined()) << key;
    compare(name + " " + key, p.grad());
  }
}

class Goldens : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    std::printf("sequence modules: worst difference from PyTorch %.2g (%s)\n", worst,
                worst_at.c_str());
  }
};

TEST_F(Goldens, Tables) {
  const Tensor index = tensor<int64_t>({{1, 2, 4}, {4, 0, 2}});
  const Tensor flat = tensor<int64_t>({1, 2, 4, 4, 0, 2, 6}),
               offsets = tensor<int64_t>({0, 3, 3, 5});
  nn::Embedding plain(7, 3, {.padding_idx = 2}), freq(7, 3, {.scale_grad_by_freq = true}),
      norm(7, 3, {.max_norm = 0.4, .norm_type = 1.5});
  check("embedding", plain, {}, [&](const List&) { return List{plain(index)}; });
  check("embedding_freq", freq, {}, [&](const List&) { return List{freq(index)}; });
  check("embedding_norm", norm, {}, [&](const List&) {
    Tensor y = norm(index);
    return List{y, norm.weight.detach()};
  });
  nn::EmbeddingBag sums(7, 3, {.mode = "sum"}), means(7, 3, {.padding_idx = 2}),
      tops(7, 3, {.mode = "max"});
  check("bag_sum", sums, {{7}}, [&](const List& in) { return List{sums(flat, offsets, in[0])}; });
  check("bag_mean", means, {}, [&](const List&) {
    return List{means(flat, offsets), means(index)};
  });
  check("bag_max", tops, {}, [&](const List&) { return List{tops(flat, offsets), tops(index)}; });
}

TEST_F(Goldens, Norms) {
  nn::LayerNorm two(Shape{3, 4}), plain(4, nn::LayerNormOptions{1e-3, false});
  nn::RMSNorm rms(5, 1e-6);
  check("layer_norm", two, {{2, 3, 4}}, [&](const List& in) { return List{two(in[0])}; });
  check("layer_norm_plain", plain, {{3, 4}}, [&](const List& in) { return List{plain(in[0])}; });
  check("rms_norm", rms, {{3, 5}}, [&](const List& in) { return List{rms(in[0])}; });
}

template <class M>
void check_rnn(const std::string& name, M m, const std::vector<Shape>& shapes) {
  check(name, m, shapes, [&](const List& in) {
    auto [y, h, c] =
        m.with_state(in[0], in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
    return c.defined() ? List{y, h, c} : List{y, h};
  });
}

template <class M>
void check_packed(const std::string& name, M m, bool batch_first,
                  const std::vector<Shape>& shapes) {
  check(name, m, shapes, [&](const List& in) {
    auto packed = nn::pack_padded_sequence(in[0], {2, 5, 3}, batch_first, false);
    auto [y, h, c] =
        m.with_state(packed, in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
    auto [padded, lengths] = nn::pad_packed_sequence(y, batch_first, 0.25, 6);
    EXPECT_EQ(lengths.template to_vector<int64_t>(), (std::vector<int64_t>{2, 5, 3}));
    return c.defined() ? List{padded, y.data, h, c} : List{padded, y.data, h};
  });
}

nn::RnnOptions deep(bool batch_first = false) {
  nn::RnnOptions o;
  o.num_layers = 2;
  o.bidirectional = true;
  o.batch_first = batch_first;
  return o;
}

TEST_F(Goldens, Recurrent) {
  const Shape states{4, 3, 4};
  check_rnn("rnn", nn::RNN(3, 4, {.num_layers = 2}), {{5, 3, 3}});
  check_rnn("rnn_relu",
            nn::RNN(3, 4, {.bias = false, .bidirectional = true, .nonlinearity = "relu"}),
            {{5, 2, 3}, {2, 2, 4}});
  check_rnn("gru", nn::GRU(3, 4, deep(true)), {{3, 5, 3}, states});
  check_rnn("gru_alone", nn::GRU(3, 4), {{5, 3}, {1, 4}});
  check_rnn("lstm", nn::LSTM(3, 4, deep()), {{5, 3, 3}, states, states});
  check_rnn("lstm_proj", nn::LSTM(3, 4, {.bidirectional = true, .proj_size = 2}),
            {{5, 2, 3}, {2, 2, 2}, {2, 2, 4}});
}

TEST_F(Goldens, PackedSequences) {
  check_packed("rnn_packed", nn::RNN(3, 4, {.bidirectional = true}), false, {{5, 3, 3}});
  check_packed("gru_packed", nn::GRU(3, 4, deep(true)), true, {{3, 5, 3}, {4, 3, 4}});
  check_packed("lstm_packed", nn::LSTM(3, 4, {.bidirectional = true}), false,
               {{5, 3, 3}, {2, 3, 4}, {2, 3, 4}});
  check_packed("lstm_proj_packed", nn::LSTM(3, 4, {.bidirectional = true, .proj_size = 2}), false,
               {{5, 3, 3}});
}

TEST_F(Goldens, Cells) {
  nn::RNNCell rnn(3, 4, true, "relu");
  nn::GRUCell gru(3, 4, false);
  nn::LSTMCell lstm(3, 4);
  check("rnn_cell", rnn, {{2, 3}, {2, 4}}, [&](const List& in) { return List{rnn(in[0], in[1])}; });
  check("gru_cell", gru, {{2, 3}, {2, 4}}, [&](const List& in) { return List{gru(in[0], in[1])}; });
  check("lstm_cell", lstm, {{2, 3}, {2, 4}, {2, 4}}, [&](const List& in) {
    auto [h, c] = lstm(in[0], {in[1], in[2]});
    return List{h, c};
  });
}

// A bool mask in PyTorch's sense: true is not seen.
Tensor future(int64_t n) { return logical_not(nn::create_causal_mask(n)); }
Tensor padding() { return tensor<int64_t>({{0, 0, 0, 1}, {0, 0, 1, 1}}).to(DType::kBool); }
List both(const nn::AttentionResult& r) { return {r.output, r.weights}; }

TEST_F(Goldens, MultiheadAttention) {
  nn::MultiheadAttention self(6, 2), sizes(6, 3, {.kdim = 5, .vdim = 4, .batch_first = true}),
      extra(6, 2, {.add_bias_kv = true, .add_zero_attn = true}), heads(6, 2, {.bias = false}),
      alone(6, 2);
  check("mha", self, {{4, 2, 6}},
        [&](const List& in) { return both(self(in[0], in[0], in[0], {}, true, future(4))); });
  check("mha_sizes", sizes, {{2, 3, 6}, {2, 4, 5}, {2, 4, 4}}, [&](const List& in) {
    return both(sizes(in[0], in[1], in[2], padding(), true, {}, false));
  });
  check("mha_extra", extra, {{3, 2, 6}, {4, 2, 6}, {3, 4}},
        [&](const List& in) { return both(extra(in[0], in[1], in[1], padding(), true, in[2])); });
  check("mha_heads", heads, {{4, 2, 6}, {4, 4, 4}}, [&](const List& in) {
    auto r = heads(in[0], in[0], in[0], {}, false, in[1]);
    EXPECT_FALSE(r.weights.defined());
    return List{r.output};
  });
  check("mha_alone", alone, {{3, 6}, {4, 6}},
        [&](const List& in) { return both(alone(in[0], in[1], in[1])); });
}

nn::TransformerOptions small(bool pre = false) {
  nn::TransformerOptions o;
  o.dim_feedforward = 7;
  o.dropout = 0;
  if (pre) o.batch_first = o.norm_first = true, o.activation = "gelu";
  return o;
}

TEST_F(Goldens, TransformerLayers) {
  nn::TransformerEncoderLayer post(6, 2, small()), pre(6, 2, small(true));
  check("encoder_layer", post, {{4, 2, 6}},
        [&](const List& in) { return List{post(in[0], future(4), padding())}; });
  check("encoder_layer_pre", pre, {{2, 4, 6}},
        [&](const List& in) { return List{pre(in[0], nn::generate_square_subsequent_mask(4))}; });
  nn::TransformerDecoderLayer dpost(6, 2, small()), dpre(6, 2, small(true));
  check("decoder_layer", dpost, {{3, 2, 6}, {4, 2, 6}},
        [&](const List& in) { return List{dpost(in[0], in[1], future(3), {}, {}, padding())}; });
  check("decoder_layer_pre", dpre, {{2, 4, 6}, {2, 5, 6}}, [&](const List& in) {
    return List{dpre(in[0], in[1], nn::generate_square_subsequent_mask(4), future(5).slice(0, 1, 5),
                     padding())};
  });
}

TEST_F(Goldens, Transformers) {
  nn::TransformerEncoder encoder(nn::TransformerEncoderLayer(6, 2, small()), 2,
                                 std::make_shared<nn::LayerNorm>(6));
  check("encoder", encoder, {{4, 2, 6}}, [&](const List& in) {
    return List{encoder(in[0], nn::generate_square_subsequent_mask(4))};
  });
  nn::Transformer whole(6, 2, 1, 1, small());
  check("transformer", whole, {{4, 2, 6}, {3, 2, 6}}, [&](const List& in) {
    nn::TransformerMasks m;
    m.tgt_mask = future(3);
    m.src_key_padding_mask = m.memory_key_padding_mask = padding();
    return List{whole(in[0], in[1], m)};
  });
}

TEST_F(Goldens, Gpt) {
  nn::GPT gpt({.vocab_size = 7, .embed_dim = 4, .num_layers = 2, .num_heads = 2, .max_seq_len = 8});
  check("gpt", gpt, {}, [&](const List&) {
    return List{gpt(tensor<int64_t>({{1, 4, 2, 2, 0}, {3, 3, 0, 1, 6}}))};
  });
}

}  // namespace
}  // namespace wick
