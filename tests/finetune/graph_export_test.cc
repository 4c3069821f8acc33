// Exports of a GraphModule after training: by capture() around it, or by to_graph().
#include <gtest/gtest.h>

#include "tests/exporter/model_builder.h"
#include "tests/finetune/models.h"
#include "trainer/capture/graph_tracer.h"

namespace wick {
namespace {

using test::kTrainable;
using test::TrainableModel;

// Some steps with every parameter.
void train(nn::Module& net, const std::function<Tensor()>& loss) {
  optim::SGD sgd(net.parameters(), {.lr = 0.01, .momentum = 0.9});
  net.train();
  for (int i = 0; i < 3; ++i) {
    sgd.zero_grad();
    loss().backward();
    sgd.step();
  }
  net.eval();
}

class Trained : public testing::TestWithParam<TrainableModel> {};

// Interpreter, session of the optimised program, and both of the file read back: eval()'s bits.
TEST_P(Trained, GraphHasTheNewWeightsAndTheEvalsBits) {
  nn::GraphModule net = import_module(test::path_of(GetParam()));
  const std::vector<Tensor> in = test::inputs_of(GetParam(), net);
  const Tensor before = net.run(in)[0];
  train(net, [&] {
    Tensor y = net.run(in)[0];
    return (y * y).mean();
  });
  const std::vector<Tensor> want = net.run(in);
  EXPECT_FALSE(same_bits(host_copy(before), host_copy(want[0])));
  std::vector<HostTensor> host;
  for (const Tensor& t : in) host.push_back(host_copy(t));
  const ir::Graph g = net.to_graph();
  const std::vector<HostTensor> got = test::run_all(g, host);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], host_copy(want[i]))) << i;
}
INSTANTIATE_TEST_SUITE_P(Models, Trained, testing::ValuesIn(kTrainable),
                         [](const auto& info) { return std::string(info.param.name); });

// A new head on a body, captured at a dynamic batch.
TEST(NewHead, IsExportedWithTheBody) {
  nn::GraphModule body = import_module(test::path_of(test::trainable("mobile")));
  body.set_output("/Flatten_output_0");
  nn::Sequential net(std::move(body), nn::Linear(24, 10));
  Generator g{6, 0};
  const Tensor x = uniform({6, 1, 8, 8}, -1, 1, DType::kF32, g);
  const Tensor label = tensor({1, 2, 3, 4, 5, 6}).to(DType::kI64);
  train(net, [&] { return cross_entropy(net(x), label); });
  const ir::Graph graph = capture(net, {{"x", x, {{0, "batch"}}, {}}}, {"logits", {}});
  for (int64_t n : {1, 6}) {
    const Tensor part = x.slice(0, 0, n).contiguous();
    const HostTensor want = host_copy(net(part));
    const std::vector<HostTensor> got = test::run_all(graph, {host_copy(part)});
    EXPECT_TRUE(same_bits(got[0], want)) << n;
  }
  size_t named = 0;
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const ir::Value& value = graph.value(static_cast<ir::ValueId>(v));
    if (value.parameter && value.name == "0.stem.weight") ++named;
  }
  EXPECT_EQ(named, 1u);
}

// The dynamic sizes of the file stay dynamic when its forward is captured again.
TEST(Captured, KeepsSizesThatTheGraphComputes) {
  for (const char* name : {"unet", "transformer", "resampled"}) {
    const TrainableModel& model = test::trainable(name);
    nn::GraphModule net = import_module(test::path_of(model));
    net.eval();
    const Tensor x = test::inputs_of(model, net)[0];
    const ir::Graph graph = capture(net, {{"x", x, {{0, "batch"}}, {}}});
    const Tensor more = cat({x, x, x}, 0);
    const HostTensor in = host_copy(more);
    EXPECT_TRUE(same_bits(ir::run(graph, {&in, 1})[0], host_copy(net(more)))) << name;
  }
}

TEST(Captured, KeepsAConditionOnTheInput) {
  test::Build b;
  b.input("x", DType::kF32, {"n"});
  b.constant("w", test::row({2, 3})).constant("zero", HostTensor::of<float>({}, {0}));
  onnx::NodeProto pick = test::node("If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    pick = test::with_graph(
        pick, branch,
        test::body({test::node(branch[0] == 't' ? "Mul" : "Add", {"x", "w"}, {branch})}, {},
                   {branch}));
  }
  b.add(test::with_int(test::node("ReduceSum", {"x"}, {"s"}), "keepdims", 0));
  b.add(test::node("Greater", {"s", "zero"}, {"c"})).add(pick).output("y");
  nn::GraphModule net(import_onnx_bytes(b.bytes()));
  net.eval();
  EXPECT_EQ(net(tensor({1.0f, 1.0f})).to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(net(tensor({-1.0f, 0.0f})).to_vector<float>(), (std::vector<float>{1, 3}));
  const ir::Graph captured = capture(net, {{"x", tensor({1.0f, 1.0f}), {}, {}}});
  const HostTensor in = test::row({-1, 0}), other = test::row({1, 1});
  for (const ir::Graph& g : {captured, net.to_graph()}) {  // both have both branches
    EXPECT_EQ(*ir::run(g, {&in, 1})[0].as<float>(), 1.0f);
    EXPECT_EQ(*ir::run(g, {&other, 1})[0].as<float>(), 2.0f);
  }
}

}  // namespace
}  // namespace wick
