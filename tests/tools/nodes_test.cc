// wick compare --nodes: a quantized model against ONNX Runtime, each node on its inputs.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ir::Graph;
using ir::ValueId;
using nlohmann::json;
using ::testing::HasSubstr;

// Noise of the width of a trained layer's weights.
ValueId weight(Graph& g, const Shape& shape, const std::string& name) {
  HostTensor t(DType::kF32, shape);
  uint32_t state = static_cast<uint32_t>(name.size()) * 2654435761U + 1;
  const auto inputs = static_cast<float>(t.numel() / shape[0]);
  for (int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    t.as<float>()[i] =
        static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31F * 1.7F / std::sqrt(inputs);
  }
  return g.add_constant(std::move(t), name, true);
}

// One of each class: convolutions, a plain and a depthwise one, a sum, a product, a table, pools,
// layers, and a Softmax that stays float between them.
void write_model(const std::string& path) {
  Graph g;
  const ConvAttrs same{{}, {}, {1, 1, 1, 1}, 1}, depthwise{{}, {}, {1, 1, 1, 1}, 16};
  ValueId x = g.add_input("x", DType::kF32, {SymDim(1), SymDim(3), SymDim(24), SymDim(24)});
  x = g.emit(OpId::kConv, same, {x, weight(g, {16, 3, 3, 3}, "w"), weight(g, {16}, "bias")},
             "first");
  x = g.emit(OpId::kRelu, {x}, "relu");
  const ValueId p = g.emit(OpId::kMaxPool, PoolAttrs{{2, 2}, {2, 2}, {}, {}}, {x}, "pool");
  ValueId y = g.emit(OpId::kConv, depthwise, {p, weight(g, {16, 1, 3, 3}, "each")}, "depthwise");
  y = g.emit(OpId::kAdd, {y, p}, "sum");
  ValueId gate = g.emit(OpId::kSigmoid, {p}, "gate");
  y = g.emit(OpId::kMul, {y, gate}, "product");
  y = g.emit(OpId::kAveragePool, PoolAttrs{{3, 3}, {2, 2}, {}, {1, 1, 1, 1}}, {y}, "average");
  y = g.emit(OpId::kReshape, ReshapeAttrs{},
             {y, g.add_constant(HostTensor::ints(std::vector<int64_t>{16, 36}))}, "rows");
  y = g.emit(OpId::kLinear, {y, weight(g, {24, 36}, "hidden")}, "hidden");
  y = g.emit(OpId::kLinear, {y, weight(g, {10, 24}, "last.weight")}, "last");
  g.add_output("y", y);
  export_onnx(g, path);
}

struct Quantized {
  std::string qdq, operators;
};
const Quantized& quantized() {
  static const Quantized q = [] {
    const std::string at = scratch() + "/nodes";
    write_model(at + ".onnx");
    Ran r = wick({"quantize", at + ".onnx", "--calib", "sample", "--observer", "min-max",
                  "--seconds", "0.01", "-o", at + ".qdq.onnx", "--quiet"});
    EXPECT_EQ(r.code, 0) << r.err;
    r = wick({"convert", at + ".qdq.onnx", "--quantized", "qoperator", "-o", at + ".op.onnx"});
    EXPECT_EQ(r.code, 0) << r.err;
    return Quantized{at + ".qdq.onnx", at + ".op.onnx"};
  }();
  return q;
}

bool missing(const Ran& r) {
  return r.code == 1 && r.err.find("not installed") != std::string::npos;
}

// True if ONNX Runtime's products saturate (x86 without VNNI): it is then no oracle for fused ones.
bool saturates(const Ran& r) {
  return r.code == 3 && r.err.find("saturate on this CPU") != std::string::npos;
}

// Every result of each class is within what docs/numerics.md allows.
TEST(Nodes, OfBothFormsAreOnnxRuntimesBySteps) {
  for (const bool operators : {false, true}) {
    for (const bool unfused : {false, true}) {
      std::vector<std::string> command = {
          "compare",   operators ? quantized().operators : quantized().qdq,
          "--against", "onnxruntime",
          "--nodes",   "--json"};
      if (unfused) command.push_back("--unfused");
      const Ran r = wick(command);
      if (missing(r)) GTEST_SKIP() << "onnxruntime not installed";
      if (saturates(r) && !(unfused && !operators)) {
        fmt::print("not compared, {}: {}", operators ? "operators" : "pairs", r.err);
        continue;
      }
      ASSERT_EQ(r.code, 0) << r.err << r.out;
      const json j = parse_json(r.out);
      EXPECT_EQ(j.at("not_compared"), 0);
      EXPECT_EQ(j.at("within_tolerance"), true);
      // by its own integer kernels, or operator by operator as floats
      const bool floats = unfused && !operators;
      EXPECT_EQ(j.at("onnxruntime_ran").count("QLinearConv") == 0, floats);
      std::set<std::string> exact, step;
      int64_t results = 0;
      for (const auto& [name, c] : j.at("integers").items()) {
        EXPECT_EQ(c.at("more"), 0) << name;
        (c.at("allowed") == 0 ? exact : step).insert(name);
        EXPECT_LE(c.at("one_step"), c.at("allowed") == 0 ? 0 : INT32_MAX) << name;
        results += c.at("equal").get<int64_t>() + c.at("one_step").get<int64_t>();
      }
      EXPECT_GT(results, 20000);
      for (const char* name : {"Conv", "Gemm"})
        EXPECT_TRUE(floats ? step.count(name + std::string(", as floats")) : exact.count(name))
            << name << r.out;
      EXPECT_TRUE(exact.count("MaxPool"));
      for (const char* name : {"Add", "Mul", "AveragePool", "Table", "QuantizeLinear"})
        EXPECT_TRUE(step.count(name)) << name << r.out;
    }
  }
}

TEST(Nodes, TextNamesTheClassAndTheNodeBeyond) {
  // Floats sum in another order: without a tolerance a float class is beyond, by name.
  const std::string at = scratch() + "/floats.onnx";
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, {SymDim(7), SymDim(300)});
  const ValueId y = g.emit(OpId::kLinear, {x, weight(g, {40, 300}, "w")}, "layer");
  g.add_output("y", g.emit(OpId::kSoftmax, AxisAttrs{-1}, {y}, "softmax"));
  export_onnx(g, at);
  Ran r = wick({"compare", at, "--against", "onnxruntime", "--nodes", "--tolerance", "0"});
  if (missing(r)) GTEST_SKIP() << "onnxruntime not installed";
  EXPECT_EQ(r.code, 3) << r.out;
  EXPECT_THAT(r.out, HasSubstr("beyond what is allowed: "));
  EXPECT_THAT(r.out, HasSubstr("first Softmax softmax"));
  r = wick({"compare", quantized().qdq, "--against", "onnxruntime", "--nodes"});
  if (!saturates(r)) {
    EXPECT_EQ(r.code, 0) << r.err << r.out;
  }
  EXPECT_THAT(r.out, HasSubstr("\nConv "));
  EXPECT_THAT(r.out, HasSubstr("ONNX Runtime ran: "));
}

TEST(Nodes, WrongUsage) {
  Ran r = wick({"compare", "a.onnx", "b.onnx", "--nodes"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--nodes: is for --against onnxruntime"));
  r = wick({"compare", "a.onnx", "--against", "onnxruntime", "--unfused"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--unfused: is for --nodes"));
}

}  // namespace
}  // namespace wick::test
