// quantize_model: a trained module as integers; sizes, accuracy, and the bits that are deployed.
#include <gmock/gmock.h>

#include "tests/qat/nets.h"
#include "tests/quantizer/quantized.h"
#include "tests/support/error_of.h"
#include "tests/support/where.h"

namespace wick::quantize {
namespace {

using test::error_of;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

class QuantizeModel : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    manual_seed(4);
    net = new test::SmallNet;
    net->train();
    test::train_steps(*net, test::Patterns(512, 1), 0.005, 60);
  }
  static inline test::SmallNet* net = nullptr;
  const test::Patterns held_out{1000, 2};
  const std::vector<Tensor> seen{test::Patterns(64, 3).x, test::Patterns(64, 5).x};
  const NoGrad guard;
};

TEST_F(QuantizeModel, EveryLayerIsOfIntegersAndWhatRunsIsWhatIsDeployed) {
  const auto q = quantize_model(*net, seen);
  EXPECT_TRUE(q->stayed().empty());
  EXPECT_EQ(q->lowered().integer.at("QLinearConv"), 3);
  const auto ops = test::ops_of([&] { (*q)(held_out.x); });
  for (const char* op : {"QLinearConv", "QGemm", "QLinearAdd"}) EXPECT_THAT(ops, Contains(Key(op)));
  for (const char* op : {"Conv", "Linear", "Add", "BatchNorm"})
    EXPECT_THAT(ops, Not(Contains(Key(op))));
  EXPECT_EQ(test::deployed(q->to_graph(), held_out.x), (*q)(held_out.x).to_vector<float>());
}

TEST_F(QuantizeModel, LosesLittleAndLeavesTheModelAlone) {
  const double before = test::accuracy(*net, held_out);
  EXPECT_GT(before, 0.9);
  net->train();
  const std::string state = state_sha256(net->state_dict());
  const auto q = quantize_model(*net, seen);
  EXPECT_TRUE(net->training());
  EXPECT_EQ(state_sha256(net->state_dict()), state);
  EXPECT_GE(test::accuracy(*q, held_out), before - 0.01);
  EXPECT_TRUE(q->parameters().empty() || !q->parameters()[0].requires_grad());
}

TEST_F(QuantizeModel, WeightsAreAQuarter) {
  nn::Sequential wide(nn::Linear(256, 512), nn::ReLU(), nn::Linear(512, 256));
  const auto q = quantize_model(wide, {randn({8, 256})});
  const ModelSizes sizes = compare_model_sizes(wide, *q);
  EXPECT_EQ(sizes.original_bytes, (2 * 256 * 512 + 512 + 256) * 4);
  EXPECT_GT(sizes.ratio(), 3.9);
  EXPECT_EQ(sizes.saved(), sizes.original_bytes - sizes.quantized_bytes);
  EXPECT_THAT(sizes.text(), HasSubstr("x smaller"));
  // and so is what is written
  const size_t before =
      compile_program(capture(wide, {{"x", zeros({2, 256}), {{0, "n"}}, {}}})).size();
  const size_t after = compile_program(q->to_graph()).size();
  EXPECT_LT(static_cast<double>(after), 0.27 * static_cast<double>(before));
}

TEST_F(QuantizeModel, RecipesThatLeaveActivationsAlone) {
  nn::Sequential mlp(nn::Linear(64, 96), nn::GELU(), nn::Linear(96, 10));
  const Tensor x = randn({5, 64});
  Recipe recipe;
  recipe.mode = Mode::kDynamic;
  const auto dynamic = Quantizer(recipe).quantize_model(mlp, {x});
  EXPECT_EQ(test::ops_of([&] { (*dynamic)(x); })["DynamicLinear"], 2);
  recipe.mode = Mode::kWeightOnly;
  const auto blocks = Quantizer(recipe).quantize_model(mlp, {x});
  const auto ops = test::ops_of([&] { (*blocks)(x); });
  EXPECT_THAT(ops, Contains(Key("BlockLinear")));
  EXPECT_THAT(ops, Not(Contains(Key("DequantizeLinear"))));
  for (const auto* q : {dynamic.get(), blocks.get()}) {
    EXPECT_LT(abs((*const_cast<QuantizedModel*>(q))(x)-mlp(x)).max().item(), 0.02);
    EXPECT_GT(compare_model_sizes(mlp, *q).ratio(), 3);
  }
}

TEST_F(QuantizeModel, TokensAreInputsToo) {
  nn::Sequential net(nn::Embedding(50, 32), nn::Linear(32, 64), nn::Tanh(), nn::Linear(64, 50));
  const Tensor tokens = tensor(std::vector<int64_t>{3, 1, 4, 1, 5, 9, 2, 6}).reshape({2, 4});
  for (const Mode mode : {Mode::kStatic, Mode::kDynamic, Mode::kWeightOnly}) {
    Recipe recipe;
    recipe.mode = mode;
    const auto q = quantize_model(net, {tokens}, recipe);
    EXPECT_LT(abs((*q)(tokens)-net(tokens)).max().item(), 0.05) << mode_name(mode);
    EXPECT_EQ(test::deployed(q->to_graph(), tokens), (*q)(tokens).to_vector<float>())
        << mode_name(mode);
  }
}

