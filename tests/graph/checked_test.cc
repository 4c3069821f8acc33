// Passes that break the promise of their class are found on samples, undone and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/interpreter/beside.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/packed.h"
#include "graph/rewrite/checked.h"
#include "graph/rewrite/pass.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostTensor floats(const Shape& shape) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.as<float>()[i] = 0.37f * static_cast<float>(i % 11) - 1;
  return t;
}

// y = relu(x + k)
Graph small(float k = 0.5f) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(3)});
  const ValueId c = g.add_constant(HostTensor(DType::kF32, {1}, &k, 4), "k");
  const ValueId sum = g.emit(OpId::kAdd, {x, c}, "shift");
  g.value(sum).name = "sum";
  g.add_output("y", g.emit(OpId::kRelu, {sum}, "clamp"));
  return g;
}

// Turns Add into Sub by the negated constant: the same bits. With `off`, by another constant.
template <int kOffUlps>
bool add_to_sub(Graph& g) {
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& n = g.node(static_cast<NodeId>(i));
    if (n.op != OpId::kAdd) continue;
    float k = -*g.value(n.inputs[1]).constant.as<float>();
    for (int u = 0; u < kOffUlps; ++u) k = std::nextafterf(k, -1e9f);
    n.inputs[1] = g.add_constant(HostTensor(DType::kF32, {1}, &k, 4), "minus k");
    n.op = OpId::kSub;
    return true;
  }
  return false;
}
bool relu_to_abs(Graph& g) {
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& n = g.node(static_cast<NodeId>(i));
    if (n.op != OpId::kRelu) continue;
    n.op = OpId::kAbs;
    return true;
  }
  return false;
}

PassReport checked(Graph& g, const Pass& pass) {
  OptimizeOptions options;
  options.samples = {{floats({2, 3})}};
  return run_checked(g, {&pass, 1}, options);
}

TEST(CheckedPasses, APassThatKeepsItsPromiseStays) {
  Graph g = small();
  const PassReport r = checked(g, {"add_to_sub", Numerics::kExact, add_to_sub<0>});
  EXPECT_THAT(r.undone, IsEmpty());
  EXPECT_EQ(r.changed, std::vector<std::string>{"add_to_sub"});
  EXPECT_EQ(r.unchecked, "");
}

TEST(CheckedPasses, OneUlpBreaksExactAndIsUndone) {
  Graph g = small();
  const std::string before = print(g, true);
  const PassReport r = checked(g, {"add_to_sub", Numerics::kExact, add_to_sub<1>});
  ASSERT_EQ(r.undone.size(), 1u);
  EXPECT_EQ(r.undone[0].pass, "add_to_sub");
  EXPECT_EQ(r.undone[0].value, "sum");
  EXPECT_THAT(r.undone[0].node, HasSubstr("Sub shift"));
  EXPECT_THAT(r.undone[0].why, HasSubstr("equal bits are promised"));
  EXPECT_THAT(r.changed, IsEmpty());
  EXPECT_EQ(print(g, true), before);
}

TEST(CheckedPasses, WhatReassociatesMayBeOffByRoundingsOnly) {
  Graph g = small();
  EXPECT_THAT(checked(g, {"few", Numerics::kReassociates, add_to_sub<2>}).undone, IsEmpty());
  Graph h = small();
  const PassReport r = checked(h, {"many", Numerics::kReassociates, add_to_sub<5000>});
  ASSERT_EQ(r.undone.size(), 1u);
  EXPECT_THAT(r.undone[0].why, HasSubstr("allowed"));
}

// The value has no name, but the output has.
TEST(CheckedPasses, AnOutputIsLookedAtWhateverItsValueIsCalled) {
  Graph g = small();
  const PassReport r = checked(g, {"relu_to_abs", Numerics::kExact, relu_to_abs});
  ASSERT_EQ(r.undone.size(), 1u);
  EXPECT_EQ(r.undone[0].value, "y");
  EXPECT_THAT(r.undone[0].node, HasSubstr("Abs clamp"));
}

