// nn::GraphModule: an imported graph as a module of the trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exporter/model_builder.h"
#include "tests/finetune/models.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"

namespace wick {
namespace {

using test::Build;
using test::error_of;
using test::kTrainable;
using test::TrainableModel;
using testing::ElementsAre;
using testing::HasSubstr;

nn::GraphModule open(const std::string& name) {
  return nn::import_onnx(test::path_of(test::trainable(name)));
}
bool same(const Tensor& a, const Tensor& b) { return same_bits(host_copy(a), host_copy(b)); }
std::map<std::string, Tensor> by_name(const nn::NamedTensors& list) {
  return {list.begin(), list.end()};
}
Tensor image(const Shape& shape) {
  Generator g{4, 0};
  return uniform(shape, -1, 1, DType::kF32, g);
}

class Imported : public testing::TestWithParam<TrainableModel> {};

TEST_P(Imported, EvalGivesTheInterpretersBits) {
  nn::GraphModule net = import_module(test::path_of(GetParam()));
  net.eval();
  const std::vector<Tensor> in = test::inputs_of(GetParam(), net);
  std::vector<HostTensor> host;
  for (const Tensor& t : in) host.push_back(host_copy(t));
  const std::vector<HostTensor> want = ir::run(net.graph(), host);
  const std::vector<Tensor> got = net.run(in);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(host_copy(got[i]), want[i])) << i;
}
INSTANTIATE_TEST_SUITE_P(Models, Imported, testing::ValuesIn(kTrainable),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(GraphModule, WeightsAreParametersUnderTheirNames) {
  nn::GraphModule net = open("mobile");
  std::vector<std::string> parameters, buffers;
  for (const auto& [name, t] : net.named_parameters()) {
    parameters.push_back(name);
    EXPECT_TRUE(t.requires_grad()) << name;
  }
  for (const auto& [name, t] : net.named_buffers()) buffers.push_back(name);
  EXPECT_THAT(parameters,
              testing::UnorderedElementsAre(
                  "stem.weight", "norm0.weight", "norm0.bias", "expand.weight", "norm1.weight",
                  "norm1.bias", "depth.weight", "norm2.weight", "norm2.bias", "squeeze.weight",
                  "squeeze.bias", "excite.weight", "excite.bias", "project.weight", "norm3.weight",
                  "norm3.bias", "head.weight", "head.bias"));
  EXPECT_THAT(buffers, testing::IsSupersetOf({"norm0.running_mean", "norm3.running_var"}));
  EXPECT_EQ(buffers.size(), 8u);
  EXPECT_EQ(net.batch_norms(), 4u);
  EXPECT_EQ(net.dropouts(), 1u);
  EXPECT_EQ(net.requires_grad_("norm", false), 8u);
  EXPECT_FALSE(by_name(net.named_parameters())["norm2.bias"].requires_grad());
  EXPECT_TRUE(by_name(net.named_parameters())["stem.weight"].requires_grad());
  EXPECT_THAT(error_of([&] { net.requires_grad_("nrom", false); }), HasSubstr("'nrom'"));
}

// Statistics of the batch and running ones, as the trainer's own layer.
TEST(GraphModule, BatchNormTrainsAsTheLayerDoes) {
  nn::GraphModule net = open("mobile");
  auto state = by_name(net.state_dict());
  net.set_output("/norm0/BatchNormalization_output_0");
  nn::Conv2d conv(1, 8, 3, {.padding = 1, .bias = false});
  nn::BatchNorm2d norm(8);
  {
    NoGrad guard;
    conv.weight.copy_(state["stem.weight"]);
    norm.weight.copy_(state["norm0.weight"]);
    norm.bias.copy_(state["norm0.bias"]);
    norm.running_mean.copy_(state["norm0.running_mean"]);
    norm.running_var.copy_(state["norm0.running_var"]);
  }
  for (int step = 0; step < 2; ++step) {
    const Tensor x = image({4, 1, 5, 5}) * (1.0 + step);
    const Tensor y = net(x), want = norm(conv(x));
    EXPECT_TRUE(same(y, want));
    (y * y * y).sum().backward();
    (want * want * want).sum().backward();
    EXPECT_TRUE(same(by_name(net.named_parameters())["norm0.weight"].grad(), norm.weight.grad()));
    EXPECT_TRUE(same(by_name(net.named_parameters())["stem.weight"].grad(), conv.weight.grad()));
    EXPECT_TRUE(same(by_name(net.state_dict())["norm0.running_mean"], norm.running_mean));
    EXPECT_TRUE(same(by_name(net.state_dict())["norm0.running_var"], norm.running_var));
  }
  net.eval();
  norm.eval();
  const Tensor x = image({1, 1, 5, 5}), before = norm.running_mean.clone();
  EXPECT_TRUE(same(net(x), norm(conv(x))));
  EXPECT_TRUE(same(by_name(net.state_dict())["norm0.running_mean"], before));
  net.train();
  net.set_batch_norm_momentum(1);  // the statistics of this batch alone
  const Tensor batch = image({4, 1, 5, 5});
  net(batch);
  const Tensor mean_of = mean(conv(batch), {0, 2, 3});
  const auto running = by_name(net.state_dict())["norm0.running_mean"].to_vector<float>();
  for (size_t i = 0; i < running.size(); ++i)
    EXPECT_NEAR(running[i], mean_of.to_vector<float>()[i], 1e-6);
}

// A file in training mode is the same module as one in inference mode.
TEST(GraphModule, TrainingFilesAreSwitchedToo) {
  nn::GraphModule a = open("mobile"), b = open("mobile_training");
  b.load_state_dict(a.state_dict());
  const Tensor x = image({4, 1, 8, 8});
  a.eval(), b.eval();
  EXPECT_TRUE(same(a(x), b(x)));
  a.train(), b.train();
  manual_seed(1);
  const Tensor y = a(x);
  manual_seed(1);
  EXPECT_TRUE(same(y, b(x)));
  for (const auto& [name, t] : a.state_dict())
    EXPECT_TRUE(same(t, by_name(b.state_dict())[name])) << name;
}

// Equal weights stand in a file once; statistics too, which are then told apart again.
TEST(GraphModule, EqualWeightsAreEachOnesOwn) {
  Build b;
  b.input("x", DType::kF32, {"n", "2", "h", "w"});
  b.constant("a.weight", test::row({1, 1})).constant("a.bias", test::row({0, 0}));
  b.add(test::node("Identity", {"a.weight"}, {"b.weight"}));
  b.add(test::node("Identity", {"a.bias"}, {"b.bias"}));
  b.add(test::node("Identity", {"a.bias"}, {"a.running_mean"}));
  b.add(test::node("Identity", {"a.weight"}, {"a.running_var"}));
  b.add(test::node("Identity", {"a.bias"}, {"b.running_mean"}));
  b.add(test::node("Identity", {"a.weight"}, {"b.running_var"}));
  for (const std::string layer : {"a", "b"}) {
    b.add(test::node("BatchNormalization",
                     {layer == "a" ? "x" : "ya", layer + ".weight", layer + ".bias",
                      layer + ".running_mean", layer + ".running_var"},
                     {"y" + layer}));
  }
  b.output("yb");
  nn::GraphModule net(import_onnx_bytes(b.bytes()));
  EXPECT_EQ(net.named_parameters().size(), 4u);
  EXPECT_EQ(net.named_buffers().size(), 4u);
  const Tensor x = image({4, 2, 3, 3}) * 2 + 1;
  net(x);
  auto state = by_name(net.state_dict());
  EXPECT_FALSE(same(state.at("a.running_mean"), state.at("b.running_mean")));
  EXPECT_TRUE(same(state.at("a.bias"), zeros({2})));
  net.eval();
  const HostTensor in = host_copy(x);
  EXPECT_TRUE(same_bits(ir::run(net.to_graph(), {&in, 1})[0], host_copy(net(x))));
}

TEST(GraphModule, DropoutDropsInTrainingAlone) {
  nn::GraphModule net = open("mobile");
  net.set_output("/drop/Dropout_output_0");
  const Tensor x = image({64, 1, 8, 8});
  net.eval();
  EXPECT_TRUE(same(net(x), net(x)));
  const auto whole = net(x).to_vector<float>();
  net.train();
  net.requires_grad_(false);
  const auto dropped = net(x).to_vector<float>();
  size_t zero = 0, zero_before = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    zero += dropped[i] == 0 ? 1 : 0;
    zero_before += whole[i] == 0 ? 1 : 0;
  }
  EXPECT_EQ(zero_before, 0u);
  EXPECT_NEAR(static_cast<double>(zero) / static_cast<double>(whole.size()), 0.2, 0.05);
}

TEST(GraphModule, OutputsAreCutByName) {
  nn::GraphModule net = open("mobile");
  net.eval();
  net.requires_grad_("stem.", false);
  const Tensor kept = by_name(net.state_dict())["project.weight"];
  const Tensor x = image({2, 1, 8, 8});
  net.set_outputs({"/Flatten_output_0", "/norm2/BatchNormalization_output_0"});
  EXPECT_THAT(net.output_names(),
              ElementsAre("/Flatten_output_0", "/norm2/BatchNormalization_output_0"));
  const auto out = net.run({{"x", x}});
  EXPECT_EQ(out.at("/Flatten_output_0").raw_shape(), (Shape{2, 24}));
  EXPECT_EQ(out.at("/norm2/BatchNormalization_output_0").raw_shape(), (Shape{2, 16, 4, 4}));
  auto left = by_name(net.state_dict());
  EXPECT_EQ(left.count("head.weight"), 0u);
  EXPECT_EQ(left.at("project.weight").id(), kept.id());
  EXPECT_FALSE(left.at("stem.weight").requires_grad());
  EXPECT_FALSE(net.training());
  EXPECT_THAT(error_of([&] { net.set_output("/Flatten"); }), HasSubstr("/Flatten_output_0"));
  nn::GraphModule two = open("caption");
  two.set_output("/norm/LayerNormalization_output_0");
  EXPECT_THAT(two.input_names(), ElementsAre("image"));  // no word is read any more
  EXPECT_EQ(two(image({2, 1, 8, 8})).raw_shape(), (Shape{2, 4, 8}));
}

TEST(GraphModule, InputsAreCheckedAndNamed) {
  nn::GraphModule net = open("caption");
  const Tensor x = image({2, 1, 8, 8}), words = ones({2, 3}, DType::kI64);
  EXPECT_TRUE(same(net.run({{"words", words}, {"image", x}})["weight"], net.run({x, words})[1]));
  EXPECT_THAT(error_of([&] { net(x); }), HasSubstr("run({image, words})"));
  EXPECT_THAT(error_of([&] {
                net.run(std::vector<Tensor>{x, x});
              }),
              HasSubstr("input \"words\" takes int64[batch,t], got float32[2,1,8,8]"));
  EXPECT_THAT(error_of([&] {
                net.run({{"picture", x}, {"words", words}});
              }),
              HasSubstr("image, words"));
}

TEST(GraphModule, HooksAndErrorsNameTheNode) {
  nn::GraphModule net = open("dense");
  int calls = 0;
  auto handle =
      net.register_forward_hook([&](nn::Module&, const Tensor&, const Tensor&) { ++calls; });
  net(image({2, 2, 8, 8}));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(error_of([&] { net(image({2, 3, 8, 8})); }), HasSubstr("'/a/Conv'"));
}

// A constant of 1 x 4 x 4 numbers, which is a weight.
ir::ValueId square_of(ir::Graph& g, const char* name, float value) {
  return g.add_constant(HostTensor::of<float>(Shape{1, 4, 4}, std::vector<float>(16, value)), name,
                        true);
}

// x * w -> FusedAttention "halve" -> y: only passes make that op, and it has no gradient
TEST(GraphModule, BackwardThroughAnOpWithoutGradientNamesIt) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, to_symbolic(Shape{1, 4, 4}));
  const ir::ValueId h = g.emit(OpId::kMul, {x, square_of(g, "w", 0.5f)});
  g.add_output("y", g.emit(OpId::kFusedAttention, FusedAttentionAttrs{}, {h, h, h}, "halve"));
  nn::GraphModule net(std::move(g));
  const Tensor in = image({1, 4, 4}), y = net(in);
  EXPECT_TRUE(y.requires_grad());
  const std::string error = error_of([&] { y.sum().backward(); });
  EXPECT_THAT(error, HasSubstr("fused_attention"));
  EXPECT_THAT(error, HasSubstr("'halve'"));
  EXPECT_THAT(error, HasSubstr("no gradient"));
  net.requires_grad_(false);
  EXPECT_FALSE(net(in).requires_grad());
}

