// Random operators in loops, branches and functions: which numbers are the same, and which differ.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/exporter/model_builder.h"

namespace wick::test {
namespace {

NodeProto draw(const std::string& out, const std::string& like = "x") {
  return node("RandomUniformLike", {like}, {out});
}
NodeProto seeded(NodeProto n, float seed) {
  attribute(n, "seed", AttributeProto::FLOAT).set_f(seed);
  return n;
}
HostTensor x() { return row({1, 2, 3, 4}); }

// Returns how many rows of these tensors are distinct.
size_t different(const std::vector<HostTensor>& all) {
  std::set<std::string> rows;
  for (const HostTensor& t : all) {
    const size_t size = 4 * sizeof(float);
    for (size_t at = 0; at + size <= t.nbytes(); at += size)
      rows.insert(std::string(t.as<char>() + at, size));
  }
  return rows.size();
}

Build drawing() { return Build().input("x", DType::kF32, {"4"}); }

TEST(RandomStreams, TwoNodesDrawTwoStreamsAndEqualSeedsOne) {
  Build b = drawing();
  b.add(draw("a")).add(draw("b")).add(seeded(draw("c"), 3)).add(seeded(draw("d"), 3));
  b.add(seeded(draw("e"), 4));
  for (const char* out : {"a", "b", "c", "d", "e"}) b.output(out);
  const auto out = run_all(b, {x()});
  EXPECT_EQ(different(out), 4u);
  EXPECT_TRUE(same_bits(out[2], out[3]));
}

// y: [3, 4], a draw of every trip; z: [6, 4], of every trip of two loops in one another.
Build looping(bool with_seed) {
  auto own = [&](const std::string& out) { return with_seed ? seeded(draw(out), 5) : draw(out); };
  Build b = drawing();
  b.constant("three", number(3)).constant("two", number(2)).constant("yes", flag(true));
  b.add(with_graph(node("Loop", {"three", "yes"}, {"y"}), "body",
                   body({node("Identity", {"go"}, {"go_"}), own("r")}, {"i", "go"}, {"go_", "r"})));
  const GraphProto inner =
      body({node("Identity", {"g2"}, {"g2_"}), own("s")}, {"j", "g2"}, {"g2_", "s"});
  b.add(with_graph(node("Loop", {"three", "yes"}, {"z"}), "body",
                   body({node("Identity", {"g1"}, {"g1_"}),
                         with_graph(node("Loop", {"two", "yes"}, {"zz"}), "body", inner)},
                        {"k", "g1"}, {"g1_", "zz"})));
  return b.output("y").output("z");
}

TEST(RandomStreams, EveryTripDrawsItsOwn) {
  EXPECT_EQ(different(run_all(looping(false), {x()})), 9u);
  // a seed: trip 0 of one loop is not trip 0 of a loop within a loop
  EXPECT_EQ(different(run_all(looping(true), {x()})), 9u);
  const auto once = run_all(looping(false), {x()}), again = run_all(looping(false), {x()});
  EXPECT_TRUE(same_bits(once[0], again[0]) && same_bits(once[1], again[1]));
}

TEST(RandomStreams, SlicesOfAScanDrawTheirOwn) {
  Build b;
  b.input("rows", DType::kF32, {"3", "4"});
  NodeProto scan = with_graph(node("Scan", {"rows"}, {"y"}), "body",
                              body({draw("r", "slice")}, {"slice"}, {"r"}));
  b.add(with_int(scan, "num_scan_inputs", 1)).output("y");
  EXPECT_EQ(different(run_all(b, {matrix(3, std::vector<float>(12, 1))})), 3u);
}

// Two loops whose bodies use the same names.
TEST(RandomStreams, BodiesOfOneTextDrawTheirOwn) {
  Build b = drawing();
  b.constant("three", number(3)).constant("yes", flag(true));
  for (const char* out : {"y", "z"}) {
    b.add(with_graph(
        node("Loop", {"three", "yes"}, {out}), "body",
        body({node("Identity", {"go"}, {"go_"}), draw("r")}, {"i", "go"}, {"go_", "r"})));
    b.output(out);
  }
  EXPECT_EQ(different(run_all(b, {x()})), 6u);
}

TEST(RandomStreams, EveryCallOfAFunctionDrawsItsOwn) {
  Build b = drawing();
  for (const char* name : {"Noise", "Twice"}) {
    auto& f = *b.model.add_functions();
    f.set_name(name), f.set_domain("my");
    f.add_input("v"), f.add_output("w");
    f.add_opset_import()->set_version(17);
    if (std::string(name) == "Noise") {
      *f.add_node() = draw("w", "v");
      continue;
    }
    NodeProto noise = node("Noise", {"v"}, {"n"});
    noise.set_domain("my");
    *f.add_node() = noise;
    noise.set_output(0, "m");
    *f.add_node() = noise;
    *f.add_node() = node("Add", {"n", "m"}, {"w"});
  }
  auto& import = *b.model.add_opset_import();
  import.set_domain("my"), import.set_version(1);
  for (const char* out : {"a", "b", "c", "d"}) {
    NodeProto call = node(out[0] < 'c' ? "Noise" : "Twice", {"x"}, {out});
    call.set_domain("my");
    b.add(call).output(out);
  }
  const auto out = run_all(b, {x()});
  EXPECT_EQ(different(out), 4u);
  // not twice one draw
  EXPECT_NE(out[2].as<float>()[0], 2 * out[0].as<float>()[0]);
}

// A branch that is certain stands in the graph itself: it draws what it would draw in its own.
TEST(RandomStreams, ABranchDrawsTheSameWhetherItIsKnownOrNot) {
  const auto with = [](bool known) {
    Build b = drawing();
    known ? b.constant("c", flag(true)) : b.input("c", DType::kBool, {});
    NodeProto n = with_graph(node("If", {"c"}, {"y"}), "then_branch", body({draw("t")}, {}, {"t"}));
    return b.add(with_graph(n, "else_branch", body({draw("e")}, {}, {"e"}))).output("y");
  };
  const auto known = run_all(with(true), {x()}), open = run_all(with(false), {x(), flag(true)});
  EXPECT_TRUE(same_bits(known[0], open[0]));
  EXPECT_FALSE(same_bits(known[0], run_all(with(false), {x(), flag(false)})[0]));
}

}  // namespace
}  // namespace wick::test
