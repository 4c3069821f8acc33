// Parts that files may leave open: the order of nodes, names of sizes, names of nodes; and the
// messages if several nodes are at fault, or a name is unknown.
#include <gmock/gmock.h>

#include "exporter/onnx/read/order.h"
#include "exporter/onnx/read/signature.h"
#include "tests/exporter/library_signatures.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"

namespace wick::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string reading(const Build& b) {
  return error_of([&] { import_onnx_bytes(b.bytes()); });
}
NodeProto named(NodeProto n, const std::string& name) {
  n.set_name(name);
  return n;
}
NodeProto of_domain(NodeProto n, const std::string& domain) {
  n.set_domain(domain);
  return n;
}

TEST(Reading, NodesInAnyOrder) {
  Build b;
  b.input("x", DType::kF32, {"2"});
  b.add(node("Add", {"a", "b"}, {"y"})).add(node("Neg", {"a"}, {"b"}));
  b.add(node("Mul", {"x", "x"}, {"a"})).output("y").output("b");
  const auto out = run_all(b, {row({2, -3})});
  EXPECT_TRUE(same_bits(out[0], row({0, 0})));
  EXPECT_TRUE(same_bits(out[1], row({-4, -9})));
}

TEST(Reading, NodesThatASubgraphWaitsFor) {
  Build b;
  b.input("c", DType::kBool, {}).input("x", DType::kF32, {"2"});
  const GraphProto then =
      body({node("Add", {"t", "late"}, {"u"}), node("Abs", {"x"}, {"t"})}, {}, {"u"});
  const GraphProto other = body({node("Identity", {"x"}, {"u"})}, {}, {"u"});
  b.add(
      with_graph(with_graph(node("If", {"c"}, {"y"}), "then_branch", then), "else_branch", other));
  b.add(node("Neg", {"x"}, {"late"})).output("y");
  EXPECT_TRUE(same_bits(run_all(b, {flag(true), row({2, -3})})[0], row({0, 6})));
}

TEST(Reading, OtherwiseTheOrderIsThatOfTheFile) {
  const NodeProto nodes[] = {node("Abs", {"c"}, {"d"}), node("Abs", {"x"}, {"b"}),
                             node("Abs", {"x"}, {"c"}), node("Abs", {"x"}, {"a"})};
  std::vector<const NodeProto*> list;
  for (const NodeProto& n : nodes) list.push_back(&n);
  EXPECT_THAT(onnx::in_order(list, {}), testing::ElementsAre(1, 2, 0, 3));
}

TEST(Reading, ACycleIsNamed) {
  Build b;
  b.input("x", DType::kF32, {"2"}).add(node("Abs", {"x"}, {"ok"}));
  b.add(named(node("Add", {"x", "b"}, {"a"}), "first"));
  b.add(named(node("Neg", {"a"}, {"b"}), "second")).add(node("Exp", {"b"}, {"y"})).output("y");
  EXPECT_THAT(reading(b),
              AllOf(HasSubstr("form a cycle"), HasSubstr("'first' -> Neg 'second' -> Add 'first'"),
                    Not(HasSubstr("Exp")), Not(HasSubstr("Abs"))));
}