// Two ways from a weight to the output, and a third that no weight stands before.
TEST(GraphModule, BackwardNamesAllOpsWithoutGradient) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, to_symbolic(Shape{1, 4, 4}));
  const ir::ValueId key = square_of(g, "key", 0.25f);
  const ir::ValueId h = g.emit(OpId::kMul, {x, square_of(g, "w", 0.5f)});
  const auto attention = [&](ir::ValueId query, const char* name) {
    return g.emit(OpId::kFusedAttention, FusedAttentionAttrs{}, {query, key, key}, name);
  };
  const ir::ValueId sum = g.emit(OpId::kAdd, {attention(h, "halve"), attention(h, "warp")});
  g.add_output("y", g.emit(OpId::kAdd, {sum, attention(x, "not_of_a_weight")}));
  nn::GraphModule net(std::move(g));
  // The key is a weight as any other float: frozen, what it alone leads to is not in the way.
  for (const auto& [name, t] : net.named_parameters()) {
    if (name == "key") t.requires_grad_(false);
  }
  const std::string error = error_of([&] { net(image({1, 4, 4})).sum().backward(); });
  EXPECT_THAT(error, HasSubstr("[fused_attention] in module 'halve'"));
  EXPECT_THAT(error, HasSubstr("[fused_attention] in module 'warp'"));
  EXPECT_THAT(error, HasSubstr("neither has"));
  EXPECT_THAT(error, testing::Not(HasSubstr("not_of_a_weight")));
}

