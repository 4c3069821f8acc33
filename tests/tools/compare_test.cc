// wick compare: equal or not, and the first node that differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Compare, EqualModels) {
  const TrainedRun& t = trained_run();
  Ran r = wick({"compare", t.wick, t.onnx});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "logits [4,10]: bits equal\n");
  nlohmann::json j = parse_json(wick({"compare", t.wick, t.onnx, "--json", "--batch", "2"}).out);
  EXPECT_EQ(j.at("within_tolerance"), true);
  EXPECT_EQ(j.at("first_different_node"), "");
  EXPECT_EQ(j.at("outputs")[0].at("bits_equal"), true);
  EXPECT_EQ(j.at("outputs")[0].at("max_ulp"), 0);
}

TEST(Compare, OtherWeightsNameTheFirstNodeThatDiffers) {
  std::string a = scratch() + "/a.onnx", b = scratch() + "/b.onnx";
  export_onnx(small_graph(), a);
  export_onnx(small_graph(0.25f), b);
  Ran r = wick({"compare", a, b});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("^y \\[4,2\\]: max ulp [0-9]+, max relative [0-9.e-]+ \\(worst "
                                   "element [0-9]+: .* vs .*\\)\n"));
  // The first MatMul and the Relu agree; only the second MatMul has other weights.
  EXPECT_THAT(r.out, ContainsRegex("first node that differs: MatMul .*second"));
  EXPECT_EQ(wick({"compare", a, b, "--tolerance", "10"}).code, 0);
  Ran json = wick({"compare", a, b, "--json"});
  EXPECT_EQ(json.code, 3);
  EXPECT_THAT(parse_json(json.out).at("first_different_node").get<std::string>(),
              HasSubstr("MatMul"));
}

// verify and compare held integers as doubles, which have 53 bits.
TEST(Compare, IntegersDifferInTheirLastDigits) {
  const std::string a = scratch() + "/digits_a.onnx", b = scratch() + "/digits_b.onnx";
  for (int64_t more : {0, 1}) {
    ir::Graph g;
    const ir::ValueId x = g.add_input("x", DType::kI64, {SymDim(1)});
    const ir::ValueId c =
        g.add_constant(HostTensor::of<int64_t>({1}, {(int64_t{1} << 60) + more}), "c", true);
    g.add_output("y", g.emit(OpId::kAdd, {x, c}));
    export_onnx(g, more == 0 ? a : b);
  }
  const Ran compared = wick({"compare", a, b, "--tolerance", "0"});
  EXPECT_EQ(compared.code, 3);
  EXPECT_THAT(compared.out, HasSubstr(", integers whose last digits differ)"));
  const Ran verified = wick({"verify", a, b, "--no-passes"});
  EXPECT_EQ(verified.code, 3);
  EXPECT_THAT(verified.out, HasSubstr("integers whose last digits differ"));
}

// The three nodes of small_graph, all of one name.
void export_named(const std::string& path, float change, const std::string& name) {
  ir::Graph g = small_graph(change);
  for (size_t i = 0; i < g.node_count(); ++i) g.node(static_cast<ir::NodeId>(i)).name = name;
  export_onnx(g, path);
}

// The first MatMul and the Relu run as one node; a node without a name goes by its first output.
TEST(Compare, NodesOfOneNameAndOfNoneArePairedInOrder) {
  std::string a = scratch() + "/named_a.onnx", b = scratch() + "/named_b.onnx";
  export_named(a, 0, "n");
  export_named(b, 0.25f, "n");
  EXPECT_THAT(wick({"compare", a, b}).out,
              HasSubstr("first node that differs: MatMul n, number 2 of that name ("));
  export_named(a, 0, "");
  export_named(b, 0.25f, "");
  EXPECT_THAT(wick({"compare", a, b}).out, HasSubstr("first node that differs: MatMul y ("));
}

TEST(Compare, EqualOutputsHaveNoNodeThatDiffers) {
  auto make = [](const std::string& path, float factor) {
    ir::Graph g;
    ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(3)});
    ir::ValueId k = g.add_constant(HostTensor(DType::kF32, {1}, &factor, 4), "k", true);
    ir::ValueId h = g.emit(OpId::kMul, {x, k}, "scaled");
    g.add_output("y", g.emit(OpId::kSub, {h, h}, "zero"));
    export_onnx(g, path);
  };
  std::string a = scratch() + "/zero_a.onnx", b = scratch() + "/zero_b.onnx";
  make(a, 2);
  make(b, 3);
  EXPECT_EQ(wick({"compare", a, b}).out, "y [4,3]: bits equal\n");
}