TEST(Reading, AllFaultyNodesAreListed) {
  Build b;
  b.input("x", DType::kF32, {"2", "3"});
  b.add(named(with_int(node("Softmax", {"x"}, {"a"}), "axes", 1), "soft"));
  b.add(named(node("SoftMax", {"a"}, {"b"}), "misspelt"));
  b.add(of_domain(named(with_int(node("FusedMatMul", {"b", "b"}, {"c"}), "transb", 1), "fused"),
                  "com.microsoft"));
  b.add(of_domain(node("Gellu", {"c"}, {"d"}), "com.microsoft"))
      .add(node("FusedMatMul", {"d", "d"}, {"y"}));
  b.output("y");
  EXPECT_THAT(
      reading(b),
      AllOf(HasSubstr("5 node(s)"),
            HasSubstr("Softmax 'soft': attribute 'axes' is not one of 'axis'"),
            HasSubstr("SoftMax 'misspelt': ONNX's default domain has no operator of this name; is "
                      "'Softmax' meant?"),
            HasSubstr("FusedMatMul 'fused': attribute 'transb' is not one of"),
            HasSubstr("Gellu 'd': com.microsoft has no operator of this name; is 'Gelu' meant?"),
            HasSubstr("FusedMatMul 'y': ONNX's default domain has no operator of this name; "
                      "com.microsoft has one")));
  Build many;
  many.input("x", DType::kF32, {"2"});
  for (int i = 0; i < 60; ++i)
    many.add(with_int(node("Abs", {"x"}, {"y" + std::to_string(i)}), "axis", 1));
  EXPECT_THAT(reading(many.output("y0")), AllOf(HasSubstr("60 node(s)"), HasSubstr("'y49'"),
                                                Not(HasSubstr("'y50'")), HasSubstr("and 10 more")));
}

TEST(Reading, AnOperatorOfMicrosoftsThatIsNotReadIsNoSpellingMistake) {
  Build b;
  b.input("x", DType::kF32, {"2"})
      .add(of_domain(node("BeamSearch", {"x"}, {"y"}), "com.microsoft"))
      .output("y");
  EXPECT_THAT(reading(b), AllOf(HasSubstr("is not supported"), Not(HasSubstr("meant"))));
}

TEST(Reading, DtypesThatAnOperatorNeverTakes) {
  const auto reads = [](const char* op, DType dtype, int64_t opset) {
    Build b(opset);
    b.input("x", dtype, {"2"}).add(named(node(op, {"x"}, {"y"}), "it")).output("y");
    return reading(b);
  };
  EXPECT_EQ(reads("Neg", DType::kU8, 17),
            "Neg 'it': input 0 ('x') is uint8; Neg takes float32, int8, int16, int32, int64, "
            "float16, float64, bfloat16 there");
  EXPECT_THAT(reads("GlobalAveragePool", DType::kI32, 17), HasSubstr("is int32"));
  EXPECT_EQ(reads("Neg", DType::kI8, 17), "no error");
  EXPECT_EQ(reads("Relu", DType::kI64, 13), "no error");  // it does from opset 14 on
  Build b;
  b.input("x", DType::kF32, {"2"}).input("s", DType::kI32, {"2"});
  b.add(node("Reshape", {"x", "s"}, {"y"})).output("y");
  EXPECT_THAT(reading(b), HasSubstr("input 1 ('s') is int32; Reshape takes int64 there"));
}

TEST(Reading, DtypesAreThoseOfLibonnx) {
  size_t checked = 0;
  for (const LibrarySignature& s : library_signatures()) {
    const onnx::OperatorVersion* ours = onnx::find_version(s.name, s.since);
    for (size_t i = 0; i < s.types.size(); ++i) {
      // no tensor; or corrected, as default.def says
      if (s.types[i] == 0 || (s.name == "GridSample" && i == 1)) continue;
      if (s.name == "Tile" && s.since == 1 && i > 0) continue;
      ASSERT_NE(ours, nullptr) << s.name;
      // ONNX took integers out of Erf 13 after the opset that libonnx knows
      const bool corrected = s.name == "Erf" && s.since == 13;
      const uint32_t taken = ours->inputs.taken(i) & ~onnx::Inputs::kContainer;
      EXPECT_TRUE(corrected || taken == s.types[i]) << s.name << " " << s.since << " " << i;
      EXPECT_EQ(s.types[i] & ~ours->ever.taken(i), 0u) << s.name << " " << i;
      ++checked;
    }
  }
  EXPECT_GT(checked, 500u);
}

