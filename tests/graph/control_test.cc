// Nodes with regions: types, text, verifier, interpreter, passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "tests/support/error_of.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

using test::error_of;
using ::testing::HasSubstr;

HostTensor scalar(int64_t v) { return HostTensor(DType::kI64, Shape{}, &v, sizeof(v)); }
HostTensor flag(bool v) { return HostTensor(DType::kBool, Shape{}, &v, 1); }
HostTensor row(const std::vector<float>& v) {
  return HostTensor::of(Shape{static_cast<int64_t>(v.size())}, v);
}

// s[k], x[n] -> s with `what` behind it once a trip, and the trips' numbers doubled. `what` is x,
// or x's first element, so that sizes inside are open either way.
struct LoopGraph {
  Graph g;
  ValueId trips, go, s, x;
  NodeId loop;
  explicit LoopGraph(bool known_trips = false) {
    trips = known_trips ? g.add_constant(scalar(4)) : g.add_input("trips", DType::kI64, SymShape{});
    go = known_trips ? g.add_constant(flag(true)) : g.add_input("go", DType::kBool, SymShape{});
    s = g.add_input("s", DType::kF32, SymShape{g.symbol("k")});
    x = g.add_input("x", DType::kF32, SymShape{g.symbol("n")});
    Graph body = g.region("body");
    ValueId i = body.add_input("i", DType::kI64, SymShape{});
    body.add_input("c", DType::kBool, SymShape{});
    ValueId in = body.add_input("in", DType::kF32, SymShape{g.symbol("k")});
    ValueId captured = body.add_input("x", DType::kF32, SymShape{g.symbol("n")});
    ValueId more = body.add_constant(flag(true));
    body.add_output("more", more);
    body.add_output("out", body.emit(OpId::kConcat, AxisAttrs{0}, {in, captured}));
    body.add_output("twice", body.emit(OpId::kAdd, {i, i}));
    loop =
        g.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{1}), {trips, go, s, x}, {body}, "loop");
    g.add_output("end", g.node(loop).outputs[0]);
    g.add_output("stack", g.node(loop).outputs[1]);
  }
};

// c, x[n] -> 2 x, or x x
Graph if_graph(bool known = false, bool value = false) {
  Graph g;
  ValueId c = known ? g.add_constant(flag(value)) : g.add_input("c", DType::kBool, SymShape{});
  ValueId x = g.add_input("x", DType::kF32, SymShape{g.symbol("n"), SymDim(3)});
  std::vector<Graph> regions;
  for (bool taken : {true, false}) {
    regions.push_back(g.region(taken ? "then" : "else"));
    Graph& r = regions.back();
    ValueId in = r.add_input("x", DType::kF32, g.value(x).shape);
    r.add_output(
        "y", taken ? r.emit(OpId::kAdd, {in, in}) : r.emit(OpId::kConcat, AxisAttrs{0}, {in, in}));
  }
  NodeId n = g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {c, x}, std::move(regions), "if");
  g.add_output("y", g.emit(OpId::kRelu, {g.node(n).outputs[0]}));
  return g;
}

TEST(Control, TypesThatATripChangesAreOpen) {
  LoopGraph l;
  const Graph& body = l.g.node(l.loop).regions[0];
  EXPECT_EQ(shape_text(body.value(body.inputs()[2]).shape), "[r0]");
  EXPECT_EQ(shape_text(body.value(body.outputs()[1].value).shape), "[n+r0]");
  EXPECT_EQ(l.g.value(l.g.outputs()[0].value).shape.rank(), 1);
  EXPECT_FALSE(l.g.value(l.g.outputs()[0].value).shape[0].known());
  EXPECT_EQ(shape_text(LoopGraph(true).g.value(l.g.outputs()[1].value).shape), "[4]");
  Graph g = if_graph();
  ValueId y = g.node(0).outputs[0];
  EXPECT_EQ(shape_text(g.value(y).shape), "[d0,3]") << "what both branches agree on stays";
  EXPECT_EQ(verify_problems(l.g), std::vector<std::string>());
  EXPECT_EQ(verify_problems(g), std::vector<std::string>());
}

// k is carried in and n out: nothing tells that they are equal, nor that they are not.
TEST(Control, SizesThatMayDifferAreOpen) {
  Graph g;
  ValueId trips = g.add_input("trips", DType::kI64, SymShape{});
  // The condition may have any rank.
  ValueId go = g.add_input("go", DType::kBool, SymShape{1, 1});
  ValueId s = g.add_input("s", DType::kF32, SymShape{g.symbol("k")});
  ValueId x = g.add_input("x", DType::kF32, SymShape{g.symbol("n")});
  Graph body = g.region("body");
  body.add_input("i", DType::kI64, SymShape{});
  body.add_input("c", DType::kBool, SymShape{});
  ValueId in = body.add_input("in", DType::kF32, SymShape{g.symbol("k")});
  ValueId captured = body.add_input("x", DType::kF32, SymShape{g.symbol("n")});
  body.add_output("more", body.add_constant(flag(true).reshaped(Shape{1, 1, 1})));
  body.add_output("out", body.emit(OpId::kRelu, {captured}));
  body.add_output("size", body.emit(OpId::kShape, ShapeOpAttrs{0, 1}, {in}));
  NodeId loop =
      g.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{1}), {trips, go, s, x}, {body}, "loop");
  g.add_output("end", g.node(loop).outputs[0]);
  g.add_output("sizes", g.node(loop).outputs[1]);
  const Graph& inside = g.node(loop).regions[0];
  EXPECT_EQ(shape_text(inside.value(inside.inputs()[2]).shape), "[r0]");
  auto out = run(g, std::vector<HostTensor>{scalar(2), flag(true).reshaped(Shape{1, 1}), row({1}),
                                            row({-2, 3})});
  EXPECT_TRUE(same_bits(out[0], row({0, 3})));
  EXPECT_EQ(int_values(out[1]), (std::vector<int64_t>{1, 2}));
}