TEST(CheckedPasses, ARoundGoesOnWithoutThePassThatWasUndone) {
  Graph g = small();
  int asked = 0;
  OptimizeOptions options;
  options.watch = [&](const Pass& pass, const Graph&, Graph&) -> std::optional<PassFault> {
    ++asked;
    if (std::string(pass.name) != "fuse_elementwise") return std::nullopt;
    return PassFault{pass.name, "", "", "asked for"};
  };
  const PassReport r = optimize(g, options);
  EXPECT_GT(asked, 0);
  ASSERT_EQ(r.undone.size(), 1u);
  for (const Node& n : g.nodes()) EXPECT_NE(n.op, OpId::kFusedElementwise);
}

TEST(CheckedPasses, SayWhenTheStepsAreSpent) {
  Graph g = small();
  OptimizeOptions options;
  options.samples = {{floats({2, 3})}};
  options.check_work = 1;
  const Pass pass = {"relu_to_abs", Numerics::kExact, relu_to_abs};
  const PassReport r = run_checked(g, {&pass, 1}, options);
  EXPECT_THAT(r.unchecked, HasSubstr("more steps than are left"));
  EXPECT_THAT(r.undone, IsEmpty());
}

TEST(CheckedPasses, ASampleThatTheGraphRefusesIsAnError) {
  Graph g = small();
  OptimizeOptions options;
  options.samples = {{floats({2, 4})}};
  EXPECT_THROW(optimize(g, options), Error);
}

// No node makes it then.
TEST(CheckedPasses, AnOutputThatBecameAConstantIsCompared) {
  const auto to_constant = [](Graph& g) {
    if (g.is_constant(g.outputs()[0].value)) return false;
    g.outputs()[0].value = g.add_constant(HostTensor(DType::kF32, {2, 3}), "zeros");
    return true;
  };
  Graph g = small();
  const PassReport r = checked(g, {"to_constant", Numerics::kExact, to_constant});
  ASSERT_EQ(r.undone.size(), 1u);
  EXPECT_EQ(r.undone[0].node, "constant");
  EXPECT_EQ(r.undone[0].value, "y");
}

// Two nodes are wrong; each is found by itself, on the other's given values.
TEST(Beside, ADifferenceIsTheNodesOwn) {
  Graph g = small();
  name_values(g, "%");
  const std::vector<HostTensor> in = {floats({2, 3})};
  GivenValues given = named_values(g, in);
  HostTensor wrong(DType::kF32, {2, 3});
  given["sum"] = wrong;  // zeros, so that the clamp of these is what y should be
  int looked = 0, apart_at_y = 0;
  run_beside(g, in, given, Promise::kBits, [&](const Beside& b) {
    ++looked;
    const bool differs = apart(b.made, b.given, Promise::kBits, 0).differs;
    if (looked == 1) {
      EXPECT_TRUE(differs);
    }
    if (looked == 2) apart_at_y = differs;
    return true;
  });
  EXPECT_EQ(looked, 2);
  EXPECT_EQ(apart_at_y, 1);  // relu(0) is not what y was given as
  given["y"] = HostTensor(DType::kF32, {2, 3});
  looked = 0;
  run_beside(g, in, given, Promise::kBits, [&](const Beside& b) {
    if (++looked == 2) {
      EXPECT_FALSE(apart(b.made, b.given, Promise::kBits, 0).differs);
    }
    return true;
  });
}

// As doubles they are equal.
TEST(Beside, IntegersDifferInTheirLastDigits) {
  const int64_t large = int64_t{1} << 53;
  const std::pair<HostTensor, HostTensor> kPairs[] = {
      {HostTensor::of<int64_t>({2}, {5, large}), HostTensor::of<int64_t>({2}, {5, large + 1})},
      {HostTensor::of<int64_t>({2}, {5, INT64_MIN}),
       HostTensor::of<int64_t>({2}, {5, INT64_MIN + 1})},
      {HostTensor::of<uint64_t>({2}, {5, UINT64_MAX}),
       HostTensor::of<uint64_t>({2}, {5, UINT64_MAX - 1})}};
  for (const auto& [x, y] : kPairs) {
    EXPECT_EQ(element_distance(x, y, 0), 0);
    EXPECT_EQ(element_distance(x, y, 1), 1);
    for (Promise promise : {Promise::kBits, Promise::kReassociates, Promise::kDevice}) {
      EXPECT_EQ(apart(x, y, promise, 0).element, 1);
      EXPECT_FALSE(apart(x, x, promise, 0).differs);
    }
  }
}