TEST(Reading, NamesThatSeveralSizesShare) {
  Build b;
  b.input("a", DType::kF32, {"n", "n"}).input("b", DType::kF32, {"n"});
  b.add(node("Abs", {"a"}, {"y"})).add(node("Neg", {"b"}, {"z"})).output("y").output("z");
  const std::vector<HostTensor> in = {matrix(2, {1, 2, 3, 4, 5, -6}), row({1, 2, 3, 4})};
  EXPECT_THAT(error_of([&] { ir::run(import_onnx_bytes(b.bytes()), in); }), Not("no error"));
  const ir::Graph g = import_onnx_bytes(b.bytes(), "", {.own_sizes = true});
  EXPECT_TRUE(same_bits(run_all(g, in)[1], row({-1, -2, -3, -4})));
}

// The program's errors name a node that has no name by its output.
TEST(Reading, ErrorsOfNodesWithoutNames) {
  Build b;
  b.input("x", DType::kF32, {"2"}).input("i", DType::kI64, {"1"});
  b.add(node("Gather", {"x", "i"}, {"picked"})).output("picked");
  const std::vector<uint8_t> file = compile_program(import_onnx_bytes(b.bytes()));
  auto program = Program::load(Span<const uint8_t>(file));
  ASSERT_TRUE(program.ok());
  auto session = Session::create(**program);
  ASSERT_TRUE(session.ok());
  const HostTensor x = row({1, 2}), far = HostTensor::ints(std::vector<int64_t>{7});
  const TensorView in[] = {x.view(), far.view()};
  TensorView out[1] = {};
  const Status s = (*session)->run(in, out);
  EXPECT_THAT(s.message(), HasSubstr("node picked (Gather)"));
}

TEST(Reading, AnOperatorWinsOverAFunctionOfItsName) {
  for (const char* name : {"Abs", "Absolutely"}) {
    Build b;
    auto& f = *b.model.add_functions();
    f.set_name(name);
    f.add_input("a"), f.add_output("b");
    f.add_opset_import()->set_version(17);
    *f.add_node() = node("Neg", {"a"}, {"b"});
    b.input("x", DType::kF32, {"2"}).add(node(name, {"x"}, {"y"})).output("y");
    const float first = std::string(name) == "Abs" ? 2.0f : -2.0f;
    EXPECT_TRUE(same_bits(run_all(b, {row({2, -3})})[0], row({first, 3}))) << name;
  }
}

TEST(Reading, ExperimentsEndWithOpset9) {
  for (int64_t opset : {9, 10}) {
    Build b(opset);
    NodeProto affine = node("Affine", {"x"}, {"y"});
    attribute(affine, "alpha", AttributeProto::FLOAT).set_f(2);
    attribute(affine, "beta", AttributeProto::FLOAT).set_f(1);
    b.input("x", DType::kF32, {"2"}).add(affine).output("y");
    if (opset == 9) {
      EXPECT_TRUE(same_bits(run_all(b, {row({2, -3})})[0], row({5, -5})));
    } else {
      EXPECT_THAT(reading(b), HasSubstr("until opset 9, this is opset 10"));
    }
  }
}

// Drawn by Wick's own numbers: what is kept is scaled, the share that falls is about the ratio.
TEST(Reading, ADropoutInTrainingMode) {
  Build b(13);
  b.input("x", DType::kF32, {"1000"});
  b.constant("r", HostTensor::of<float>({}, {0.25f})).constant("t", flag(true));
  b.add(with_int(node("Dropout", {"x", "r", "t"}, {"y", "kept"}), "seed", 3))
      .output("y")
      .output("kept");
  const auto out = run_all(b, {row(std::vector<float>(1000, 3.0f))});
  int kept = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool k = out[1].as<uint8_t>()[i] != 0;
    kept += k ? 1 : 0;
    EXPECT_EQ(out[0].as<float>()[i], k ? 4.0f : 0.0f) << i;
  }
  EXPECT_NEAR(kept, 750, 50);
}

TEST(Reading, FilesThatAreNone) {
  const auto of = [](const std::string& text) {
    return error_of([&] {
      import_onnx_bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    });
  };
  EXPECT_THAT(of("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(of("<!DOCTYPE html>"), HasSubstr("web page"));
  EXPECT_THAT(of(std::string("PK\x03\x04") + "rest of it"), HasSubstr("zip archive"));
}

}  // namespace
}  // namespace wick::test
