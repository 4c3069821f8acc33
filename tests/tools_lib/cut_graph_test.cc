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

}  // namespace
}  // namespace wick::test