TEST(Beside, SignsOfZeroCountAsBitsAndNoNaNDiffersFromAnother) {
  const float a[2] = {0.0f, NAN}, b[2] = {-0.0f, -NAN};
  const HostTensor x(DType::kF32, {2}, a, 8), y(DType::kF32, {2}, b, 8);
  EXPECT_EQ(apart(x, y, Promise::kBits, 0).element, 0);
  EXPECT_FALSE(apart(x, y, Promise::kReassociates, 0).differs);
  EXPECT_FALSE(apart(x, HostTensor(DType::kF32, {1}), Promise::kNothing, 0).comparable);
}

// Numbers of sequences have the bound of numbers; texts are equal or not.
TEST(Beside, SequencesAndTextsAreComparedElementByElement) {
  const HostTensor one = HostTensor::of<float>({2}, {1, 2}),
                   near = HostTensor::of<float>({2}, {1, 2.0000002f});
  const auto pair = [](const HostTensor& second) {
    return pack(DType::kSequence, second.dtype(), {second, second});
  };
  EXPECT_EQ(apart(pair(one), pair(near), Promise::kBits, 0).element, 1);
  EXPECT_FALSE(apart(pair(one), pair(near), Promise::kReassociates, 1e-6).differs);
  EXPECT_FALSE(apart(pair(one), pack(DType::kSequence, DType::kF32, {one}), Promise::kNothing, 0)
                   .comparable);
  const HostTensor text = HostTensor::strings({2}, {"a", "b"}),
                   other = HostTensor::strings({2}, {"a", "c"});
  for (const Promise promise : {Promise::kBits, Promise::kReassociates, Promise::kNothing}) {
    for (const auto& [a, b] : {std::pair(text, other), std::pair(pair(text), pair(other))}) {
      const Apart d = apart(a, b, promise, 1e9);
      EXPECT_TRUE(d.differs);
      EXPECT_TRUE(d.text);
      EXPECT_EQ(d.element, 1);
    }
  }
}

// In a quantized graph the output's old name stays with the value before the last nodes.
TEST(Beside, AnOutputsNameIsThatOfItsValue) {
  Graph g = small();
  g.value(g.node(0).outputs[0]).name = "y";
  const std::vector<HostTensor> in = {floats({2, 3})};
  const GivenValues all = named_values(g, in);
  EXPECT_EQ(all.size(), 1u);
  EXPECT_TRUE(same_bits(all.at("y"), run(g, in)[0]));
  int looked = 0;
  run_beside(g, in, all, Promise::kBits, [&](const Beside& b) {
    ++looked;
    EXPECT_EQ(b.node, -1);
    return !apart(b.made, b.given, Promise::kBits, 0).differs;
  });
  EXPECT_EQ(looked, 1);  // as the output: its value has no name of its own here
}