// The weights before a LpPool and a GridSample, and the grid, are trained.
TEST(GraphModule, ImageOpsPassGradients) {
  Build b;
  b.input("x", DType::kF32, {"n", "1", "4", "4"});
  b.constant("w", HostTensor::of<float>(Shape{1, 1, 4, 4}, std::vector<float>(16, 0.5f)));
  b.constant("grid", HostTensor::of<float>(Shape{1, 2, 2, 2},
                                           {-0.6f, -0.4f, 0.3f, -0.7f, -0.2f, 0.6f, 0.55f, 0.35f}));
  b.add(test::node("Mul", {"x", "w"}, {"h"}));
  b.add(test::with_ints(test::with_ints(test::node("LpPool", {"h"}, {"p"}), "kernel_shape", {2, 2}),
                        "strides", {2, 2}));
  b.add(test::node("GridSample", {"h", "grid"}, {"q"})).add(test::node("Add", {"p", "q"}, {"y"}));
  b.output("y");
  nn::GraphModule net(import_onnx_bytes(b.bytes()));
  const Tensor x = image({1, 1, 4, 4});
  net(x).sum().backward();
  ASSERT_EQ(net.named_parameters().size(), 2u);
  for (const auto& [name, t] : net.named_parameters()) {
    NoGrad guard;
    const Tensor before = t.clone(), step = ones(t.raw_shape()) * 0.01;
    t.copy_(before + step);
    const double up = net(x).sum().item();
    t.copy_(before - step);
    const double down = net(x).sum().item();
    t.copy_(before);
    EXPECT_NEAR(t.grad().sum().item(), (up - down) / 0.02, 0.01) << name;
  }
}