TEST(Control, TextReadsBack) {
  for (const Graph& g : {LoopGraph().g, if_graph()}) {
    std::string text = print(g, true);
    EXPECT_EQ(print(parse_graph(text), true), text);
  }
  std::string text = print(if_graph(), true);
  EXPECT_NE(error_of([&] { parse_graph(text.substr(0, text.find('}', text.find("Concat")))); }),
            "no error");
}

TEST(Control, VerifierLooksInside) {
  Graph g = if_graph();
  Graph& branch = g.node(0).regions[1];
  branch.node(0).inputs[0] = 99;
  EXPECT_THAT(error_of([&] { verify(g); }),
              HasSubstr("region \"else\": Concat #0: reads value 99"));
  g = if_graph();
  g.node(0).regions.pop_back();
  EXPECT_THAT(error_of([&] { verify(g); }), HasSubstr("has 1 regions"));
  g = if_graph();
  g.node(0).regions[0].inputs().clear();
  EXPECT_THAT(error_of([&] { verify(g); }), HasSubstr("takes 0 values, it gets 1"));
  LoopGraph l;
  l.g.node(l.loop).attrs.as<LoopAttrs>().carried = 2;
  EXPECT_NE(error_of([&] { verify(l.g); }), "no error");
}

TEST(Control, InterpreterRunsRegions) {
  LoopGraph l;
  auto out = run(l.g, std::vector<HostTensor>{scalar(3), flag(true), row({1}), row({2, 3})});
  EXPECT_TRUE(same_bits(out[0], row({1, 2, 3, 2, 3, 2, 3})));
  EXPECT_TRUE(same_bits(out[1], HostTensor::ints(std::vector<int64_t>{0, 2, 4})));
  for (bool go : {true, false}) {
    out = run(l.g, std::vector<HostTensor>{scalar(go ? 0 : 3), flag(go), row({1}), row({2, 3})});
    EXPECT_TRUE(same_bits(out[0], row({1})));
    EXPECT_EQ(out[1].shape(), Shape{0});
  }
  InterpreterOptions few;
  few.max_nodes = 100;
  EXPECT_THAT(
      error_of([&] {
        run(l.g, std::vector<HostTensor>{scalar(INT64_MAX), flag(true), row({1}), row({2})}, few);
      }),
      HasSubstr("allowed"));
}

// Elements of 4 bits stand side by side in a stack, and the bytes are those of the stack's shape.
TEST(Control, StacksOfPackedElements) {
  Graph g;
  ValueId trips = g.add_input("trips", DType::kI64, SymShape{});
  ValueId go = g.add_input("go", DType::kBool, SymShape{});
  ValueId x = g.add_input("x", DType::kU4, SymShape{SymDim(1)});
  Graph body = g.region("body");
  body.add_input("i", DType::kI64, SymShape{});
  body.add_input("c", DType::kBool, SymShape{});
  ValueId captured = body.add_input("x", DType::kU4, SymShape{SymDim(1)});
  body.add_output("more", body.add_constant(flag(true)));
  body.add_output("part", captured);
  NodeId loop = g.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{0}), {trips, go, x}, {body});
  g.add_output("stack", g.node(loop).outputs[0]);
  const uint8_t five = 0xF5;
  auto out = run(g, std::vector<HostTensor>{scalar(1001), flag(true),
                                            HostTensor(DType::kU4, Shape{1}, &five, 1)});
  ASSERT_EQ(out[0].shape(), (Shape{1001, 1}));
  ASSERT_EQ(out[0].nbytes(), 501u);
  EXPECT_EQ(out[0].as<uint8_t>()[0], 0x55);
  EXPECT_EQ(out[0].as<uint8_t>()[499], 0x55);
  EXPECT_EQ(out[0].as<uint8_t>()[500], 0x05);
}