// As integers the layer has a bias for each of its inputs' scales, and both have its name.
TEST_F(QuantizeModel, ALayerThatIsCalledTwiceHasTwoBiases) {
  struct Twice : nn::Module {
    nn::Child<nn::Linear> fc{this, "fc", 8, 8};
    Tensor forward(const Arg& x) override { return fc(relu(fc(x)) * 9) + 1; }
  } twice;
  const Tensor x = randn({16, 8});
  const auto q = quantize_model(twice, {x});
  EXPECT_EQ(q->lowered().integer.at("QGemm"), 2);
  EXPECT_EQ(test::deployed(q->to_graph(), x), (*q)(x).to_vector<float>());
}

TEST_F(QuantizeModel, WhatStaysFloatIsNamed) {
  nn::Sequential odd(nn::Linear(16, 16), nn::LayerNorm({16}), nn::Linear(16, 4));
  const auto q = quantize_model(odd, {randn({4, 16})});
  EXPECT_FALSE(q->stayed().empty());  // the norm's parts
  for (const Unquantized& u : q->stayed()) {
    EXPECT_NE(u.reason, "") << u.op;
    EXPECT_NE(u.op, "Linear");
  }
  EXPECT_EQ(q->lowered().integer.at("QGemm"), 2);
}

TEST_F(QuantizeModel, QuantizerIsTheSameByOneRecipe) {
  Recipe recipe;
  recipe.per_channel = false;
  const Quantizer quantizer(recipe);
  const auto q = quantizer.quantize_model(*net, seen), same = quantize_model(*net, seen, recipe);
  EXPECT_EQ((*q)(held_out.x).to_vector<float>(), (*same)(held_out.x).to_vector<float>());
  EXPECT_EQ(Quantizer::compare_models(*net, *q).ratio(), compare_model_sizes(*net, *same).ratio());
  EXPECT_EQ(quantizer.quantize_linear(nn::Linear(4, 3)).weight_scale.numel(), 1);
  const Tensor x = randn({9});
  EXPECT_EQ(Quantizer::dequantize_tensor(Quantizer::quantize_tensor(x)).to_vector<float>(),
            dequantize_int8(quantize_int8(x)).to_vector<float>());
  recipe.activation = DType::kF32;
  EXPECT_THAT(error_of([&] { Quantizer{recipe}; }), HasSubstr("uint8 or int8"));
}

TEST_F(QuantizeModel, BadDataAreErrors) {
  EXPECT_THAT(error_of([&] { quantize_model(*net, {}); }), HasSubstr("no batch"));
  Tensor bad = seen[0].clone();
  bad.view({-1}).select(0, 77).fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(error_of([&] { quantize_model(*net, {seen[0], bad}); }), HasSubstr("batch 1"));
  EXPECT_THAT(error_of([&] {
                quantize_model(*net, {seen[0], randn({4, 1, 9, 8})});
              }),
              HasSubstr("batch 1"));
  Recipe recipe;
  recipe.skip = {"no_such_layer"};
  EXPECT_THAT(error_of([&] { quantize_model(*net, seen, recipe); }), HasSubstr("no_such_layer"));
}

// The course's digits: 64-32-10 within two points.
TEST(QuantizedDigits, KeepTheirAccuracy) {
  const data::ImageData digits = data::open_images(source_dir("/tests/data/sets/tinydigits"));
  manual_seed(6);
  nn::Sequential mlp(nn::Flatten(), nn::Linear(64, 32), nn::ReLU(), nn::Linear(32, 10));
  optim::Adam adam(mlp.parameters(), {.lr = 0.01});
  data::DataLoader train(digits.train, {.batch_size = 32, .shuffle = true, .seed = 1});
  std::vector<Tensor> seen;
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (data::Batch& b : train) {
      if (seen.size() < 8) seen.push_back(b[0]);
      const Tensor loss = cross_entropy(mlp(b[0]), b[1]);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
  }
  const NoGrad guard;
  const auto accuracy = [&](nn::Module& m) {
    data::DataLoader test(digits.test, {.batch_size = 100});
    int64_t right = 0;
    for (data::Batch& b : test) right += loop::count_correct(m(b[0]), b[1]);
    return 100.0 * static_cast<double>(right) / static_cast<double>(test.items());
  };
  const auto q = quantize_model(mlp, seen);
  const double before = accuracy(mlp), after = accuracy(*q);
  std::printf("float %.2f %%, int8 %.2f %%; %s\n", before, after,
              compare_model_sizes(mlp, *q).text().c_str());
  EXPECT_GT(before, 93);
  EXPECT_GE(after, before - 2);
}

}  // namespace
}  // namespace wick::quantize
