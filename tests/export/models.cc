// Whole models: towers, decoders, states in and out, masks.
#include <cmath>

#include "tests/export/corpus.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/nn/models/mobilenet.h"
#include "trainer/nn/models/models.h"
#include "trainer/nn/rnn.h"
#include "trainer/nn/transformer.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

struct UNet : nn::Module {
  nn::Child<nn::Conv2d> down1{this, "down1", 3, 8, 3, nn::Conv2dOptions{.padding = 1}};
  nn::Child<nn::Conv2d> down2{this, "down2", 8, 16, 3, nn::Conv2dOptions{.padding = 1}};
  nn::Child<nn::ConvTranspose2d> up{this, "up", 16, 8, 2, nn::ConvTranspose2dOptions{.stride = 2}};
  nn::Child<nn::Conv2d> last{this, "last", 16, 2, 3, nn::Conv2dOptions{.padding = 1}};
  Tensor forward(const Arg& x) override {
    Tensor a = relu(down1(x)), b = relu(down2(max_pool2d(a, 2))), c = up(b);
    // An odd picture comes back smaller by one.
    c = pad(c, {0, a.size(3) - c.size(3), 0, a.size(2) - c.size(2)});
    return last(cat({a, c}, 1));
  }
};

struct Segmenter : nn::Module {
  nn::Child<nn::Conv2d> stem{this, "stem", 3, 8, 3, nn::Conv2dOptions{.stride = 2, .padding = 1}};
  nn::Child<nn::Conv2d> head{this, "head", 8, 4, 1};
  Tensor forward(const Arg& x) override {
    Tensor y = head(relu(stem(x)));
    return interpolate(y, {.size = {x.tensor.size(2), x.tensor.size(3)}, .mode = "bilinear"});
  }
};

struct ViT : nn::Module {
  nn::Child<nn::Conv2d> patches{this, "patches", 3, 16, 4, nn::Conv2dOptions{.stride = 4}};
  nn::Child<nn::TransformerBlock> block{this, "block", 16, 2};
  nn::Child<nn::Linear> head{this, "head", 16, 5};
  Tensor cls = register_parameter("cls", some_floats({1, 1, 16}));
  Tensor forward(const Arg& x) override {
    Tensor p = patches(x);
    p = p.flatten(2).transpose(1, 2);
    Tensor t = cat({cls.expand({p.size(0), -1, -1}), p}, 1);
    return head(block(t).select(1, 0));
  }
};

struct Tagger : nn::Module {
  nn::Child<nn::Embedding> embed{this, "embed", 20, 8};
  nn::Child<nn::LSTM> lstm{this, "lstm", 8, 6,
                           nn::RnnOptions{.batch_first = true, .bidirectional = true}};
  nn::Child<nn::Linear> tags{this, "tags", 12, 4};
  Tensor forward(const Arg& ids) override { return log_softmax(tags(lstm(embed(ids))), -1); }
};

struct Seq2Seq : nn::Module {
  nn::Child<nn::Embedding> embed{this, "embed", 20, 8};
  nn::Child<nn::GRU> encoder{this, "encoder", 8, 8, nn::RnnOptions{.batch_first = true}};
  nn::Child<nn::GRU> decoder{this, "decoder", 8, 8, nn::RnnOptions{.batch_first = true}};
  nn::Child<nn::Linear> out{this, "out", 16, 20};
  Tensor run(const Tensor& source, const Tensor& target) {
    auto memory = encoder->with_state(embed(source));
    auto steps = decoder->with_state(embed(target), memory.h_n);
    Tensor scores = matmul(steps.output, memory.output.transpose(1, 2));
    Tensor context = matmul(softmax(scores, -1), memory.output);
    return out(cat({steps.output, context}, 2));
  }
};