// A size that no symbol expresses is no symbol of a region either.
TEST(Control, OpenSizesOfElementsAreNoSymbols) {
  Graph g;
  ValueId go = g.add_input("go", DType::kBool, SymShape{});
  ValueId x = g.add_input("x", DType::kF32, SymShape{g.symbol("n"), SymDim(3)});
  ValueId sizes = g.add_input("sizes", DType::kI64, SymShape{SymDim(2)});
  ValueId parts = g.emit(OpId::kSplitToSequence, SplitToSequenceAttrs{}, {x, sizes});
  ASSERT_TRUE(is_open(g.value(parts).shape[0]));
  std::vector<Graph> branches;
  for (int k = 0; k < 2; ++k) {
    Graph b = g.region("branch");
    ValueId in = b.add_input("s", g.value(parts));
    b.value(in).ranked = false;
    b.value(in).shape = SymShape();
    b.add_output("n", b.emit(OpId::kSequenceLength, {in}));
    branches.push_back(std::move(b));
  }
  NodeId choice =
      g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {go, parts}, std::move(branches));
  for (const Graph& b : g.node(choice).regions) {
    EXPECT_TRUE(is_open(b.value(b.inputs()[0]).shape[0]));
    for (const SymbolInfo& s : b.symbols()) EXPECT_NE(s.name[0], '?');
  }
}

// Parts are counted before they are made.
TEST(Control, PartsOfNothingAreNotCountedOneByOne) {
  alarm(30);  // 2^40 of them would take for ever
  HostTensor x(DType::kF32, Shape{int64_t{1} << 40, 0});
  for (bool given : {false, true}) {
    std::vector<HostTensor> in = {x};
    if (given) in.push_back(scalar(1));
    const auto a = AnyAttrs::of(SplitToSequenceAttrs{0, 1});
    EXPECT_THAT(error_of([&] { run_node(OpId::kSplitToSequence, a.get(), in, 1); }),
                HasSubstr("bytes, more than the"));
  }
  alarm(0);
}

TEST(Control, BranchesOfKnownConditionsAreInlined) {
  HostTensor x(DType::kF32, Shape{2, 3});
  for (int i = 0; i < 6; ++i) x.as<float>()[i] = static_cast<float>(i - 2);
  for (bool value : {true, false}) {
    Graph g = if_graph(true, value);
    auto before = run(g, std::vector<HostTensor>{x});
    optimize(g);
    for (const Node& n : g.nodes()) EXPECT_NE(n.op, OpId::kIf);
    EXPECT_TRUE(same_bits(run(g, std::vector<HostTensor>{x})[0], before[0]));
    EXPECT_EQ(shape_text(g.value(g.outputs()[0].value).shape), value ? "[n,3]" : "[2*n,3]");
  }
}

// A captured constant is one inside; passes work there.
TEST(Control, PassesGoInside) {
  Graph g;
  ValueId c = g.add_input("c", DType::kBool, SymShape{});
  ValueId x = g.add_input("x", DType::kF32, SymShape{SymDim(2)});
  ValueId k = g.add_constant(row({1, 2})),
          unused = g.add_input("u", DType::kF32, SymShape{SymDim(9)});
  std::vector<Graph> regions;
  for (int r = 0; r < 2; ++r) {
    regions.push_back(g.region("branch"));
    Graph& b = regions.back();
    ValueId in = b.add_input("x", DType::kF32, SymShape{SymDim(2)});
    ValueId two = b.add_input("k", DType::kF32, SymShape{SymDim(2)});
    b.add_input("u", DType::kF32, SymShape{SymDim(9)});
    ValueId sum = b.emit(OpId::kAdd, {two, two});
    b.add_output("y",
                 b.emit(r == 0 ? OpId::kMul : OpId::kSub, {b.emit(OpId::kIdentity, {in}), sum}));
  }
  NodeId n =
      g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {c, x, k, unused}, std::move(regions));
  g.add_output("y", g.node(n).outputs[0]);
  optimize(g);
  const Node& made = g.node(0);
  EXPECT_EQ(made.inputs.size(), 2u) << "the constant and what nobody reads are no captures";
  for (const Graph& b : made.regions) EXPECT_EQ(b.node_count(), 1u) << print(b);
  auto out = run(
      g, std::vector<HostTensor>{flag(false), row({10, 20}), HostTensor(DType::kF32, Shape{9})});
  EXPECT_TRUE(same_bits(out[0], row({8, 16})));
}

TEST(Control, LoopsOverConstantsFold) {
  Graph g;
  ValueId s = g.add_constant(row({1}));
  ValueId trips = g.add_constant(scalar(3)), go = g.add_constant(flag(true));
  Graph body = g.region("body");
  body.add_input("i", DType::kI64, SymShape{});
  body.add_input("c", DType::kBool, SymShape{});
  ValueId in = body.add_input("in", DType::kF32, SymShape{SymDim(1)});
  body.add_output("more", body.add_constant(flag(true)));
  body.add_output("out", body.emit(OpId::kAdd, {in, in}));
  NodeId n = g.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{1}), {trips, go, s}, {body});
  g.add_output("y", g.node(n).outputs[0]);
  optimize(g);
  EXPECT_EQ(g.node_count(), 0u);
  EXPECT_TRUE(same_bits(g.value(g.outputs()[0].value).constant, row({8})));
}

}  // namespace
}  // namespace wick::ir