// y = c ? x * w : x + w, and a Loop that multiplies by w three times.
TEST(GraphModule, ControlFollowsTheConditionAndIsDifferentiable) {
  Build b;
  b.input("x", DType::kF32, {"n"}).input("c", DType::kBool, {});
  b.constant("w", test::row({2, 3}));
  onnx::NodeProto choose = test::node("If", {"c"}, {"h"});
  choose = test::with_graph(choose, "then_branch",
                            test::body({test::node("Mul", {"x", "w"}, {"t"})}, {}, {"t"}));
  choose = test::with_graph(choose, "else_branch",
                            test::body({test::node("Add", {"x", "w"}, {"e"})}, {}, {"e"}));
  b.constant("trips", test::number(3)).constant("go", test::flag(true));
  b.add(choose).add(test::with_graph(test::node("Loop", {"trips", "go", "h"}, {"y", "all"}), "body",
                                     test::body({test::node("Mul", {"a", "w"}, {"next"}),
                                                 test::node("Identity", {"on"}, {"still"}),
                                                 test::node("Identity", {"next"}, {"seen"})},
                                                {"i", "on", "a"}, {"still", "next", "seen"})));
  b.output("y").output("all");
  nn::GraphModule net(import_onnx_bytes(b.bytes()));
  ASSERT_EQ(net.named_parameters().size(), 1u);
  const Tensor x = tensor({1.0f, 5.0f}), w = net.parameters()[0];
  std::vector<Tensor> out = net.run(std::vector<Tensor>{x, full({}, true, DType::kBool)});
  EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{16, 405}));  // x w^4
  EXPECT_EQ(out[1].raw_shape(), (Shape{3, 2}));
  out[0].sum().backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{32, 540}));  // 4 x w^3
  out = net.run(std::vector<Tensor>{x, full({}, false, DType::kBool)});
  EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{24, 216}));  // (x + w) w^3
}

TEST(GraphModule, RefusesSequencesByNode) {
  Build b;
  b.input("x", DType::kF32, {"n"});
  onnx::NodeProto make = test::node("SequenceConstruct", {"x"}, {"s"});
  make.set_name("gather_all");
  b.add(make).add(test::node("SequenceLength", {"s"}, {"y"})).output("y").output("s");
  EXPECT_THAT(error_of([&] { nn::GraphModule net(import_onnx_bytes(b.bytes())); }),
              HasSubstr("gather_all"));
}

}  // namespace
}  // namespace wick
