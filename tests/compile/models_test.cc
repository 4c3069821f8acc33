// Every kind of net has the bits of eager training: weights, buffers, gradients, the optimizer's
// state, the losses and the generator.
#include "tests/compile/training.h"

namespace wick {
namespace {

using test::expect_same;
using test::Training;
using test::unaudited;
using test::usual;

template <class O, class... A>
std::shared_ptr<O> make_optimizer(nn::Module& net, A... options) {
  return std::make_shared<O>(net.parameters(), options...);
}

Training image_training(const std::string& name, int64_t n) {
  Training t;
  t.net = nn::make_model(name);
  t.optimizer = make_optimizer<optim::SGD>(*t.net, optim::SgdOptions{.lr = 0.05, .momentum = 0.9});
  t.step = usual(t.net, t.optimizer, test::classes);
  t.batch = [n](int) { return test::images(n, 28); };
  return t;
}

struct Encoder : nn::Module {
  nn::Child<nn::LSTM> lstm{this, "lstm", 12, 16};
  nn::Child<nn::Linear> head{this, "head", 16, 10};
  Tensor forward(const Arg& x) override { return head((*lstm)(x)); }
};

TEST(CompileModels, Mlp) {
  const CompileReport r = expect_same([] { return image_training("mlp", 8); }, 8, 5, unaudited());
  EXPECT_LE(r.planned, r.unplanned);
  EXPECT_TRUE(r.breaks.empty()) << r.text();
}

TEST(CompileModels, LeNet) {
  expect_same([] { return image_training("lenet", 4); }, 6, 3, unaudited());
}

TEST(CompileModels, ResNetWithRunningStatistics) {
  expect_same([] { return image_training("resnet8", 4); }, 6, 3, unaudited());
}

// The sizes are a list that interpolate() fills in, of numbers that the arguments' shapes decide.
TEST(CompileModels, ImagesOfAGivenSize) {
  const CompileReport r = expect_same(
      [] {
        Training t;
        auto net = std::make_shared<nn::Conv2d>(1, 10, 3);
        t.net = net;
        t.optimizer = make_optimizer<optim::SGD>(*t.net, optim::SgdOptions{.lr = 0.05});
        t.step = [net, o = t.optimizer](const Tensor& x, const Tensor& y) {
          o->zero_grad();
          Tensor h = interpolate((*net)(x), {.size = {x.size(2), x.size(3)}, .mode = "bilinear"});
          h = interpolate(h, {.size = {5, 7}});
          Tensor loss = cross_entropy(h.mean({2, 3}), y);
          loss.backward();
          o->step();
          return loss;
        };
        t.batch = [](int i) { return test::images(4, 12 + i % 2); };
        return t;
      },
      12, 6, unaudited());
  EXPECT_TRUE(r.breaks.empty()) << r.text();
  EXPECT_EQ(r.forms, 2);
}

TEST(CompileModels, Lstm) {
  const auto make = [] {
    Training t;
    t.net = std::make_shared<Encoder>();
    t.optimizer = make_optimizer<optim::Adam>(*t.net);
    t.step = usual(t.net, t.optimizer, test::classes);
    t.batch = [](int) { return std::pair(rand({5, 3, 12}), randint(0, 10, {5, 3})); };
    return t;
  };
  expect_same(make, 7, 4, unaudited());
}

TEST(CompileModels, GptWithDropoutFusesAndPlans) {
  const auto make = [] {
    Training t;
    nn::GptOptions o;
    o.vocab_size = 20, o.embed_dim = 32, o.num_layers = 2, o.num_heads = 2, o.max_seq_len = 16;
    o.dropout = 0.1;
    t.net = std::make_shared<nn::GPT>(o);
    t.optimizer = make_optimizer<optim::AdamW>(*t.net);
    t.step = usual(t.net, t.optimizer, test::classes);
    t.batch = [](int) { return std::pair(randint(0, 20, {2, 16}), randint(0, 20, {2, 16})); };
    return t;
  };
  const CompileReport r = expect_same(make, 8, 5, unaudited());
  EXPECT_GT(r.fused, 0) << r.text();
  EXPECT_LT(r.launches, r.kernels);
  EXPECT_LT(r.planned, r.unplanned / 2);
  CompileStepOptions plain = unaudited();
  plain.fuse = false;
  EXPECT_EQ(expect_same(make, 6, 3, plain).fused, 0);
}

TEST(CompileModels, TransformerLayerWithEveryOptimizersStep) {
  const auto make = [](int kind) {
    Training t;
    nn::TransformerOptions o;
    o.dim_feedforward = 48;
    t.net = std::make_shared<nn::TransformerEncoderLayer>(32, 4, o);
    switch (kind) {
      case 0: t.optimizer = make_optimizer<optim::RMSprop>(*t.net); break;
      case 1: t.optimizer = make_optimizer<optim::Lion>(*t.net); break;
      case 2: t.optimizer = make_optimizer<optim::Adagrad>(*t.net); break;
      default: t.optimizer = make_optimizer<optim::RAdam>(*t.net);
    }
    t.step =
        usual(t.net, t.optimizer, [](const Tensor& a, const Tensor& b) { return mse_loss(a, b); });
    t.batch = [](int) { return std::pair(randn({6, 2, 32}), randn({6, 2, 32})); };
    return t;
  };
  for (int kind = 0; kind < 4; ++kind) expect_same([&] { return make(kind); }, 6, 3, unaudited());
}

TEST(CompileModels, AuditsChangeNothing) {
  const CompileReport r = expect_same([] { return image_training("mlp", 4); }, 20, 10);
  EXPECT_GE(r.audits, 4);  // repetitions 1, 2, 3, 5 ...
}

TEST(CompileModels, RepetitionAllocatesNoTensor) {
  manual_seed(3);
  Training t = image_training("lenet", 4);
  auto step = compile_step(t.step, unaudited());
  const auto [x, y] = t.batch(0);
  for (int i = 0; i < 5; ++i) step(x, y);
  ASSERT_EQ(step.report().repeated, 2) << step.report().text();
  const AllocatorStats before = allocator_stats();
  for (int i = 0; i < 5; ++i) step(x, y);
  const AllocatorStats after = allocator_stats();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(step.report().repeated, 7);
}

TEST(CompileModels, ModuleAndLossMakeTheStep) {
  manual_seed(3);
  const auto eager = nn::mlp();
  optim::SGD eager_sgd(eager->parameters(), {.lr = 0.1});
  manual_seed(3);
  const auto net = nn::mlp();
  optim::SGD sgd(net->parameters(), {.lr = 0.1});
  auto step = compile(*net, sgd, test::classes);
  const auto [x, y] = test::images(4, 28);
  for (int i = 0; i < 6; ++i) {
    eager_sgd.zero_grad();
    Tensor loss = test::classes((*eager)(x), y);
    loss.backward();
    eager_sgd.step();
    EXPECT_EQ(step(x, y).item(), loss.item());
  }
  EXPECT_EQ(test::digest(net->parameters()), test::digest(eager->parameters()));
}

}  // namespace
}  // namespace wick
