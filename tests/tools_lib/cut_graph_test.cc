// The few nodes that show a difference: which nodes are left out, which follow, sizes that
// differed.
#include "tools/lib/verify/cut_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/rewrite/checked.h"

namespace wick::test {
namespace {

using ::testing::ElementsAre;
using tool::CutGraph;

HostTensor row(int64_t n) {
  HostTensor t(DType::kF32, {n, 4});
  for (int64_t i = 0; i < t.numel(); ++i) t.as<float>()[i] = static_cast<float>(i % 7) - 3;
  return t;
}

// a - b and b - a, each behind a relu, side by side; `abs` reads what the first relu reads.
struct Net {
  ir::Graph g;
  ir::GivenValues values;

  explicit Net(int64_t n = 2) {
    const SymDim size = g.symbol("n", 0);
    const ir::ValueId a = g.add_input("a", DType::kF32, {size, SymDim(4)});
    const ir::ValueId b = g.add_input("b", DType::kF32, {SymDim(1), SymDim(4)});
    const ir::ValueId ab = g.emit(OpId::kSub, {a, b}, "ab"), ba = g.emit(OpId::kSub, {b, a}, "ba");
    const ir::ValueId up = g.emit(OpId::kRelu, {ab}, "up"),
                      down = g.emit(OpId::kRelu, {ba}, "down");
    g.add_output("sum", g.emit(OpId::kAdd, {up, down}, "sum"));
    g.add_output("abs", g.emit(OpId::kAbs, {ab}, "abs"));
    ir::name_values(g, "");
    values = ir::named_values(g, {{row(n), row(1)}});
    values["a"] = row(n);
    values["b"] = row(1);
  }
  std::string name(const std::string& node) const {
    for (const ir::Node& n : g.nodes()) {
      if (n.name == node) return g.value(n.outputs[0]).name;
    }
    return "";
  }
};

std::vector<std::string> ops(const CutGraph& cut) {
  std::vector<std::string> names;
  for (const ir::Node& n : cut.graph.nodes()) names.push_back(n.name);
  return names;
}
bool holds(const CutGraph& cut, const std::vector<std::string>& nodes) {
  const std::vector<std::string> all = ops(cut);
  return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& n) {
    return std::find(all.begin(), all.end(), n) != all.end();
  });
}

TEST(CutGraph, NodesThatShowNothingAreLeftOut) {
  const Net net;
  const CutGraph cut = tool::smallest_cut(net.g, "sum", net.values, 8, [](const CutGraph& c) {
    return holds(c, {"ab", "ba"});
  });
  EXPECT_THAT(ops(cut), ElementsAre("ab", "ba"));
  EXPECT_EQ(cut.nodes, 2u);
  ASSERT_EQ(cut.graph.outputs().size(), 2u);  // nobody in the cut reads them
  EXPECT_EQ(cut.inputs.size(), 2u);
  EXPECT_EQ(cut.graph.value(cut.graph.inputs()[0]).name, "a");
}

TEST(CutGraph, ThreeNodesAreAsTheyWereFound) {
  const Net net;
  const CutGraph cut = tool::smallest_cut(net.g, "sum", net.values, 8,
                                          [](const CutGraph& c) { return holds(c, {"ab"}); });
  EXPECT_THAT(ops(cut), ElementsAre("ab", "up", "sum"));
}

TEST(CutGraph, WhatLiesBehindTheValueMayBePartOfIt) {
  const Net net;
  const CutGraph cut =
      tool::smallest_cut(net.g, net.name("ab"), net.values, 8, [](const CutGraph& c) {
        return holds(c, {"ab", "abs"});
      });
  EXPECT_THAT(ops(cut), ElementsAre("ab", "abs"));
}

TEST(CutGraph, NothingShowsIt) {
  const Net net;
  const CutGraph cut =
      tool::smallest_cut(net.g, "sum", net.values, 8, [](const CutGraph&) { return false; });
  EXPECT_EQ(cut.nodes, 0u);
}

