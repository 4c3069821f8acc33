#include "trainer/capture/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/nn/change/parametrize.h"
#include "trainer/nn/embedding.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/models/models.h"
#include "trainer/tensor/device/vulkan.h"
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Tensor images(int64_t n, const Shape& rest) {
  Shape shape{n};
  for (int64_t d : rest) shape.push_back(d);
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>((i * 37) % 101) / 50.0f - 1;
  return from_blob(t.data(), shape, DType::kF32);
}

CaptureInput batched(const Tensor& example) { return {"x", example, {{0, "batch"}}, {}}; }

std::string refusal(nn::Module& module, const Tensor& example) {
  try {
    capture(module, {batched(example)});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// The trainer's eval, the interpreter on plain loops, and the optimised graph on the SIMD kernels:
// one set of bits.
class Models : public testing::TestWithParam<const char*> {};

TEST_P(Models, EvalEqualsInterpreterAtEveryBatch) {
  auto model = nn::make_model(GetParam());
  model->eval();
  ir::Graph graph = capture(*model, {batched(images(2, {1, 28, 28}))}, {"logits", {"a", "b"}});
  EXPECT_EQ(shape_text(graph.value(graph.outputs()[0].value).shape), "[batch,10]");
  EXPECT_EQ(graph.outputs()[0].name, "logits");
  EXPECT_EQ(graph.labels.size(), 2u);
  ir::Graph optimized = graph;
  ir::optimize(optimized);
  EXPECT_LT(optimized.node_count(), graph.node_count());
  for (int64_t n : {1, 5}) {
    Tensor x = images(n, {1, 28, 28});
    HostTensor want = host_copy((*model)(x)), in = host_copy(x);
    EXPECT_TRUE(same_bits(ir::run(graph, {&in, 1})[0], want)) << n;
    ir::InterpreterOptions simd;
    simd.kernels = {&kCpuKernels, &kReferenceKernels};
    EXPECT_TRUE(same_bits(ir::run(optimized, {&in, 1}, simd)[0], want)) << n;
  }
}

TEST_P(Models, ParametersEnterByName) {
  auto model = nn::make_model(GetParam());
  model->eval();
  ir::Graph graph = capture(*model, {batched(images(2, {1, 28, 28}))});
  std::map<std::string, HostTensor> constants;
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const ir::Value& value = graph.value(static_cast<ir::ValueId>(v));
    if (value.parameter) constants[value.name] = value.constant;
  }
  for (const Tensor& p : model->parameters()) EXPECT_TRUE(p.defined());
  for (const auto& [name, tensor] : model->named_parameters()) {
    ASSERT_EQ(constants.count(name), 1u) << name;
    EXPECT_TRUE(same_bits(constants[name], host_copy(tensor))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Trained, Models, testing::Values("lenet", "mlp", "mobilenet", "resnet8"));

TEST(Capture, NodesKnowTheirModule) {
  auto model = nn::lenet();
  model->eval();
  ir::Graph graph = capture(*model, {batched(images(2, {1, 28, 28}))});
  EXPECT_EQ(graph.nodes()[0].op, OpId::kConv);
  EXPECT_EQ(graph.nodes()[0].module, "0");
  EXPECT_THAT(graph.nodes()[0].source.text(), HasSubstr(".cc:"));
}

TEST(Capture, MobileNetIsInvertedResiduals) {
  auto model = nn::make_model("mobilenet");
  model->eval();
  const ir::Graph graph = capture(*model, {batched(images(2, {1, 28, 28}))});
  std::map<OpId, int> ops;
  int depthwise = 0;
  for (const ir::Node& n : graph.nodes()) {
    ++ops[n.op];
    if (n.op != OpId::kConv) continue;
    const int64_t groups = n.attrs.as<ConvAttrs>().group;
    EXPECT_TRUE(groups == 1 || groups == graph.value(n.inputs[1]).constant.shape()[0]) << n.name;
    depthwise += groups != 1 ? 1 : 0;
  }
  EXPECT_EQ(depthwise, 5);
  EXPECT_EQ(ops[OpId::kConv], 2 + 2 + 4 * 3);
  EXPECT_EQ(ops[OpId::kClip], 2 + 1 + 4 * 2);  // the narrow end is linear
  EXPECT_EQ(ops[OpId::kAdd], 3);               // where the shape stays
}

TEST(Capture, BytesInNormalizedAsTheDataIs) {
  auto model = nn::mlp();
  model->eval();
  CaptureInput in = batched(images(2, {1, 28, 28}));
  in.normalization = {{255.0f, {0.2860f}, {0.3530f}}};
  ir::Graph graph = capture(*model, {in});
  HostTensor bytes(DType::kU8, Shape{3, 1, 28, 28}), floats(DType::kF32, Shape{3, 1, 28, 28});
  for (int64_t i = 0; i < bytes.numel(); ++i) {
    bytes.as<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
    floats.as<float>()[i] =
        (static_cast<float>(bytes.as<uint8_t>()[i]) / 255.0f - 0.2860f) / 0.3530f;
  }
  HostTensor want = host_copy((*model)(from_blob(floats.data(), floats.shape(), DType::kF32)));
  EXPECT_TRUE(same_bits(ir::run(graph, {&bytes, 1})[0], want));
}

TEST(Capture, TrainingModeIsRefused) {
  auto model = nn::resnet8();
  EXPECT_THAT(refusal(*model, images(2, {1, 28, 28})),
              HasSubstr("call eval() on the module first"));
}

// Stochastic depth, as people write it themselves: nothing says that training is what it is for.
TEST(Capture, AnErrorInTrainingModeSaysSo) {
  struct Drops : nn::Module {
    Tensor forward(const Arg& x) override {
      return training() ? x.tensor * (rand({x.tensor.size(0), 1}) + 0.9).floor() : x.tensor * 2;
    }
  } net;
  const std::string text = refusal(net, images(4, {3}));
  EXPECT_THAT(text, HasSubstr("is baked in"));
  EXPECT_THAT(text, HasSubstr("The module is in training mode: call eval() on it first"));
  net.eval();
  EXPECT_EQ(refusal(net, images(4, {3})), "no error");
}

TEST(Capture, AModuleOnADeviceIsRefused) {
  if (!vulkan_is_available()) GTEST_SKIP() << "no Vulkan device: " << why_no_vulkan();
  nn::Linear net(3, 2);
  net.eval();
  EXPECT_THAT(refusal(net, images(4, {3}).vulkan()), HasSubstr("\"x\" is on a Vulkan device"));
  net.to("vulkan");
  EXPECT_THAT(refusal(net, images(4, {3})),
              AllOf(HasSubstr("\"weight\" is on a Vulkan device"), HasSubstr("to(\"cpu\")")));
}

// A whitening of weights, as the orthogonal parametrization is one: the graph has no inverse, and
// needs none.
TEST(Capture, AFactorizationOfWeightsIsAConstant) {
  struct Whitens : nn::Module {
    Tensor w = register_parameter("w", eye(3) * 2 + ones({3, 3}));
    Tensor forward(const Arg& x) override { return matmul(x, linalg::inv(matmul(w, w.t()))); }
  } net;
  nn::Sequential orthogonal(nn::Linear(3, 3));
  nn::orthogonal(orthogonal[0]);
  for (nn::Module* m : {static_cast<nn::Module*>(&net), static_cast<nn::Module*>(&orthogonal)}) {
    m->eval();
    const Tensor x = randn({5, 3});
    const ir::Graph graph = capture(*m, {{"x", x, {{0, "batch"}}, {}}});
    const HostTensor in = host_copy(x);
    EXPECT_TRUE(same_bits(ir::run(graph, {&in, 1})[0], host_copy((*m)(x))));
  }
}
TEST(Capture, AFactorizationOfAnInputIsRefusedForWhatItIs) {
  struct Inverts : nn::Module {
    Tensor forward(const Arg& x) override { return linalg::inv(x); }
  } net;
  net.eval();
  EXPECT_THAT(
      refusal(net, eye(2).unsqueeze(0).expand({2, 2, 2}).contiguous()),
      AllOf(HasSubstr("Inverse is computed in the trainer only"), Not(HasSubstr("eval()"))));
  nn::BatchNorm1d batch(3, 1e-5, 0.1, true, false);
  batch.eval();
  EXPECT_THAT(refusal(batch, randn({4, 3})), HasSubstr("or track running statistics"));
}

TEST(Capture, BagsByOffsetsSayWhatToWrite) {
  nn::EmbeddingBag bag(5, 2);
  bag.eval();
  const std::vector<CaptureInput> in = {{"ids", tensor({0, 1, 4}), {{0, "n"}}, {}},
                                        {"offsets", tensor({0, 2}), {}, {}}};
  EXPECT_THAT(test::error_of([&] {
                capture(bag, in, [&](const Tensor& ids, const Tensor& offsets) {
                  return bag(ids, offsets);
                });
              }),
              AllOf(HasSubstr("EmbeddingBag by offsets (indices [bags, n], filled up with"),
                    HasSubstr("(capture_test.cc:")));
}

struct ReadsData : nn::Module {
  Tensor forward(const Arg& x) override { return mul(x, full(Shape{}, sum(x).item())); }
};
TEST(Capture, ReadingDataNamesTheLine) {
  ReadsData m;
  EXPECT_THAT(refusal(m, images(2, {3})),
              testing::AllOf(HasSubstr("item reads"), HasSubstr("capture_test.cc:")));
}

// No expression of the size gives this one.
struct BakesSize : nn::Module {
  Tensor forward(const Arg& x) override {
    const auto bits = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(x.tensor.size(0))));
    return x.tensor.unsqueeze(0).expand({bits * bits, -1, -1});
  }
};
TEST(Capture, BakedSizeNamesAttributeAndLine) {
  BakesSize m;
  EXPECT_THAT(refusal(m, images(2, {3})),
              testing::AllOf(HasSubstr("shape is baked in"), HasSubstr("capture_test.cc:")));
}

struct BranchesOnSize : nn::Module {
  Tensor forward(const Arg& x) override { return x.tensor.size(0) > 3 ? relu(x) : sigmoid(x); }
};
TEST(Capture, BranchOnSizeIsFound) {
  BranchesOnSize m;
  EXPECT_THAT(refusal(m, images(2, {3})),
              HasSubstr("control flow depends on data or on a dynamic size"));
}

struct BakesTensor : nn::Module {
  Tensor forward(const Arg& x) override {
    return mul(x, full(Shape{1}, std::sin(static_cast<double>(x.tensor.size(0)))));
  }
};
TEST(Capture, TensorMadeFromASizeIsFound) {
  BakesTensor m;
  EXPECT_THAT(refusal(m, images(2, {3})), HasSubstr("input 1 is baked in"));
}

// A graph has no writes: eager on its own bytes, the interpreter on the unoptimised graph and the
// optimised graph on the SIMD kernels give one set of bits, at every batch.
void expect_captured(nn::Module& m, const Shape& rest = {4, 4}) {
  ir::Graph graph = capture(m, {batched(images(2, rest))});
  ir::Graph optimized = graph;
  ir::optimize(optimized);
  for (int64_t n : {2, 5}) {
    HostTensor in = host_copy(images(n, rest)), want = host_copy(m(images(n, rest)));
    EXPECT_TRUE(same_bits(ir::run(graph, {&in, 1})[0], want)) << n;
    ir::InterpreterOptions simd;
    simd.kernels = {&kCpuKernels, &kReferenceKernels};
    EXPECT_TRUE(same_bits(ir::run(optimized, {&in, 1}, simd)[0], want)) << n;
  }
}

struct WritesThroughViews : nn::Module {
  Tensor forward(const Arg& in) override {
    Tensor x = in.tensor;  // the input itself
    Tensor before = x.select(2, 1);
    x.select(1, 0).add_(1);
    Tensor t = x.transpose(1, 2);
    in_place("relu_", t, [](const Arg& a) { return relu(a); });
    for (int i = 0; i < 3; ++i)
      x.slice(2, i, 4, 2).mul_(x.select(1, i).unsqueeze(1).slice(2, 0, 1));
    before.add_(0.5);
    return x * 2 + before.unsqueeze(1);
  }
};
TEST(Capture, WritesThroughViewsOfTheInput) {
  WritesThroughViews m;
  expect_captured(m);
}

struct WritesIntoFresh : nn::Module {
  Tensor forward(const Arg& x) override {
    Tensor y = relu(x), early = y.detach().select(1, 1);
    y.zero_();
    y.select(1, 2).copy_(x.tensor.select(1, 3));
    y.narrow(2, 1, 2).fill_(3);
    early.add_(0.25);
    return y.reshape({-1, 16}).mul_(2);
  }
};
TEST(Capture, WritesIntoFreshTensorsAndThroughDetach) {
  WritesIntoFresh m;
  expect_captured(m);
}

struct WritesAParameter : nn::Module {
  nn::Child<nn::Linear> fc{this, "fc", 3, 3};
  Tensor forward(const Arg& x) override {
    fc->parameters()[0].select(0, 0).add_(1);
    return fc(x);
  }
};
TEST(Capture, AWriteIntoAParameterIsRefusedWithTheLine) {
  WritesAParameter m;
  EXPECT_THAT(refusal(m, images(2, {3})),
              testing::AllOf(HasSubstr("add_ updates fc.weight"), HasSubstr("capture_test.cc:")));
}

struct WritesOnTheHost : nn::Module {
  Tensor forward(const Arg& x) override {
    Tensor y = relu(x);
    y.mutable_data<float>()[0] = 1;
    return y;
  }
};
TEST(Capture, AWriteFromTheHostIsRefusedWithTheLine) {
  WritesOnTheHost m;
  EXPECT_THAT(refusal(m, images(2, {3})),
              testing::AllOf(HasSubstr("mutable_data"), HasSubstr("capture_test.cc:")));
}

}  // namespace
}  // namespace wick