struct TwoTowers : nn::Module {
  nn::Child<nn::Linear> user{this, "user", 6, 4}, item{this, "item", 9, 4};
  Tensor run(const Tensor& u, const Tensor& i) {
    Tensor a = user(u), b = item(i);
    a = a / norm(a, 2.0, {1}, true);
    b = b / norm(b, 2.0, {1}, true);
    return matmul(a, b.transpose(0, 1));
  }
};

struct Vae : nn::Module {
  nn::Child<nn::Linear> up{this, "up", 4, 8 * 3 * 3};
  nn::Child<nn::ConvTranspose2d> a{
      this, "a", 8, 4, 4, nn::ConvTranspose2dOptions{.stride = 2, .padding = 1}};
  nn::Child<nn::ConvTranspose2d> b{
      this, "b", 4, 1, 4, nn::ConvTranspose2dOptions{.stride = 2, .padding = 1}};
  Tensor forward(const Arg& z) override {
    Tensor h = relu(up(z)).view({z.tensor.size(0), 8, 3, 3});
    return sigmoid(b(relu(a(h))));
  }
};

struct Experts : nn::Module {
  nn::Child<nn::Linear> gate{this, "gate", 8, 3};
  nn::Child<nn::Linear> e0{this, "e0", 8, 8}, e1{this, "e1", 8, 8}, e2{this, "e2", 8, 8};
  Tensor forward(const Arg& x) override {
    Tensor weights = softmax(gate(x), -1);
    Tensor all = stack({e0(x), e1(x), e2(x)}, -2);
    return sum(all * weights.unsqueeze(-1), {-2});
  }
};

struct Siamese : nn::Module {
  nn::Child<nn::Conv2d> conv{this, "conv", 1, 4, 3};
  nn::Child<nn::Linear> out{this, "out", 4, 3};
  Tensor embed(const Tensor& x) { return out(mean(relu(conv(x)), {2, 3})); }
};

struct Residual : nn::Module {
  nn::Child<nn::Conv2d> a{this, "a", 4, 4, 3, nn::Conv2dOptions{.padding = 1}};
  nn::Child<nn::GroupNorm> norm{this, "norm", 2, 4};
  Tensor forward(const Arg& x) override { return silu(norm(a(x))) + x.tensor; }
};

struct SqueezeExcite : nn::Module {
  nn::Child<nn::Linear> down{this, "down", 4, 2}, up{this, "up", 2, 4};
  Tensor forward(const Arg& x) override {
    Tensor s = mean(x.tensor, {2, 3});
    s = sigmoid(up(relu(down(s))));
    return x.tensor * s.view({x.tensor.size(0), 4, 1, 1});
  }
};

struct Detector : nn::Module {
  nn::Child<nn::Conv2d> head{this, "head", 4, 6, 1};
  Tensor forward(const Arg& x) override {
    Tensor y = head(x);  // [N, 2 * 3, H, W]
    const int64_t n = y.size(0), h = y.size(2), w = y.size(3);
    y = y.view({n, 2, 3, h, w}).permute({0, 1, 3, 4, 2}).contiguous();
    Tensor columns = arange(w).to(DType::kF32).view({1, 1, 1, w}),
           rows = arange(h).to(DType::kF32).view({1, 1, h, 1});
    Tensor px = (sigmoid(y.select(-1, 0)) + columns) / w,
           py = (sigmoid(y.select(-1, 1)) + rows) / h;
    return stack({px, py, y.select(-1, 2)}, -1).reshape({n, -1, 3});
  }
};

nn::GptOptions small_gpt() {
  nn::GptOptions o;
  o.vocab_size = 23;
  o.embed_dim = 16;
  o.num_layers = 2;
  o.num_heads = 2;
  o.max_seq_len = 64;
  return o;
}

}  // namespace

