// ONNX operators that the graph spells out in ops (norms, DepthToSpace, interpolation) are written
// as one, operators that an opset does not have (GELU, SiLU) as several, and both are read as what
// they were: with the bits of forward.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "exporter/onnx/file/about.h"
#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"
#include "trainer/capture/capture.h"
#include "trainer/capture/graph_module.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/nn/layers.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using testing::Contains;
using testing::Not;
using Dims = std::vector<DynamicDim>;

Tensor some(const Shape& shape) {
  std::vector<float> v;
  for (int64_t i = 0; i < numel(shape); ++i)
    v.push_back(static_cast<float>((i * 37 + i / 11) % 101 - 50) / 40);
  return from_blob(v.data(), shape, DType::kF32);
}

ModelProto written(const ir::Graph& g, int64_t opset) {
  const std::vector<uint8_t> bytes = onnx_bytes(g, QuantizedForm::kOperators, opset);
  ModelProto m;
  EXPECT_TRUE(m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return m;
}
ir::Graph read(const ModelProto& m) {
  const std::string s = m.SerializeAsString();
  return import_onnx_bytes({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
}
Names types(const ModelProto& m) {
  Names all;
  for (const NodeProto& n : m.graph().node()) all.push_back(n.op_type());
  return all;
}

using Call = std::function<Tensor(const Tensor&)>;
struct Captured {
  ir::Graph graph;
  HostTensor in, out;
};
// `f` with what of it stays free, and what it gives at another size.
Captured captured(const Call& f, const Shape& shape, Dims dims, const Shape& later) {
  nn::Identity none;
  none.eval();
  NoGrad guard;
  Captured c{capture(none, {{"x", some(shape), std::move(dims), {}}},
                     [&](const Tensor& x) { return f(x); }),
             {},
             {}};
  const Tensor x = some(later);
  c.in = host_copy(x);
  c.out = host_copy(f(x));
  return c;
}

// Writes at an opset, checks that the file gives the bits of forward, and returns its operators.
Names written_back(const Captured& c, int64_t opset) {
  const ModelProto file = written(c.graph, opset);
  EXPECT_TRUE(same_bits(ir::run(read(file), std::vector<HostTensor>{c.in})[0], c.out)) << opset;
  return types(file);
}

const Dims kBatch = {{0, "batch"}};
const Dims kImage = {{0, "batch"}, {2, "height", 2}, {3, "width", 2}};

TEST(Forms, LayerNormIsOneOperatorFrom17) {
  const Tensor w = some({2, 5}), b = some({2, 5}).add(0.25);
  const std::vector<Call> norms = {[&](const Tensor& x) {
                                     return layer_norm(x, {2, 5}, w, b);
                                   },
                                   [&](const Tensor& x) {
                                     return layer_norm(x, {2, 5}, w);
                                   },
                                   [&](const Tensor& x) {
                                     return layer_norm(x, {2, 5}, Tensor(), b);
                                   },
                                   [&](const Tensor& x) {
                                     return layer_norm(x, {2, 5}, Tensor(), Tensor(), 1e-3);
                                   }};
  for (const Call& f : norms) {
    const Captured c = captured(f, {3, 2, 5}, kBatch, {7, 2, 5});
    EXPECT_EQ(written_back(c, 0), Names{"LayerNormalization"});
    EXPECT_EQ(written_back(c, 23), Names{"LayerNormalization"});
    EXPECT_THAT(written_back(c, 13), Not(Contains("LayerNormalization")));
  }
  // Over the last two of four dims, which channels could have before them.
  EXPECT_EQ(written_back(captured(norms[0], {3, 4, 2, 5}, kBatch, {7, 4, 2, 5}), 0),
            Names{"LayerNormalization"});
  // A norm whose mean somebody else reads is none.
  Captured c = captured(norms[0], {3, 2, 5}, kBatch, {7, 2, 5});
  ir::ValueId mean = ir::kNoValue;
  for (const ir::Node& n : c.graph.nodes()) {
    if (n.op == OpId::kReduceMean && mean == ir::kNoValue) mean = n.outputs[0];
  }
  c.graph.add_output("other", c.graph.emit(OpId::kNeg, {mean}));
  EXPECT_THAT(written_back(c, 17), Not(Contains("LayerNormalization")));
}

TEST(Forms, NormsOfChannels) {
  const Tensor w = some({4}), b = some({4}).add(0.5);
  const auto group = [&](const Tensor& x) { return group_norm(x, 2, w, b); };
  const auto plain = [&](const Tensor& x) { return group_norm(x, 2); };
  for (const Call& f : {Call(group), Call(plain)}) {
    const Captured c = captured(f, {2, 4, 5, 3}, kImage, {3, 4, 6, 7});
    EXPECT_EQ(written_back(c, 21), Names{"GroupNormalization"});
    for (int64_t opset : {11, 13, 0, 20}) {
      const Names all = written_back(c, opset);
      EXPECT_EQ(std::count(all.begin(), all.end(), "InstanceNormalization"), 1) << opset;
      EXPECT_LE(all.size(), opset == 0 || opset > 14 ? 10u : 12u) << opset;
    }
  }
  const auto instance = [&](const Tensor& x) {
    return instance_norm(x, Tensor(), Tensor(), w, b, true, 0.1, 1e-5);
  };
  const auto bare = [&](const Tensor& x) {
    return instance_norm(x, Tensor(), Tensor(), Tensor(), Tensor(), true, 0.1, 1e-5);
  };
  for (const Call& f : {Call(instance), Call(bare)}) {
    for (int64_t opset : {11, 0, 21})
      EXPECT_EQ(written_back(captured(f, {2, 4, 5, 3}, kImage, {3, 4, 6, 7}), opset),
                Names{"InstanceNormalization"});
  }
}

TEST(Forms, RmsNormIsOneOperatorFrom23) {
  const Tensor w = some({6});
  const Captured c = captured([&](const Tensor& x) { return rms_norm(x, {6}, w); }, {2, 3, 6},
                              {{0, "batch"}, {1, "time"}}, {5, 4, 6});
  EXPECT_EQ(written_back(c, 23), Names{"RMSNormalization"});
  EXPECT_THAT(written_back(c, 0), Not(Contains("RMSNormalization")));
  const Captured bare =
      captured([](const Tensor& x) { return rms_norm(x, {6}); }, {2, 3, 6}, kBatch, {5, 3, 6});
  EXPECT_EQ(written_back(bare, 23), Names{"RMSNormalization"});
}

// A norm of a file stays one: what ONNX states, (x - mean) times 1 / root.
TEST(Forms, NormsOfAFileStayWhatTheyAre) {
  const HostTensor one = HostTensor::of<float>({4}, {1, 2, 3, 4});
  const std::vector<std::pair<NodeProto, int64_t>> norms = {
      {node("LayerNormalization", {"x", "s", "b"}, {"y"}), 17},
      {node("LayerNormalization", {"x", "s"}, {"y"}), 17},
      {with_int(node("GroupNormalization", {"x", "s", "b"}, {"y"}), "num_groups", 2), 21},
      {node("InstanceNormalization", {"x", "s", "b"}, {"y"}), 17}};
  for (const auto& [norm, opset] : norms) {
    Build b(opset);
    b.input("x", DType::kF32, {"n", "4", "4"});
    for (const char* name : {"s", "b"}) *b.graph().add_initializer() = onnx::encode(one, name);
    *b.graph().add_node() = norm;
    b.graph().mutable_node(0)->set_name("norm");
    b.graph().add_output()->set_name("y");
    ir::Graph g = read(b.model);
    const ModelProto file = written(g, opset);
    EXPECT_EQ(types(file), Names{norm.op_type()});
    EXPECT_EQ(onnx::form_of(file.graph().node(0)), "");
    const ir::Graph again = read(file);
    g.metadata = again.metadata;  // names the producer
    EXPECT_EQ(ir::print(again, true), ir::print(g, true));
  }
}

TEST(Forms, GeluAndSiluAreThemselvesAgain) {
  const std::map<std::string, std::pair<OpId, Call>> all = {
      {"erf", {OpId::kGelu, [](const Tensor& x) { return gelu(x); }}},
      {"tanh", {OpId::kGelu, [](const Tensor& x) { return gelu(x, "tanh"); }}},
      {"silu", {OpId::kSilu, [](const Tensor& x) { return silu(x); }}}};
  for (const auto& [name, what] : all) {
    const Captured c = captured(what.second, {3, 50}, kBatch, {7, 50});
    for (int64_t opset : {11, 13, 0, 20, 24}) {
      const ModelProto file = written(c.graph, opset);
      EXPECT_EQ(file.opset_import(0).version(), opset == 0 ? 17 : opset) << name;
      const ir::Graph again = read(file);
      ASSERT_EQ(again.node_count(), 1u) << name << opset;
      EXPECT_EQ(again.node(0).op, what.first);
      written_back(c, opset);
    }
    // Parts that were changed, or have no wick.form, stay separate.
    ModelProto file = written(c.graph, 17);
    ModelProto silent = file, other = file, wired = file;
    for (NodeProto& n : *silent.mutable_graph()->mutable_node()) n.clear_metadata_props();
    EXPECT_GT(read(silent).node_count(), 1u);
    auto* last = wired.mutable_graph()->mutable_node(wired.graph().node_size() - 1);
    *wired.mutable_graph()->add_output() = wired.graph().output(0);
    wired.mutable_graph()->mutable_output(1)->set_name(last->input(1));  // a part that is read
    EXPECT_GT(read(wired).node_count(), 1u);
    if (name == "silu") continue;
    for (auto& t : *other.mutable_graph()->mutable_initializer())
      t = onnx::encode(HostTensor::of<float>({}, {0.25f}), t.name());
    EXPECT_GT(read(other).node_count(), 1u);
  }
  // Written by hand they are no such op.
  const Captured hand =
      captured([](const Tensor& x) { return x * sigmoid(x); }, {3, 50}, kBatch, {7, 50});
  EXPECT_EQ(read(written(hand.graph, 0)).node_count(), 2u);
  written_back(hand, 0);
}

TEST(Forms, PixelShuffleIsDepthToSpace) {
  const Captured c = captured([](const Tensor& x) { return pixel_shuffle(x, 3); }, {1, 18, 2, 5},
                              kImage, {2, 18, 4, 3});
  for (int64_t opset : {11, 0, 20}) EXPECT_EQ(written_back(c, opset), Names{"DepthToSpace"});
}

TEST(Forms, InterpolationIsOneResize) {
  std::vector<std::pair<InterpolateOptions, Shape>> all;
  for (const std::string mode : {"nearest", "nearest-exact", "bilinear", "bicubic"}) {
    for (const double by : {2.0, 0.5, 1.75})
      all.push_back({{.scale_factor = {by}, .mode = mode}, {1, 2, 5, 4}});
    all.push_back({{.size = {9, 7}, .mode = mode}, {1, 2, 5, 4}});
    all.push_back({{.scale_factor = {1.0, 2.5}, .mode = mode}, {1, 2, 5, 4}});
    if (mode[0] != 'b') continue;
    all.push_back({{.scale_factor = {2}, .mode = mode, .align_corners = true}, {1, 2, 5, 4}});
    all.push_back({{.size = {3, 1}, .mode = mode, .align_corners = true}, {1, 2, 5, 4}});
  }
  all.push_back({{.scale_factor = {2}, .mode = "linear"}, {1, 2, 5}});
  all.push_back({{.scale_factor = {49}}, {1, 1, 5}});  // 49 * (1 / 49) is below 1 in float32
  all.push_back({{.size = {5}, .mode = "linear", .align_corners = true}, {1, 2, 5}});
  all.push_back({{.scale_factor = {2}, .mode = "trilinear"}, {1, 2, 3, 2, 4}});
  for (const auto& [options, shape] : all) {
    SCOPED_TRACE(fmt::format("{} {} corners {}", options.mode,
                             options.size.empty() ? options.scale_factor[0] : 0.0,
                             options.align_corners));
    Dims dims = kBatch;
    Shape later = shape;
    later[0] = 3;
    for (int d = 2; d < shape.rank(); ++d) {
      dims.push_back({d, "d" + std::to_string(d), 2});
      later[d] = shape[d] + 2 * d;
    }
    const Captured c =
        captured([&](const Tensor& x) { return interpolate(x, options); }, shape, dims, later);
    for (int64_t opset : {11, 13, 0, 20}) {
      const Names names = written_back(c, opset);
      EXPECT_EQ(std::count(names.begin(), names.end(), "Resize"), 1);
      EXPECT_LE(names.size(), 4u);  // the sizes of a batch that is free
      if (options.size.empty()) {
        EXPECT_EQ(names, Names{"Resize"});
      }
    }
  }
}

// A scale that is no small fraction stays spelled out.
TEST(Forms, InterpolationByAnyFactorStaysSpelled) {
  const Captured c = captured(
      [](const Tensor& x) {
        return interpolate(x, {.scale_factor = {1.2345678}, .mode = "bilinear"});
      },
      {1, 2, 5, 4}, kBatch, {3, 2, 5, 4});
  EXPECT_THAT(written_back(c, 0), Not(Contains("Resize")));
}

// A captured model that is trained further has the gradients that interpolate() has.
TEST(Forms, AResizeOfTheTrainersHasItsGradient) {
  for (const std::string mode : {"nearest-exact", "bilinear", "bicubic"}) {
    const InterpolateOptions options{.scale_factor = {1.5}, .mode = mode};
    const Captured c = captured([&](const Tensor& x) { return interpolate(x, options); },
                                {1, 2, 6, 4}, kBatch, {2, 2, 6, 4});
    nn::GraphModule module(c.graph);
    Tensor a = some({2, 2, 6, 4}).requires_grad_(true), b = a.detach().clone().requires_grad_(true);
    const Tensor weights = some({2, 2, 9, 6});
    sum(interpolate(a, options) * weights).backward();
    sum(module.forward(b) * weights).backward();
    EXPECT_LT(max(abs(a.grad() - b.grad())).item(), 1e-5) << mode;
  }
}

// A spatial transformer: each image's own map, in a batch that is free.
TEST(Forms, GridsAreOneOperatorEach) {
  const Captured c = captured(
      [](const Tensor& x) {
        const Tensor theta = mean(x, {2, 3}).reshape({x.size(0), 2, 3});
        return grid_sample(x, affine_grid(theta, {x.size(0), 6, 3, 7}), "bilinear", "border");
      },
      {1, 6, 4, 5}, kBatch, {3, 6, 4, 5});
  const Names names = written_back(c, 20);
  EXPECT_EQ(std::count(names.begin(), names.end(), "AffineGrid"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "GridSample"), 1);
}

// Antialiasing is a product by a matrix for each dim.
TEST(Forms, AntialiasedInterpolationIsTwoProducts) {
  const Captured c = captured(
      [](const Tensor& x) {
        return interpolate(x, {.scale_factor = {0.5}, .mode = "bicubic", .antialias = true});
      },
      {1, 2, 8, 12}, kBatch, {3, 2, 8, 12});
  const Names names = written_back(c, 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "MatMul"), 2);
}

// What a policy and a decoder say without a draw is captured; a draw would be a constant.
TEST(Forms, DistributionsAreCapturedButDraws) {
  using namespace distributions;  // NOLINT: under test
  const Captured c = captured(
      [](const Tensor& x) {
        const Categorical policy = Categorical::from_logits(x);
        const Normal unit(0, 1), near(x, exp(x));
        return policy.entropy() + policy.log_prob(argmax(x, 1)) + sum(near.log_prob(x * 0.5), {1}) +
               sum(kl_divergence(near, unit), {1}) + sum(policy.probs() * x, {1});
      },
      {2, 5}, kBatch, {7, 5});
  written_back(c, 0);
  EXPECT_THAT(
      test::error_of([] {
        captured([](const Tensor& x) { return Normal(x, 1).sample(); }, {2, 5}, kBatch, {7, 5});
      }),
      testing::HasSubstr("baked in"));
}

TEST(Forms, WhatRaisesTheOpsetIsNamed) {
  const Captured c = captured(
      [](const Tensor& x) {
        return pad(x, {1, 1}, "circular");
      },
      {2, 3, 5}, kBatch, {3, 3, 5});
  const std::string path = testing::TempDir() + "forms_opset.onnx";
  const OnnxFile file = export_onnx(c.graph, path);
  EXPECT_EQ(file.opset, 19);
  EXPECT_EQ(file.opset_by, "Pad");
  EXPECT_EQ(export_onnx(c.graph, path, {.opset = 20}).opset_by, "");
}

}  // namespace
}  // namespace wick::test
