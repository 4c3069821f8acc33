// wick inspect A B, and a node's weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"

namespace wick::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string small_model(const char* name, OpId middle = OpId::kRelu) {
  const std::string path = scratch() + "/" + name;
  export_onnx(small_graph(0, middle), path);
  return path;
}

TEST(InspectTwo, LinesThatDifferAreMarked) {
  const std::string a = small_model("two_a.onnx"), b = small_model("two_b.onnx", OpId::kSinh);
  const Ran r = wick({"inspect", a, b});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr(a), HasSubstr(b), ContainsRegex("\n\\*   Sinh +- +1\n"),
                           ContainsRegex("\n  input 0 +x float32\\[batch,3\\] +x float32"),
                           ContainsRegex("[0-9]+ of [0-9]+ lines differ\n$")));
  const nlohmann::json doc = parse_json(wick({"inspect", a, b, "--json"}).out);
  EXPECT_EQ(doc.at("a").at("inputs"), doc.at("b").at("inputs"));
  std::vector<std::string> different;
  for (const auto& line : doc.at("different")) different.push_back(line.at("what"));
  EXPECT_THAT(different, AllOf(::testing::Contains("Sinh"), Not(::testing::Contains("input 0"))));
  const Ran same = wick({"inspect", a, a});
  EXPECT_THAT(same.out, AllOf(HasSubstr("\n0 of "), Not(HasSubstr("\n*"))));
  EXPECT_EQ(wick({"inspect", a, b, "--values"}).code, 2);
}

TEST(InspectNode, WeightsByNodeValueOrName) {
  const std::string model = small_model("node.onnx"), out = scratch() + "/w.npy";
  const Ran r = wick({"inspect", model, "--node", "first", "--weights", "--npy", out});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("MatMul first"), HasSubstr("input 0 x float32"),
                           ContainsRegex("weight 1 w1 float32\\[3,4\\], 48 bytes: -0.5 to 0.5")));
  const data::HostArray w = data::read_npy(out);
  EXPECT_EQ(w.shape, (Shape{3, 4}));
  for (int i = 0; i < 12; ++i) {
    float v = 0;
    std::memcpy(&v, w.bytes.data() + 4 * i, 4);
    EXPECT_EQ(v, static_cast<float>(i % 5) / 4 - 0.5f) << i;
  }
  const std::string by_name = scratch() + "/by_name.npy";
  ASSERT_EQ(wick({"inspect", model, "--node", "w1", "--weights", "--npy", by_name}).code, 0);
  EXPECT_EQ(read_file(by_name), read_file(out));
  const nlohmann::json doc =
      parse_json(wick({"inspect", model, "--node", "first", "--weights", "--json"}).out);
  ASSERT_EQ(doc.at("nodes").size(), 1u);
  EXPECT_EQ(doc.at("nodes")[0].at("weights")[0].at("shape"), nlohmann::json({3, 4}));
  EXPECT_EQ(doc.at("nodes")[0].at("weights")[0].at("values").size(), 10u);
}

// The nodes of a .wick are those that run, with all constants that they read.
TEST(InspectNode, OneOfSeveralWeightsIsChosen) {
  const TrainedRun& t = trained_run();
  const nlohmann::json nodes = parse_json(wick({"inspect", t.wick, "--json"}).out).at("nodes");
  std::string name;
  for (const auto& n : nodes) {
    if (n.at("op") == "FusedLinear") name = n.at("name");
  }
  ASSERT_NE(name, "");
  const std::string out = scratch() + "/chosen.npy";
  const Ran several = wick({"inspect", t.wick, "--node", name, "--weights", "--npy", out});
  EXPECT_EQ(several.code, 1);
  EXPECT_THAT(several.err,
              ContainsRegex("has 2 weights, and --npy writes one; choose it by --node"));
  const Ran one = wick({"inspect", t.wick, "--node", name + "#2", "--weights", "--npy", out});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(data::read_npy(out).shape.rank(), 1) << "input 2 of FusedLinear is the bias";
}

TEST(InspectNode, UnknownNamesGetLikeOnes) {
  const std::string model = small_model("like.onnx");
  const Ran none = wick({"inspect", model, "--node", "zzz"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, AllOf(HasSubstr("has no node, value or weight named 'zzz'"),
                              HasSubstr("--json lists its nodes")));
  EXPECT_THAT(wick({"inspect", model, "--node", "fir"}).err, HasSubstr("there are: first"));
}

// Two entry points and what they remember. A graph has no form for that: it stays a program.
TEST(Inspect, EntryPointsAndStates) {
  std::vector<ir::Entry> entries = {{"add", {}, {{"total", "total", "total.next"}}},
                                    {"tell", {}, {{"total", "total", ""}}}};
  for (ir::Entry& entry : entries) {
    ir::Graph& g = entry.graph;
    const SymDim n = g.symbol("n", 1, 8);
    const ir::ValueId total = g.add_input("total", DType::kF32, {n});
    if (entry.name == "tell") {
      g.add_output("y", g.emit(OpId::kNeg, {total}, "negative"));
    } else {
      const ir::ValueId x = g.add_input("x", DType::kF32, {n});
      const ir::ValueId sum = g.emit(OpId::kAdd, {total, x}, "sum");
      g.add_output("total.next", sum);
      g.add_output("y", g.emit(OpId::kRelu, {sum}, "positive"));
    }
  }
  const std::string path = scratch() + "/entries.wick";
  export_wick(entries, path);
  const Ran r = wick({"inspect", path});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("\n  entries add; tell; what follows is of the first one\n"),
                    HasSubstr("\n  input   x float32[n]\n"),
                    HasSubstr("\n  state   total float32[n]\n"), Not(HasSubstr("total.next"))));
  const nlohmann::json doc = parse_json(wick({"inspect", path, "--json"}).out);
  EXPECT_EQ(doc.at("entries"), (nlohmann::json{"add", "tell"}));
  EXPECT_EQ(doc.at("states").at(0).at("name"), "total");
  const Ran back = wick({"convert", path, "-o", scratch() + "/entries.onnx"});
  EXPECT_EQ(back.code, 1);
  EXPECT_THAT(back.err, HasSubstr("the program keeps state between runs (total ...)"));
}

// A program says no sizes that are expressions; the graph does. And no seed where none was given.
TEST(InspectModel, SizesThatAreExpressionsAndNoSeed) {
  ir::Graph g;
  const SymDim batch = g.symbol("batch");
  const ir::ValueId a = g.add_input("a", DType::kF32, {batch, g.symbol("past"), SymDim(8)}),
                    b = g.add_input("b", DType::kF32, {batch, g.symbol("time"), SymDim(8)});
  g.add_output("all", g.emit(OpId::kConcat, AxisAttrs{1}, {a, b}, "all"));
  const std::string onnx = scratch() + "/joined.onnx", made = scratch() + "/joined.wick";
  export_onnx(g, onnx);
  export_wick(g, made);
  for (const std::string& file : {onnx, made}) {
    const Ran r = wick({"inspect", file});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.out, ContainsRegex("output  all float32.batch,past ?. ?time,8."));
    EXPECT_THAT(r.out, Not(HasSubstr("seed")));
  }
}

}  // namespace
}  // namespace wick::test