std::vector<Program> model_programs() {
  std::vector<Program> all;
  const DynamicDim source{1, "source", 1}, target{1, "target", 1};
  all.push_back(layer("lenet", nn::lenet(), {2, 1, 28, 28}, {batch()}));
  all.push_back(layer("resnet8", nn::resnet8(), {2, 1, 28, 28}, {batch()}));
  all.push_back(layer("mobilenet", nn::mobilenet(), {2, 1, 28, 28}, {batch()}));
  all.push_back(layer("mlp", nn::mlp(), {2, 1, 28, 28}, {batch()}));
  all.push_back(layer("unet", std::make_shared<UNet>(), {2, 3, 16, 12}, batch_image(4)));
  all.push_back(layer("segmenter", std::make_shared<Segmenter>(), {2, 3, 16, 12}, batch_image(4)));
  all.push_back(layer("vit", std::make_shared<ViT>(), {2, 3, 16, 12}, {batch()}));
  all.push_back(layer("vit_any_image", std::make_shared<ViT>(), {2, 3, 16, 12}, batch_image(4)));
  all.push_back(ids_layer("gpt", std::make_shared<nn::GPT>(small_gpt()), {2, 6}, 23,
                          {batch(), {1, "time", 1, 64}}));
  all.push_back(ids_layer("tagger", std::make_shared<Tagger>(), {2, 6}, 20, batch_time()));
  all.push_back(layer("vae_decoder", std::make_shared<Vae>(), {2, 4}, {batch()}));
  all.push_back(layer("experts", std::make_shared<Experts>(), {2, 6, 8}, batch_time()));
  all.push_back(layer("residual", std::make_shared<Residual>(), {2, 4, 12, 10}, batch_image()));
  all.push_back(
      layer("squeeze_excite", std::make_shared<SqueezeExcite>(), {2, 4, 12, 10}, batch_image()));
  all.push_back(layer("detector", std::make_shared<Detector>(), {2, 4, 12, 10}, batch_image()));
  auto seq = std::make_shared<Seq2Seq>();
  all.push_back(program("seq2seq", seq,
                        {{"source", some_ids({2, 6}, 20), {batch(), source}, {}},
                         {"target", some_ids({2, 4}, 20), {batch(), target}, {}}},
                        [seq](const Tensor& s, const Tensor& t) { return seq->run(s, t); }));
  auto towers = std::make_shared<TwoTowers>();
  all.push_back(program("two_towers", towers,
                        {{"user", some_floats({2, 6}), {{0, "users"}}, {}},
                         {"item", some_floats({5, 9}), {{0, "items"}}, {}}},
                        [towers](const Tensor& u, const Tensor& i) { return towers->run(u, i); }));
  auto twins = std::make_shared<Siamese>();
  all.push_back(program("siamese", twins,
                        {{"left", some_floats({2, 1, 9, 9}), {batch()}, {}},
                         {"right", some_floats({2, 1, 9, 9}), {batch()}, {}}},
                        [twins](const Tensor& a, const Tensor& b) {
                          return cosine_similarity(twins->embed(a), twins->embed(b), 1);
                        }));
  const nn::TransformerOptions small{.dim_feedforward = 16, .batch_first = true};
  auto transformer = std::make_shared<nn::Transformer>(8, 2, 1, 1, small);
  all.push_back(program(
      "transformer", transformer,
      {{"source", some_floats({2, 6, 8}), {batch(), source}, {}},
       {"target", some_floats({2, 4, 8}), {batch(), target}, {}}},
      [transformer](const Tensor& s, const Tensor& t) { return transformer->forward(s, t); }));
  all.push_back(program("transformer_causal", transformer,
                        {{"source", some_floats({2, 6, 8}), {batch(), source}, {}},
                         {"target", some_floats({2, 4, 8}), {batch(), target}, {}}},
                        [transformer](const Tensor& s, const Tensor& t) {
                          nn::TransformerMasks masks;
                          masks.tgt_mask = nn::generate_square_subsequent_mask(t.size(1));
                          return transformer->forward(s, t, masks);
                        }));
  auto layer_of = std::make_shared<nn::TransformerEncoderLayer>(8, 2, small);
  all.push_back(program("encoder_with_padding", layer_of,
                        {{"x", some_floats({2, 6, 8}), batch_time(), {}},
                         {"padding", gt(some_floats({2, 6}), 0.9), batch_time(), {}}},
                        [layer_of](const Tensor& x, const Tensor& padding) {
                          return layer_of->forward(x, Tensor(), padding);
                        }));
  auto lstm = std::make_shared<nn::LSTM>(8, 5, nn::RnnOptions{.batch_first = true});
  all.push_back(program("lstm_with_states", lstm,
                        {{"x", some_floats({2, 6, 8}), batch_time(), {}},
                         {"h", some_floats({1, 2, 5}), {batch(1)}, {}},
                         {"c", some_floats({1, 2, 5}), {batch(1)}, {}}},
                        [lstm](const Tensor& x, const Tensor& h, const Tensor& c) {
                          auto r = lstm->with_state(x, h, c);
                          return std::tuple(r.output, std::pair(r.h_n, r.c_n));
                        }));
  auto cell = std::make_shared<nn::LSTMCell>(8, 5);
  all.push_back(program("lstm_cell_step", cell,
                        {{"x", some_floats({2, 8}), {batch()}, {}},
                         {"h", some_floats({2, 5}), {batch()}, {}},
                         {"c", some_floats({2, 5}), {batch()}, {}}},
                        [cell](const Tensor& x, const Tensor& h, const Tensor& c) {
                          auto s = cell->forward(x, nn::LstmState{h, c});
                          return std::pair(s.h, s.c);
                        }));
  auto attention = std::make_shared<nn::MultiheadAttention>(
      8, 2, nn::MultiheadAttentionOptions{.batch_first = true});
  all.push_back(program("cross_attention", attention,
                        {{"query", some_floats({2, 4, 8}), {batch(), target}, {}},
                         {"memory", some_floats({2, 6, 8}), {batch(), source}, {}}},
                        [attention](const Tensor& q, const Tensor& m) {
                          return attention->forward(q, m, m, Tensor(), false).output;
                        }));
  auto none = std::make_shared<nn::Identity>();
  all.push_back(program("several_outputs", none, {{"x", some_floats({2, 6, 8}), batch_time(), {}}},
                        [](const Tensor& x) {
                          return std::vector{relu(x), mean(x, {1}), argmax(x, 2)};
                        }));
  all.push_back(program("input_returned", none, {{"x", some_floats({2, 6, 8}), batch_time(), {}}},
                        [](const Tensor& x) { return std::pair(relu(x), relu(x) + 0); }));
  all.push_back(program("masked_mean", none,
                        {{"x", some_floats({2, 6, 8}), batch_time(), {}},
                         {"mask", gt(some_floats({2, 6}), -0.5), batch_time(), {}}},
                        [](const Tensor& x, const Tensor& mask) {
                          Tensor m = mask.to(DType::kF32).unsqueeze(-1);
                          return sum(x * m, {1}) / clamp(sum(m, {1}), 1.0, 1e9);
                        }));
  all.push_back(
      program("lookup", none,
              {{"table", some_floats({7, 4}), {{0, "rows", 7}}, {}},
               {"ids", some_ids({2, 6}, 7), batch_time(), {}}},
              [](const Tensor& table, const Tensor& ids) { return embedding(ids, table); }));
  all.push_back(program("append_to_cache", none,
                        {{"past", some_floats({2, 5, 8}), {batch(), {1, "past"}}, {}},
                         {"now", some_floats({2, 1, 8}), {batch()}, {}}},
                        [](const Tensor& past, const Tensor& now) {
                          Tensor all = cat({past, now}, 1);
                          return std::pair(scaled_dot_product_attention(now, all, all), all);
                        }));
  return all;
}

}  // namespace wick::test
