// If, Loop, Scan and functions of ONNX models: read, run both ways, written back.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"
#include "wick/compile.h"
#include "wick/error.h"
#include "wick/runtime.h"
#include "wick_onnx.pb.h"

namespace wick {
namespace {

using namespace test;  // NOLINT: the models' words
using ::testing::HasSubstr;

TEST(ControlOnnx, BranchesReadTheNamesAroundThem) {
  Build b;
  b.input("c", DType::kBool, {}).input("x", DType::kF32, {"n"}).constant("w", row({2}));
  GraphProto then_branch = body({node("Mul", {"x", "w"}, {"t"})}, {}, {"t"});
  GraphProto inner = body({node("Neg", {"y0"}, {"e0"})}, {}, {"e0"});
  GraphProto other = body({node("Identity", {"x"}, {"e1"})}, {}, {"e1"});
  GraphProto else_branch =
      body({with_graph(with_graph(node("If", {"d"}, {"e"}), "then_branch", inner), "else_branch",
                       other)},
           {}, {"e"});
  b.input("d", DType::kBool, {});
  b.add(node("Add", {"x", "x"}, {"y0"}));
  b.add(with_graph(with_graph(node("If", {"c"}, {"y"}), "then_branch", then_branch), "else_branch",
                   else_branch));
  b.output("y");
  auto in = [](bool c, bool d) { return std::vector<HostTensor>{flag(c), row({1, -2}), flag(d)}; };
  EXPECT_TRUE(same_bits(run_all(b, in(true, true))[0], row({2, -4})));
  EXPECT_TRUE(same_bits(run_all(b, in(false, true))[0], row({-2, 4})));
  EXPECT_TRUE(same_bits(run_all(b, in(false, false))[0], row({1, -2})));
}

// The size that is carried changes with every trip, and is none at the start.
TEST(ControlOnnx, LoopsCarryWhatGrows) {
  Build b;
  b.input("m", DType::kI64, {}).input("x", DType::kF32, {"n"}).constant("s0", row({}));
  GraphProto g = body({node("Concat", {"s", "x"}, {"s_out"}), node("Size", {"s"}, {"size"}),
                       node("Identity", {"go"}, {"more"})},
                      {"i", "go", "s"}, {"more", "s_out", "size"});
  *g.mutable_node(0) = with_int(g.node(0), "axis", 0);
  b.add(with_graph(node("Loop", {"m", "", "s0"}, {"s1", "sizes"}), "body", g));
  b.add(node("Neg", {"s1"}, {"y"})).output("y").output("sizes");
  for (int64_t trips : {0, 1, 4}) {
    auto out = run_all(b, {number(trips), row({1, 2})});
    EXPECT_EQ(out[0].shape(), Shape{2 * trips});
    EXPECT_EQ(out[1].shape(), Shape{trips});
    EXPECT_TRUE(trips != 4 || out[1].as<int64_t>()[3] == 6);
  }
}

TEST(ControlOnnx, ScansWalkAlongAxesBothWays) {
  GraphProto g = body({node("Add", {"s", "a"}, {"s_out"}), node("Mul", {"s_out", "w"}, {"o"})},
                      {"s", "a"}, {"s_out", "o"});
  for (bool reverse : {false, true}) {
    Build b;
    b.input("s0", DType::kF32, {"2"})
        .input("a", DType::kF32, {"2", "t"})
        .constant("w", row({1, 10}));
    NodeProto scan = with_graph(node("Scan", {"s0", "a"}, {"s1", "all"}), "body", g);
    scan = with_int(scan, "num_scan_inputs", 1);
    scan = with_ints(with_ints(scan, "scan_input_axes", {1}), "scan_output_axes", {-1});
    if (reverse) scan = with_ints(scan, "scan_input_directions", {1});
    b.add(scan).output("s1").output("all");
    auto out = run_all(b, {row({0, 0}), matrix(2, {1, 2, 3, 4, 5, 6})});
    EXPECT_TRUE(same_bits(out[0], row({6, 15})));
    EXPECT_TRUE(same_bits(
        out[1], reverse ? matrix(2, {3, 5, 6, 60, 110, 150}) : matrix(2, {1, 3, 6, 40, 90, 150})));
  }
}

TEST(ControlOnnx, WhatAScanTakesIsOfOneLength) {
  auto scanning = [](const Names& a, const Names& b) {
    Build m(11);
    m.input("a", DType::kF32, a).input("b", DType::kF32, b);
    NodeProto scan = with_graph(node("Scan", {"a", "b"}, {"y"}), "body",
                                body({node("Add", {"v", "w"}, {"o"})}, {"v", "w"}, {"o"}));
    return m.add(with_int(scan, "num_scan_inputs", 2)).output("y");
  };
  EXPECT_THAT(error_of([&] {
                import_onnx_bytes(scanning({"3", "1"}, {"4", "1"}).bytes());
              }),
              HasSubstr("Scan 'y': what it scans has 3 slices, and 4"));
  const HostTensor three = matrix(3, {1, 2, 3}), four = matrix(4, {1, 2, 3, 4});
  const Build open = scanning({"n", "1"}, {"m", "1"});
  EXPECT_TRUE(same_bits(run_all(open, {three, three})[0], matrix(3, {2, 4, 6})));
  const ir::Graph g = import_onnx_bytes(open.bytes());
  for (const auto& in : {std::vector{three, four}, std::vector{four, three}})
    EXPECT_THAT(error_of([&] { ir::run(g, in); }), HasSubstr("out of bounds"));
}

TEST(ControlOnnx, ConditionsAndTripsHaveTheirTypes) {
  const GraphProto branch = body({node("Neg", {"x"}, {"t"})}, {}, {"t"});
  Build b;
  b.input("x", DType::kF32, {"2"}).constant("one", number(1)).constant("half", row({0.5f}));
  Build choice = b, loop = b;
  choice.add(with_graph(with_graph(node("If", {"one"}, {"y"}), "then_branch", branch),
                        "else_branch", branch));
  EXPECT_THAT(error_of([&] { import_onnx_bytes(choice.output("y").bytes()); }),
              HasSubstr("If 'y': input 0 ('one') is int64; If takes bool there"));
  loop.add(with_graph(node("Loop", {"half", "", "x"}, {"y"}), "body",
                      body({node("Identity", {"c"}, {"d"})}, {"i", "c", "v"}, {"d", "v"})));
  EXPECT_THAT(error_of([&] { import_onnx_bytes(loop.output("y").bytes()); }),
              HasSubstr("Loop 'y': input 0 ('half') is float32; Loop takes int64 there"));
}

TEST(ControlOnnx, Scan8HasABatchWithLengths) {
  Build b(8);
  b.input("l", DType::kI64, {"2"}).input("s0", DType::kF32, {"2", "1"});
  b.input("a", DType::kF32, {"2", "3", "1"});
  GraphProto g = body({node("Add", {"s", "x"}, {"s_out"}), node("Identity", {"s_out"}, {"o"})},
                      {"s", "x"}, {"s_out", "o"});
  NodeProto scan = with_graph(node("Scan", {"l", "s0", "a"}, {"s1", "all"}), "body", g);
  b.add(with_int(scan, "num_scan_inputs", 1)).output("s1").output("all");
  HostTensor a = HostTensor::of(Shape{2, 3, 1}, std::vector<float>{1, 2, 3, 4, 5, 6});
  auto out = run_all(b, {HostTensor::ints(std::vector<int64_t>{3, 2}), matrix(2, {10, 20}), a});
  EXPECT_TRUE(same_bits(out[0], matrix(2, {16, 29})));
  EXPECT_TRUE(
      same_bits(out[1], HostTensor::of(Shape{2, 3, 1}, std::vector<float>{11, 13, 16, 24, 29, 0})));
}

TEST(ControlOnnx, FunctionsOfTheModelAreWrittenOut) {
  Build b;
  auto& import = *b.model.add_opset_import();
  import.set_domain("my");
  import.set_version(1);
  auto& f = *b.model.add_functions();
  f.set_name("Leaky");
  f.set_domain("my");
  f.add_input("x");
  f.add_input("bias");
  f.add_output("y");
  f.add_attribute("slope");
  f.add_opset_import()->set_version(17);
  NodeProto leaky = node("LeakyRelu", {"x"}, {"t"});
  AttributeProto& a = attribute(leaky, "alpha", AttributeProto::FLOAT);
  a.set_ref_attr_name("slope");
  *f.add_node() = leaky;
  *f.add_node() = node("Clip", {"t", "bias"}, {"y"});  // the second may be absent
  b.input("x", DType::kF32, {"2"});
  NodeProto call = node("Leaky", {"x"}, {"z"});
  call.set_domain("my");
  attribute(call, "slope", AttributeProto::FLOAT).set_f(0.5f);
  b.add(call).output("z");
  EXPECT_TRUE(same_bits(run_all(b, {row({-2, 3})})[0], row({-1, 3})));
  // a function that calls itself
  NodeProto self = node("Leaky", {"x"}, {"w"});
  self.set_domain("my");
  *f.add_node() = self;
  EXPECT_THAT(error_of([&] { import_onnx_bytes(b.bytes()); }),
              HasSubstr("'Leaky' calls itself (Leaky -> Leaky)"));
}

// An input that a call leaves out is absent in the function's subgraphs, too, but not where a
// subgraph has its own value of that name.
TEST(ControlOnnx, AnInputThatACallLeavesOutIsAbsentInSubgraphs) {
  for (bool given : {false, true}) {
    Build b;
    auto& import = *b.model.add_opset_import();
    import.set_domain("my"), import.set_version(1);
    auto& f = *b.model.add_functions();
    f.set_name("Bounded"), f.set_domain("my");
    for (const char* in : {"c", "v", "low", "high"}) f.add_input(in);
    f.add_output("w");
    f.add_opset_import()->set_version(17);
    const GraphProto clip = body({node("Clip", {"v", "low", "high"}, {"t"})}, {}, {"t"});
    const GraphProto own =
        body({node("Neg", {"v"}, {"low"}), node("Neg", {"low"}, {"e"})}, {}, {"e"});
    *f.add_node() =
        with_graph(with_graph(node("If", {"c"}, {"w"}), "then_branch", clip), "else_branch", own);
    b.input("c", DType::kBool, {}).input("x", DType::kF32, {"2"});
    HostTensor one = HostTensor::of(Shape{}, std::vector<float>{1});
    b.constant("one", one);
    NodeProto call = node("Bounded", {"c", "x", "", "one"}, {"y"});
    if (!given) call.mutable_input()->RemoveLast();
    call.set_domain("my");
    b.add(call).output("y");
    EXPECT_TRUE(same_bits(run_all(b, {flag(true), row({-2, 3})})[0], row({-2, given ? 1.f : 3.f})));
    EXPECT_TRUE(same_bits(run_all(b, {flag(false), row({-2, 3})})[0], row({-2, 3})));
  }
}

TEST(ControlOnnx, ErrorsNameWhatIsInside) {
  Build b;
  b.input("c", DType::kBool, {}).input("x", DType::kF32, {"2"});
  GraphProto good = body({node("Neg", {"x"}, {"t"})}, {}, {"t"});
  GraphProto unknown = body({node("Frobnicate", {"x"}, {"e"})}, {}, {"e"});
  Build first = b;
  first.add(with_graph(with_graph(node("If", {"c"}, {"y"}), "then_branch", good), "else_branch",
                       unknown));
  first.output("y");
  EXPECT_THAT(error_of([&] { import_onnx_bytes(first.bytes()); }), HasSubstr("Frobnicate 'e'"));
  GraphProto missing = body({node("Neg", {"nowhere"}, {"e"})}, {}, {"e"});
  Build second = b;
  second.add(with_graph(with_graph(node("If", {"c"}, {"y"}), "then_branch", good), "else_branch",
                        missing));
  second.output("y");
  EXPECT_THAT(error_of([&] { import_onnx_bytes(second.bytes()); }),
              HasSubstr("'nowhere' is not defined"));
  GraphProto wrong = body({node("Cast", {"x"}, {"e"})}, {}, {"e"});
  *wrong.mutable_node(0) = with_int(wrong.node(0), "to", 7);
  Build third = b;
  third.add(
      with_graph(with_graph(node("If", {"c"}, {"y"}), "then_branch", good), "else_branch", wrong));
  third.output("y");
  EXPECT_THAT(error_of([&] { import_onnx_bytes(third.bytes()); }), HasSubstr("for one output"));
  // subgraphs within subgraphs, beyond any that is read
  GraphProto deep = good;
  for (int k = 0; k < 60; ++k)
    deep = body({with_graph(with_graph(node("If", {"c"}, {"t"}), "then_branch", deep),
                            "else_branch", good)},
                {}, {"t"});
  Build fourth = b;
  *fourth.graph().add_node() = deep.node(0);
  fourth.output("t");
  EXPECT_NE(error_of([&] { import_onnx_bytes(fourth.bytes()); }), "no error");
}

TEST(ControlOnnx, SizesComeFromValues) {
  Build b;
  b.input("x", DType::kF32, {"n", "m"})
      .input("shape", DType::kI64, {"2"})
      .input("d", DType::kI64, {});
  b.input("k", DType::kBool, {"q"});
  b.constant("two", row({0, 1}));
  b.add(node("CenterCropPad", {"x", "shape"}, {"p"})).output("p");
  b.add(node("Range", {"d0", "d", "d1"}, {"r"})).output("r");
  b.constant("d0", number(0)).constant("d1", number(1));
  b.add(node("OneHot", {"r", "d", "two"}, {"o"})).output("o");
  b.add(with_int(node("Compress", {"x", "k"}, {"c"}), "axis", 0)).output("c");
  b.model.mutable_opset_import(0)->set_version(18);
  HostTensor x = matrix(2, {1, 2, 3, 4, 5, 6});
  const uint8_t second[2] = {0, 1};
  HostTensor mask(DType::kBool, Shape{2}, second, 2);
  auto out = run_all(b, {x, HostTensor::ints(std::vector<int64_t>{4, 1}), number(2), mask});
  EXPECT_TRUE(same_bits(out[0], matrix(4, {0, 2, 5, 0})));
  EXPECT_TRUE(same_bits(out[1], HostTensor::ints(std::vector<int64_t>{0, 1})));
  EXPECT_TRUE(same_bits(out[2], matrix(2, {1, 0, 0, 1})));
  EXPECT_TRUE(same_bits(out[3], matrix(1, {4, 5, 6})));
}

}  // namespace
}  // namespace wick
