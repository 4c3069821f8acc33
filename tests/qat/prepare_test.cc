// The two rewrites: where a graph rounds, and that the trained model is, bit for bit, the QDQ
// graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/qat/goldens.h"
#include "tests/qat/nets.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "tests/support/where.h"

namespace wick {
namespace {

using quantize::convert_qat;
using quantize::prepare_qat;
using quantize::QatModule;
using quantize::QatOptions;
using quantize::Recipe;

std::map<std::string, int> ops_of(const ir::Graph& g) {
  std::map<std::string, int> count;
  for (const ir::Node& n : g.nodes()) {
    if (!n.removed()) ++count[find_op(n.op)->name];
  }
  return count;
}

// eval() of a trained module against the interpreter on the QDQ graph's reference kernels.
void expect_equal_bits(QatModule& net, const std::vector<Tensor>& inputs) {
  const ir::Graph qdq = net.convert();
  net.eval();
  const NoGrad guard;
  int64_t differ = 0, total = 0;
  for (const Tensor& x : inputs) {
    const Tensor y = net(x);
    differ += test::differing(y, test::interpret(qdq, x));
    total += y.numel();
  }
  EXPECT_EQ(differ, 0) << "of " << total;
  std::printf("%lld of %lld outputs differ\n", static_cast<long long>(differ),
              static_cast<long long>(total));
}

TEST(PrepareQat, RoundsWhereIntegersWillBe) {
  manual_seed(1);
  test::SmallNet net;
  const ir::Graph g = prepare_qat(test::graph_of(net));
  std::map<std::string, int> ops = ops_of(g);
  EXPECT_EQ(ops["BatchNorm"], 0);
  EXPECT_EQ(ops["FoldedBatchNorm"], 3);
  int weights = 0, biases = 0, watched = 0, shared = 0;
  const std::vector<bool> constant = quantize::constant_values(g);
  for (const ir::Node& n : g.nodes()) {
    if (n.op != OpId::kFakeQuantize) continue;
    const auto& a = n.attrs.as<FakeQuantizeAttrs>();
    if (a.qmin == INT32_MIN)
      ++biases;
    else if (constant[static_cast<size_t>(n.inputs[0])])
      ++weights;
    else
      n.inputs.size() > 3 ? ++watched : ++shared;
  }
  EXPECT_EQ(weights, 4);
  EXPECT_EQ(biases, 4);
  // image, relu 1, relu 2, batch norm 3, Add + relu, fc; Concat and what moves its integers share
  // one
  EXPECT_GE(watched, 6);
  EXPECT_GE(shared, 2);
  // the float model's names and parameters are there
  std::vector<std::string> names, float_names;
  QatModule module(g);
  for (const auto& [name, t] : module.named_parameters()) names.push_back(name);
  for (const auto& [name, t] : net.named_parameters()) float_names.push_back(name);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(float_names));
}

TEST(PrepareQat, TrainedEvalIsTheQdqGraphByBits) {
  manual_seed(2);
  test::SmallNet float_net;
  const test::Patterns data(256, 1);
  float_net.train();
  test::train_steps(float_net, data, 0.01, 10);
  for (const bool lsq : {false, true}) {
    for (const DType weight : {DType::kI8, DType::kI4}) {
      for (const DType activation : {DType::kU8, DType::kI8}) {
        QatOptions options;
        options.recipe.weight = weight;
        options.recipe.activation = activation;
        options.recipe.activation_symmetric = activation == DType::kI8;
        options.learn_scales = lsq;
        QatModule net(test::graph_of(float_net), options);
        net.train();
        test::train_steps(net, data, 0.002, 6);
        expect_equal_bits(net,
                          {data.x, data.x.slice(0, 0, 1) * 3.0F, data.x.slice(0, 5, 8) * 1e-3F});
      }
    }
  }
}

TEST(PrepareQat, ConvertedHasIntegersInPlaceOfWeights) {
  manual_seed(3);
  test::SmallNet float_net;
  const test::Patterns data(64, 1);
  QatModule net(test::graph_of(float_net));
  net.train();
  test::train_steps(net, data, 0.002, 3);
  const ir::Graph qdq = net.convert();
  std::map<std::string, int> ops = ops_of(qdq);
  for (const char* gone :
       {"FakeQuantize", "FoldedBatchNorm", "BatchNorm", "Sqrt", "Div", "Sub", "Mul"})
    EXPECT_EQ(ops[gone], 0) << gone;
  EXPECT_EQ(ops["Conv"], 3);
  for (const ir::Node& n : qdq.nodes()) {
    if (n.op != OpId::kConv && n.op != OpId::kLinear) continue;
    ASSERT_EQ(n.inputs.size(), 3U);
    const ir::Node& w = qdq.node(qdq.value(n.inputs[1]).producer);
    const ir::Node& b = qdq.node(qdq.value(n.inputs[2]).producer);
    ASSERT_EQ(w.op, OpId::kDequantizeLinear);
    ASSERT_EQ(b.op, OpId::kDequantizeLinear);
    EXPECT_EQ(qdq.value(w.inputs[0]).dtype, DType::kI8);
    EXPECT_EQ(qdq.value(b.inputs[0]).dtype, DType::kI32);
    // the bias counts in steps of s_x * s_w
    const ir::Node& x = qdq.node(qdq.value(n.inputs[0]).producer);
    ASSERT_EQ(x.op, OpId::kDequantizeLinear);
    const float sx = qdq.value(x.inputs[1]).constant.as<float>()[0];
    const HostTensor &sw = qdq.value(w.inputs[1]).constant, &sb = qdq.value(b.inputs[1]).constant;
    ASSERT_EQ(sw.numel(), sb.numel());
    for (int64_t i = 0; i < sw.numel(); ++i) EXPECT_EQ(sb.as<float>()[i], sx * sw.as<float>()[i]);
  }
  // a pool gives the integers it was given
  for (const ir::Node& n : qdq.nodes()) {
    if (n.op != OpId::kMaxPool) continue;
    const ir::Node& before = qdq.node(qdq.value(n.inputs[0]).producer);
    for (const ir::Node& after : qdq.nodes()) {
      if (after.op != OpId::kQuantizeLinear || after.inputs[0] != n.outputs[0]) continue;
      EXPECT_EQ(after.inputs[1], before.inputs[1]);
      EXPECT_EQ(after.inputs[2], before.inputs[2]);
    }
  }
  // and it is written and read as ONNX
  const std::string path = wick::test::temp_folder() + "qat.onnx";
  export_onnx(qdq, path);
  EXPECT_EQ(ops_of(import_onnx(path))["QuantizeLinear"], ops["QuantizeLinear"]);
}

struct Recurrent : nn::Module {
  nn::Child<nn::Linear> in{this, "in", 6, 12};
  nn::Child<nn::BatchNorm1d> norm{this, "norm", 12};
  nn::Child<nn::Linear> hidden{this, "hidden", 12, 12};
  nn::Child<nn::Linear> out{this, "out", 12, 4};
  Tensor forward(const Arg& x) override {
    const Tensor h = gelu(norm(in(x)));
    const Tensor s = softmax(matmul(hidden(h), h.transpose(0, 1)), -1);
    return out(matmul(s, sigmoid(h)) * 0.5F + h);
  }
};

TEST(PrepareQat, LinearsProductsAndFunctions) {
  manual_seed(4);
  Recurrent float_net;
  float_net.eval();
  QatModule net(capture(float_net, {{"x", zeros({5, 6}), {}, {}}}));
  Generator g{9, 0};
  net.train();
  for (int i = 0; i < 3; ++i) net(uniform({5, 6}, -1, 1, DType::kF32, g));
  std::map<std::string, int> ops = ops_of(net.graph());
  EXPECT_EQ(ops["FoldedBatchNorm"], 1);
  EXPECT_EQ(ops["MatMul"], 2);
  expect_equal_bits(net, {uniform({5, 6}, -2, 2, DType::kF32, g)});
}

TEST(PrepareQat, ImportedModelsTrainAndAreTheirQdqGraphs) {
  for (const char* name :
       {"finetune/models/mobile", "finetune/models/dense", "exporter/models/residual"}) {
    SCOPED_TRACE(name);
    const ir::Graph g = import_for_training(source_dir() + "/tests/" + name + ".onnx");
    QatModule net(g);
    Shape shape;
    for (const SymDim& d : g.value(g.inputs()[0]).shape)
      shape.push_back(d.known() ? d.constant() : 3);
    Generator gen{5, 0};
    net.train();
    optim::SGD sgd(net.parameters(), {.lr = 0.01});
    for (int i = 0; i < 3; ++i) {
      const Tensor loss = net.run({uniform(shape, -1, 1, DType::kF32, gen)})[0].square().mean();
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
    const Tensor x = uniform(shape, -1, 1, DType::kF32, gen);
    expect_equal_bits(net, {x});
    // and as integers
    ir::LowerReport report;
    net.freeze(&report);
    EXPECT_GT(report.integer_nodes(), 0);
    const NoGrad guard;
    EXPECT_EQ(test::differing(net.run({x})[0], test::interpret(net.integer()->graph(), x)), 0);
  }
}

TEST(PrepareQat, WhatIsSkippedStaysFloat) {
  manual_seed(5);
  test::SmallNet float_net;
  Recipe recipe = quantize::qat_recipe();
  recipe.skip = {"c2"};
  recipe.quantize_last = false;
  QatOptions options;
  options.recipe = recipe;
  QatModule net(test::graph_of(float_net), options);
  int weights = 0;
  for (const auto& [name, t] : net.named_buffers())
    weights += name.find("weight_folded_scale") != std::string::npos;
  EXPECT_EQ(weights, 2);
  const test::Patterns data(64, 1);
  net.train();
  test::train_steps(net, data, 0.002, 3);
  expect_equal_bits(net, {data.x});
}

TEST(PrepareQat, WhatCannotBeIsAnError) {
  manual_seed(6);
  test::SmallNet net;
  const ir::Graph g = test::graph_of(net), prepared = prepare_qat(g);
  EXPECT_THAT(test::error_of([&] { prepare_qat(prepared); }),
              testing::HasSubstr("prepared already"));
  EXPECT_THAT(test::error_of([&] { convert_qat(g); }), testing::HasSubstr("no FakeQuantize"));
  EXPECT_THAT(test::error_of([&] { convert_qat(prepared); }),
              testing::AllOf(testing::HasSubstr("train on a batch first"),
                             testing::HasSubstr("image_range")));
  Recipe r = quantize::qat_recipe();
  r.activation_observer.kind = quantize::ObserverKind::kEntropy;
  EXPECT_THAT(test::error_of([&] { prepare_qat(g, r); }), testing::HasSubstr("entropy"));
  r = quantize::qat_recipe();
  r.weight = DType::kU4, r.weight_symmetric = false;
  EXPECT_THAT(test::error_of([&] { prepare_qat(g, r); }), testing::HasSubstr("symmetric"));
  r = quantize::qat_recipe();
  r.skip = {"*"};
  EXPECT_THAT(test::error_of([&] { prepare_qat(g, r); }),
              testing::HasSubstr("no Conv, Linear or MatMul"));
  r.skip = {"nothing_of_this_name"};
  EXPECT_THAT(test::error_of([&] { prepare_qat(g, r); }),
              testing::HasSubstr("nothing_of_this_name"));
  nn::Sequential no_layer{nn::ReLU()};
  const ir::Graph none = test::graph_of(no_layer);
  EXPECT_THAT(test::error_of([&] { prepare_qat(none); }),
              testing::HasSubstr("no Conv, Linear or MatMul"));
  QatModule fresh(prepared);
  const ir::Graph qdq = [&] {
    fresh.train();
    fresh(test::Patterns(8, 1).x);
    return fresh.convert();
  }();
  EXPECT_THAT(test::error_of([&] { prepare_qat(qdq); }), testing::HasSubstr("quantized already"));
}

}  // namespace
}  // namespace wick