TEST(Compare, NamesTheNodeAcrossFormats) {
  std::string a = scratch() + "/across_a.onnx", b = scratch() + "/across_b.onnx",
              compiled = scratch() + "/across_a.wick";
  export_onnx(small_graph(), a);
  export_onnx(small_graph(0.25f), b);
  ASSERT_EQ(wick({"convert", a, "-o", compiled}).code, 0);
  Ran r = wick({"compare", compiled, b});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("first node that differs: MatMul .*second"));
  Ran refused = wick({"compare", compiled, "--against", "onnxruntime"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("ONNX Runtime takes the ONNX file"));
}

TEST(Compare, NamesTheNodeThatOnnxRuntimeAnswersOtherwise) {
  const TrainedRun& t = trained_run();
  Ran r = wick({"compare", t.onnx, "--against", "onnxruntime"});
  if (r.code == 1 && r.err.find("not installed") != std::string::npos)
    GTEST_SKIP() << "onnxruntime not installed";
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, Not(HasSubstr("first node")));
  // Sums in another order: some node's bits differ, never those of the input's cast.
  Ran exact = wick({"compare", t.onnx, "--against", "onnxruntime", "--tolerance", "0"});
  EXPECT_EQ(exact.code, 3) << exact.err;
  EXPECT_THAT(exact.out, ContainsRegex("first node that differs: "));
  EXPECT_THAT(exact.out, Not(HasSubstr("differs: Cast")));
}

// Sequences are compared element by element, in which NaNs are one value as everywhere.
TEST(Compare, SequencesElementByElement) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n"), SymDim(3)});
  const ir::ValueId roots = g.emit(OpId::kSqrt, {x}, "roots");
  g.add_output("parts", g.emit(OpId::kSplitToSequence, SplitToSequenceAttrs{0, 1},
                               {roots, ir::kNoValue}, "parts"));
  const std::string model = scratch() + "/parts.onnx", file = scratch() + "/parts.wick";
  export_onnx(g, model);
  ASSERT_EQ(wick({"convert", model, "-o", file}).code, 0);
  const Ran r = wick({"compare", model, file});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("bits equal"));
  const Ran all = wick({"verify", model, file});  // with NaN and infinities among the values
  EXPECT_EQ(all.code, 0) << all.out << all.err;
  const Ran beside = wick({"compare", model, "--against", "onnxruntime"});
  EXPECT_EQ(beside.code, 1);
  if (beside.err.find("not installed") != std::string::npos)
    GTEST_SKIP() << "onnxruntime not installed";
  EXPECT_THAT(beside.err,
              HasSubstr("output parts is seq(tensor(float)): only tensors are compared"));
}

// ONNX Runtime leaves the shape of an empty tensor as it is where it is reduced.
TEST(Compare, ReductionsOfNothingAreNotHeldAgainstOnnxRuntime) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n"), g.symbol("m"), SymDim(4)});
  const ir::ValueId mean = g.emit(OpId::kReduceMean, ReduceAttrs{{-1}, 1, 0}, {x}, "mean");
  g.add_output("y", g.emit(OpId::kSub, {x, mean}, "y"));
  const std::string model = scratch() + "/mean.onnx";
  export_onnx(g, model);
  const Ran r = wick(
      {"verify", model, "--against", "onnxruntime", "--no-passes", "--dim", "n=0", "--dim", "m=0"});
  if (r.code == 1 && r.err.find("not installed") != std::string::npos)
    GTEST_SKIP() << "onnxruntime not installed";
  EXPECT_EQ(r.code, 0) << r.out;
}

// numpy, through which arrays reach it, has no bfloat16; the model's types decide.
TEST(Compare, OnnxRuntimeTakesAndGivesBfloat16) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kBF16, {4});
  const ir::ValueId wide =
      g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF32)}, {x}, "wide");
  const ir::ValueId y = g.emit(OpId::kNeg, {wide}, "y");
  g.add_output("y", y);
  g.add_output("z", g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kBF16)}, {y}, "z"));
  const std::string model = scratch() + "/bf16.onnx", data = scratch() + "/bf16.npy";
  export_onnx(g, model);
  write_npy_f32(data, {4});
  const Ran r = wick({"compare", model, "--against", "onnxruntime", "--input", data});
  if (r.code == 1 && r.err.find("not installed") != std::string::npos)
    GTEST_SKIP() << "onnxruntime not installed";
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.out, "y [4]: bits equal\nz [4]: bits equal\n");
  const Ran beside = wick({"verify", model, "--against", "onnxruntime", "--no-passes"});
  EXPECT_EQ(beside.code, 0) << beside.err << beside.out;
  EXPECT_THAT(beside.out, Not(HasSubstr("it took none of the samples")));
  const Ran timed = wick({"bench", model, "--against", "onnxruntime", "--seconds", "0.05"});
  EXPECT_EQ(timed.code, 0) << timed.err << timed.out;
}

}  // namespace
}  // namespace wick::test