// Loop h: p = h + k, next = sign(p), in an If that x > 0 decides; what leaves it hides k.
Graph in_regions(float k = 0.5f) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, {SymDim(3)});
  const ValueId go = g.add_input("go", DType::kBool, {});
  Graph then = g.region("then"), other = g.region("else");
  const ValueId start = then.add_input("start", g.value(x));
  Graph body = then.region("body");
  body.add_input("trip", DType::kI64, {});
  const ValueId on = body.add_input("on", DType::kBool, {});
  const ValueId h = body.add_input("h", DType::kF32, {SymDim(3)});
  const ValueId p = body.emit(
      OpId::kAdd, {h, body.add_constant(HostTensor(DType::kF32, {1}, &k, 4), "k")}, "plus");
  body.value(p).name = "p";
  body.add_output("on", on);
  body.add_output("next", body.emit(OpId::kSign, {p}, "sign"));
  const ValueId trips = then.add_constant(HostTensor::of<int64_t>({}, {3}));
  const uint8_t yes = 1;
  const ValueId always = then.add_constant(HostTensor(DType::kBool, {}, &yes, 1));
  std::vector<Graph> bodies(1, body);
  const NodeId loop = then.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{1}),
                                       {trips, always, start}, std::move(bodies), "loop");
  then.add_output("y", then.node(loop).outputs[0]);
  other.add_output("y", other.emit(OpId::kNeg, {other.add_input("start", g.value(x))}, "minus"));
  std::vector<Graph> branches = {then, other};
  const NodeId n =
      g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {go, x}, std::move(branches), "if");
  g.add_output("y", g.node(n).outputs[0]);
  name_values(g, "%");
  return g;
}
std::vector<HostTensor> on_yes() {
  const uint8_t yes = 1;
  return {floats({3}), HostTensor(DType::kBool, {}, &yes, 1)};
}
// The makers of the values that differ, and their names.
std::vector<std::string> that_differ(const Graph& g, const GivenValues& given) {
  std::vector<std::string> differ;
  run_beside(g, on_yes(), given, Promise::kBits, [&](const Beside& b) {
    if (apart(b.made, b.given, Promise::kBits, 0).differs)
      differ.push_back(maker_text(g, b.place, b.value) + ": " + b.graph.value(b.value).name);
    return true;
  });
  return differ;
}

TEST(Beside, ValuesOfBranchesAndTripsAreCompared) {
  const Graph g = in_regions();
  const GivenValues given = named_values(g, on_yes());
  EXPECT_THAT(that_differ(g, given), IsEmpty());
  EXPECT_THAT(that_differ(in_regions(0.25f), given),
              ElementsAre("Add plus in trip 0 of Loop loop, in the then branch of If if: p",
                          "Add plus in trip 1 of Loop loop, in the then branch of If if: p",
                          "Add plus in trip 2 of Loop loop, in the then branch of If if: p"));
}

TEST(Beside, WhatEntersATripIsWhatLeftTheOneBefore) {
  const Graph g = in_regions();
  GivenValues given = named_values(g, on_yes());
  const Graph& then = g.node(0).regions[0];
  const Place body = {{"y", 0, -1, 0}, {then.value(then.outputs()[0].value).name, 0, 1, 1}};
  const Graph* region = region_at(g, body);
  ASSERT_NE(region, nullptr);
  ASSERT_EQ(given.count(inside_key(body, "h")), 1u);
  given[inside_key(body, "h")] = floats({3});
  // The trip goes on from what it was given, so that its own nodes differ too.
  EXPECT_THAT(that_differ(g, given),
              Contains("Loop loop, what enters trip 1 in the then branch of If if: h"));
}

// Each trip may round as often as the one before: a bound of one trip would not hold.
TEST(Beside, BoundsGrowWithTheTrips) {
  const Graph g = in_regions();
  const GivenValues given = {{"y", named_values(g, on_yes()).at("y")}};
  double bound = 0;
  run_beside(g, on_yes(), given, Promise::kReassociates, [&](const Beside& b) {
    bound = b.bound;
    return true;
  });
  // 3 trips of 2 nodes with at least 8 roundings each, of numbers up to 2.2.
  EXPECT_GE(bound, 2 * 48 * 0x1p-24);
  EXPECT_LT(bound, 2 * 100 * 0x1p-24 * 4);
}

TEST(Beside, NamesAreUniqueAndThoseOfOutputs) {
  Graph g = small();
  g.value(g.outputs()[0].value).name = "x";  // an input's
  name_values(g, "%");
  EXPECT_EQ(g.value(g.outputs()[0].value).name, "y");
}

}  // namespace
}  // namespace wick::ir
