// wick convert FILE.wick -o FILE.onnx: fused ops as the operators that they stand for, the same
// bits, and what a file says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "wick_onnx.pb.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;

onnx::ModelProto model_at(const std::string& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(read_file(path))) << path;
  return model;
}

TEST(BackToOnnx, ATrainedRunHasTheSameBits) {
  const TrainedRun& t = trained_run();
  const std::string back = scratch() + "/back.onnx", x = scratch() + "/back.npy";
  const Ran r = wick({"convert", t.wick, "-o", back, "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out).at("verified").at("verdict"), "equal");
  write_npy_u8(x, {3, 1, 28, 28});
  for (const std::string& model : {t.wick, t.onnx, back})
    ASSERT_EQ(wick({"run", model, "-i", x, "-o", model + ".outs"}).code, 0) << model;
  EXPECT_EQ(read_file(back + ".outs/logits.npy"), read_file(t.onnx + ".outs/logits.npy"));
  // The run's digest goes with it; the passes, which are undone, do not.
  const nlohmann::json doc = parse_json(wick({"inspect", back, "--json"}).out);
  EXPECT_EQ(doc.at("metadata").at("wick.run_sha256"), t.report.at("kept_weights_sha256"));
  EXPECT_FALSE(doc.at("metadata").contains("wick.passes"));
  EXPECT_EQ(doc.at("labels").size(), 10u);
}

// A convolution with its norm, residual and activation is one op in the .wick, four operators in
// the ONNX file, and one op again where that is read.
TEST(BackToOnnx, FusedConvolutionsComeBack) {
  const auto numbers = [](const Shape& shape, float from) {
    HostTensor t(DType::kF32, shape);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.as<float>()[i] = from + 0.37f * static_cast<float>(i % 7);
    return t;
  };
  ir::Graph g;
  const ir::ValueId x =
      g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(3), SymDim(6), SymDim(6)});
  const ir::ValueId w = g.add_constant(numbers({3, 3, 1, 1}, -1), "w", true);
  std::vector<ir::ValueId> norm = {g.emit(OpId::kConv, ConvAttrs{}, {x, w, ir::kNoValue}, "conv")};
  for (const float from : {-0.5f, 0.0f, -1.0f, 0.25f})
    norm.push_back(g.add_constant(numbers({3}, from), "n" + std::to_string(norm.size()), true));
  ir::ValueId y = g.emit(OpId::kBatchNorm, BatchNormAttrs{}, norm, "norm");
  y = g.emit(OpId::kAdd, {y, x}, "residual");
  g.add_output("y", g.emit(OpId::kRelu, {y}, "relu"));
  const std::string from = scratch() + "/conv.onnx", wick_file = scratch() + "/conv.wick",
                    back = scratch() + "/conv_again.onnx";
  export_onnx(g, from);
  ASSERT_EQ(wick({"convert", from, "-o", wick_file}).code, 0);
  const Ran r = wick({"convert", wick_file, "-o", back, "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out).at("verified").at("verdict"), "equal");
  std::vector<std::string> operators;
  const onnx::ModelProto written = model_at(back);
  for (const auto& n : written.graph().node()) {
    if (n.op_type() != "Constant") operators.push_back(n.op_type());
  }
  EXPECT_THAT(operators, ::testing::ElementsAre("Conv", "BatchNormalization", "Add", "Relu"));
  for (const std::string& path : {wick_file, back}) {
    const nlohmann::json ops = parse_json(wick({"inspect", path, "--json"}).out).at("ops");
    EXPECT_EQ(ops, nlohmann::json({{"FusedConv", 1}})) << path;
  }
}

// What a loop carries on is often what it also keeps of each trip: one value, two outputs.
TEST(BackToOnnx, ABodyMayGiveOneValueTwice) {
  ir::Graph g;
  const SymShape two = to_symbolic(Shape{2});
  HostTensor trips(DType::kI64, {}), always(DType::kBool, {});
  trips.as<int64_t>()[0] = 3;
  always.as<bool>()[0] = true;
  const ir::ValueId x = g.add_input("x", DType::kF32, two);
  ir::Graph body = g.region("body");
  body.add_input("i", DType::kI64, SymShape{});
  const ir::ValueId go = body.add_input("go", DType::kBool, SymShape{}),
                    in = body.add_input("in", DType::kF32, two);
  const ir::ValueId twice = body.emit(OpId::kAdd, {in, in});
  body.value(twice).name = "twice";
  body.add_output("more", go);
  body.add_output("next", twice);
  body.add_output("kept", twice);
  const ir::NodeId loop = g.add_control(
      OpId::kLoop, AnyAttrs::of(LoopAttrs{1}),
      {g.add_constant(trips, "trips"), g.add_constant(always, "always"), x}, {body}, "loop");
  g.add_output("last", g.node(loop).outputs[0]);
  g.add_output("all", g.node(loop).outputs[1]);
  const std::string file = scratch() + "/twice.wick", back = scratch() + "/twice.onnx";
  export_wick(g, file);
  const Ran r = wick({"convert", file, "-o", back, "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out).at("verified").at("verdict"), "equal");
}

TEST(BackToOnnx, WhatAFileSaysOfItselfSurvives) {
  const std::string from = scratch() + "/described.onnx", wick_file = scratch() + "/described.wick",
                    back = scratch() + "/described_again.onnx",
                    rewritten = scratch() + "/described_rewritten.onnx";
  export_onnx(small_graph(), from);
  onnx::ModelProto model = model_at(from);
  model.set_producer_name("a trainer");
  model.set_producer_version("2.0");
  model.set_domain("org.example");
  model.set_model_version(7);
  model.set_doc_string("what it is for");
  model.mutable_graph()->set_doc_string("how it is made");
  auto* entry = model.add_metadata_props();
  entry->set_key("author");
  entry->set_value("M\xc3\xbcller");
  write_file(from, model.SerializeAsString());
  ASSERT_EQ(wick({"convert", from, "-o", wick_file}).code, 0);
  ASSERT_EQ(wick({"convert", wick_file, "-o", back}).code, 0);
  ASSERT_EQ(wick({"convert", from, "-o", rewritten}).code, 0);
  for (const std::string& path : {back, rewritten}) {
    const onnx::ModelProto now = model_at(path);
    EXPECT_EQ(now.producer_name(), "a trainer") << path;
    EXPECT_EQ(now.producer_version(), "2.0") << path;
    EXPECT_EQ(now.domain(), "org.example") << path;
    EXPECT_EQ(now.model_version(), 7) << path;
    EXPECT_EQ(now.doc_string(), "what it is for") << path;
    EXPECT_EQ(now.graph().doc_string(), "how it is made") << path;
    int authors = 0;
    for (const auto& e : now.metadata_props())
      authors += e.key() == "author" && e.value() == "M\xc3\xbcller" ? 1 : 0;
    EXPECT_EQ(authors, 1) << path;
  }
}

TEST(BackToOnnx, WhatHasNoFormIsNamed) {
  const std::string stateful = scratch() + "/no_form.wick";
  const Ran again = wick({"convert", trained_run().wick, "-o", stateful});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("-o FILE.onnx writes it as ONNX"));
  EXPECT_EQ(wick({"convert", trained_run().wick, "-o", scratch() + "/o.onnx", "--own-sizes"}).code,
            2);
}

}  // namespace
}  // namespace wick::test