TEST(CutGraph, SizesThatWereOthersAreSymbols) {
  const Net now(5), before(0);
  const CutGraph cut = tool::smallest_cut(
      now.g, "sum", now.values, 8, [](const CutGraph& c) { return holds(c, {"ab"}); },
      &before.values);
  const ir::Value& x = cut.graph.value(cut.graph.inputs()[0]);
  EXPECT_FALSE(x.shape[0].known());
  EXPECT_EQ(x.shape[0].min(), 0);
  EXPECT_EQ(x.shape[1], SymDim(4));
}

// Four nodes or more are made fewer by what stays the same difference: readers read a constant, or
// what was read before.
TEST(CutGraph, NodesBetweenAreLeftOutToo) {
  const Net net;
  const auto cut = [&](tool::Rewire rewire) {
    return tool::smallest_cut(
        net.g, "sum", net.values, 8,
        [](const CutGraph& c) {
          // `sum` of something that `ab` is part of
          if (!holds(c, {"ab", "sum"})) return false;
          for (const ir::Node& n : c.graph.nodes()) {
            for (ir::ValueId v : n.inputs) {
              if (n.name == "sum" && c.graph.value(v).origin == ir::ValueOrigin::kInput)
                return false;
            }
          }
          return true;
        },
        nullptr, rewire);
  };
  const CutGraph plain = cut(tool::Rewire::kNo), less = cut(tool::Rewire::kYes);
  EXPECT_THAT(ops(plain), ElementsAre("ab", "up", "down", "sum"));
  EXPECT_THAT(ops(less), ElementsAre("ab", "sum"));
  EXPECT_EQ(less.nodes, 2u);
  EXPECT_EQ(less.inputs.size(), less.graph.inputs().size());
  EXPECT_EQ(ir::run(less.graph, less.inputs).size(), 1u);
}

TEST(CutGraph, ARegionsScopesAreItselfAndWhatIsAround) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(1), SymDim(4)});
  const ir::ValueId go = g.add_input("go", DType::kBool, {});
  std::vector<ir::Graph> branches;
  for (const char* name : {"then", "else"}) {
    branches.push_back(g.region(name));
    const ir::ValueId in = branches.back().add_input("in", g.value(x));
    branches.back().add_output("out", branches.back().emit(OpId::kNeg, {in}, "minus"));
  }
  const ir::NodeId n =
      g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {go, x}, std::move(branches), "if");
  g.add_output("y", g.node(n).outputs[0]);
  ir::name_values(g, "%");
  const uint8_t yes = 1;
  const std::vector<HostTensor> inputs = {row(1), HostTensor(DType::kBool, {}, &yes, 1)};
  ir::GivenValues values = ir::named_values(g, inputs);
  values["x"] = inputs[0];
  values["go"] = inputs[1];
  const ir::Place place = {{"y", 0, -1, 0}};
  const ir::Graph& branch = g.node(n).regions[0];
  const std::string made = branch.value(branch.node(0).outputs[0]).name;
  const std::vector<tool::Scope> scopes = tool::scopes_of(g, values, place, false, made);
  ASSERT_EQ(scopes.size(), 2u);
  EXPECT_EQ(scopes[1].wanted, "y");
  const CutGraph cut = tool::smallest_cut(*scopes[0].graph, scopes[0].wanted, scopes[0].values, 8,
                                          [](const CutGraph& c) { return holds(c, {"minus"}); });
  EXPECT_THAT(ops(cut), ElementsAre("minus"));
  ASSERT_EQ(cut.inputs.size(), 1u);
  EXPECT_TRUE(same_bits(cut.inputs[0], inputs[0]));
  EXPECT_EQ(tool::scopes_of(g, values, place, true, "in").size(), 1u);  // it is made around it
}

}  // namespace
}  // namespace wick::test
