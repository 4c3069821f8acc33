// What the exact passes take away, what they must leave, and that they stay linear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <functional>
#include <limits>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {
namespace {

size_t live(const Graph& g) {
  size_t n = 0;
  for (const Node& node : g.nodes()) n += node.removed() ? 0 : 1;
  return n;
}
size_t count(const Graph& g, OpId op) {
  size_t n = 0;
  for (const Node& node : g.nodes()) n += node.op == op ? 1 : 0;
  return n;
}
HostTensor floats(const Shape& shape) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.as<float>()[i] = 0.37f * static_cast<float>(i % 11) - 1;
  return t;
}
HostTensor cast_to(const HostTensor& x, DType to) {
  const CastAttrs a{static_cast<int64_t>(to)};
  return run_node(OpId::kCast, &a, {&x, 1}, 1)[0];
}
CastAttrs to_dtype(DType t) { return CastAttrs{static_cast<int64_t>(t)}; }

// Simplifies (what is fused at the end has tests of its own), and the bits must not change.
Graph optimized(const Graph& g, std::vector<HostTensor> in) {
  const std::vector<HostTensor> want = run(g, in);
  Graph after = g, all = g;
  EXPECT_EQ(simplify(after).numerics, Numerics::kExact);
  EXPECT_EQ(optimize(all).numerics, Numerics::kExact);
  for (const Graph* made : {&after, &all}) {
    const std::vector<HostTensor> got = run(*made, in);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << i;
  }
  return after;
}

constexpr DType kCastable[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                               DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                               DType::kBF16, DType::kF32, DType::kF64};

TEST(Passes, ACastOverATypeThatHoldsAllIsOneCast) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.0,
                                      -0.0,
                                      1,
                                      -1,
                                      0.5,
                                      -2.5,
                                      127,
                                      128,
                                      255,
                                      256,
                                      257,
                                      2049,
                                      32768,
                                      65504,
                                      65520,
                                      70000,
                                      16777217,
                                      2147483647.0,
                                      2147483648.0,
                                      4294967295.0,
                                      4294967296.0,
                                      9.007199254740993e15,
                                      9.3e18,
                                      -9.3e18,
                                      1e300,
                                      1e-8,
                                      1e-40,
                                      inf,
                                      -inf,
                                      NAN};
  const HostTensor wide = HostTensor::of<double>({static_cast<int64_t>(values.size())}, values);
  int merged = 0, kept = 0;
  for (DType from : kCastable) {
    const HostTensor x = cast_to(wide, from);
    for (DType over : kCastable) {
      for (DType to : kCastable) {
        Graph g;
        ValueId v = g.add_input("x", from, to_symbolic(x.shape()));
        v = g.emit(OpId::kCast, to_dtype(over), {v});
        g.add_output("y", g.emit(OpId::kCast, to_dtype(to), {v}));
        const Graph after = optimized(g, {x});
        if (from != over && over != to) ++(count(after, OpId::kCast) < 2 ? merged : kept);
      }
    }
  }
  EXPECT_GT(merged, 500);
  EXPECT_GT(kept, 500);
}

TEST(Passes, MovementsThatMoveNothingGo) {
  Graph g;
  const SymDim n = g.symbol("n");
  ValueId x = g.add_input("x", DType::kF32, {n, SymDim(3), SymDim(4)});
  ValueId v = g.emit(OpId::kAbs, {x});
  v = g.emit(OpId::kConcat, AxisAttrs{1}, {v});
  v = g.emit(OpId::kSlice, SliceAttrs{{0, 0}, {INT64_MAX, 4}, {1, 2}, {}}, {v});
  v = g.emit(OpId::kPad, PadAttrs{{0, 0, 0, 0, 0, 0}, 0, 0, {}}, {v});
  v = g.emit(OpId::kExpand, ShapeAttrs{}, {v, g.emit(OpId::kShape, ShapeOpAttrs{}, {v})});
  v = g.emit(OpId::kUnsqueeze, AxesAttrs{{1}}, {v});
  v = g.emit(OpId::kSqueeze, AxesAttrs{{1}}, {v});
  v = g.emit(OpId::kReshape, ReshapeAttrs{{-1, 12}}, {v});
  v = g.emit(OpId::kUnsqueeze, AxesAttrs{{0}}, {v});
  v = g.emit(OpId::kReshape, ReshapeAttrs{{-1, 3, 4}}, {v});
  v = g.emit(OpId::kTranspose, TransposeAttrs{{2, 0, 1}}, {v});
  v = g.emit(OpId::kTranspose, TransposeAttrs{{1, 2, 0}}, {v});
  HostTensor no(DType::kBool, Shape{});
  const NodeId drop =
      g.add_node(OpId::kDropout, AnyAttrs::of(NoAttrs{}),
                 {v, g.add_constant(HostTensor::of<float>({}, {0.5f})), g.add_constant(no)});
  v = g.node(drop).outputs[0];
  const NodeId split = g.add_node(OpId::kSplit, AnyAttrs::of(SplitAttrs{}), {v}, 1);
  g.add_output("y", g.emit(OpId::kNeg, {g.node(split).outputs[0]}));
  const Graph after = optimized(g, {floats({5, 3, 4})});
  EXPECT_EQ(live(after), 2u) << print(after);
}

TEST(Passes, MovementsThatMoveStay) {
  Graph g;
  const SymDim n = g.symbol("n"), m = g.symbol("m");
  ValueId x = g.add_input("x", DType::kF32, {n, SymDim(4)}),
          y = g.add_input("y", DType::kF32, {m, SymDim(4)});
  // read by others: an output of the graph would keep its node in any case
  auto add = [&](const char* name, ValueId v) { g.add_output(name, g.emit(OpId::kNeg, {v})); };
  const SliceAttrs back{{-1}, {INT64_MIN}, {1}, {-1}};  // as many, backwards
  add("reversed", g.emit(OpId::kSlice, back, {x}));
  add("shifted", g.emit(OpId::kPad, PadAttrs{{0, 1, 0, -1}, 0, 0, {}}, {x}));
  add("halves", g.emit(OpId::kReshape, ReshapeAttrs{{-1, 2}}, {x}));
  add("spread",
      g.emit(OpId::kExpand, ShapeAttrs{}, {x, g.emit(OpId::kShape, ShapeOpAttrs{}, {y})}));
  // a size copied by 0 is that of what the reshape reads
  ValueId flat = g.emit(OpId::kReshape, ReshapeAttrs{{2, -1}}, {x});
  add("copied", g.emit(OpId::kReshape, ReshapeAttrs{{0, -1, 2}}, {flat}));
  const Graph after = optimized(g, {floats({1, 4}), floats({3, 4})});
  for (OpId op : {OpId::kSlice, OpId::kPad, OpId::kExpand}) {
    EXPECT_EQ(count(after, op), 1u) << static_cast<int>(op) << "\n" << print(after);
  }
  EXPECT_EQ(count(after, OpId::kReshape), 3u);
}

TEST(Passes, OutputsKeepANodeThatMakesThem) {
  Graph g;
  ValueId x = g.add_input("x", DType::kF32, {SymDim(4)});
  g.add_output("same", g.emit(OpId::kIdentity, {x}));
  ValueId y = g.emit(OpId::kNeg, {x});
  g.add_output("a", y);
  g.add_output("b", g.emit(OpId::kIdentity, {y}));
  const Graph after = optimized(g, {floats({4})});
  EXPECT_EQ(count(after, OpId::kIdentity), 2u);
}

TEST(Passes, EqualNodesBecomeOne) {
  Graph g;
  ValueId a = g.add_input("a", DType::kF32, {SymDim(4)}),
          b = g.add_input("b", DType::kF32, {SymDim(4)});
  auto two = [&] { return g.add_constant(HostTensor::of<float>({}, {2.0f})); };
  ValueId sum = g.emit(OpId::kAdd, {a, b}), sum2 = g.emit(OpId::kAdd, {b, a});
  ValueId d = g.emit(OpId::kSub, {a, b}), d2 = g.emit(OpId::kSub, {b, a});
  ValueId m = g.emit(OpId::kMul, {a, two()}), m2 = g.emit(OpId::kMul, {two(), a});
  ValueId l = g.emit(OpId::kLeakyRelu, LeakyReluAttrs{0.1}, {a}),
          l2 = g.emit(OpId::kLeakyRelu, LeakyReluAttrs{0.2}, {a});
  for (ValueId v : {sum, sum2, d, d2, m, m2, l, l2})
    g.add_output("y" + std::to_string(v), g.emit(OpId::kAbs, {v}));
  const Graph after = optimized(g, {floats({4}), floats({4})});
  EXPECT_EQ(count(after, OpId::kAdd), 1u);
  EXPECT_EQ(count(after, OpId::kSub), 2u);
  EXPECT_EQ(count(after, OpId::kMul), 1u);
  EXPECT_EQ(count(after, OpId::kLeakyRelu), 2u);
}

ValueId if_of(Graph& g, ValueId condition, ValueId x, OpId then_op) {
  std::vector<Graph> branches;
  for (OpId op : {then_op, OpId::kNeg}) {
    Graph r = g.region("branch");
    ValueId in = r.add_input("x", DType::kF32, {SymDim(4)});
    r.add_output("y", r.emit(op, {in}));
    branches.push_back(std::move(r));
  }
  const NodeId id =
      g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {condition, x}, std::move(branches));
  return g.node(id).outputs[0];
}

TEST(Passes, EqualRegionsAreEqual) {
  Graph g;
  ValueId c = g.add_input("c", DType::kBool, {}), x = g.add_input("x", DType::kF32, {SymDim(4)});
  ValueId one = if_of(g, c, x, OpId::kAbs), same = if_of(g, c, x, OpId::kAbs),
          other = if_of(g, c, x, OpId::kExp);
  g.add_output("y", g.emit(OpId::kAdd, {g.emit(OpId::kMul, {one, same}), other}));
  HostTensor yes(DType::kBool, Shape{});
  *yes.as<uint8_t>() = 1;
  EXPECT_EQ(count(optimized(g, {yes, floats({4})}), OpId::kIf), 2u);
}

// Lowering them to integer kernels needs them whole, a pair a reader.
TEST(Passes, QuantizedPairsStayIntact) {
  Graph g;
  ValueId x = g.add_input("x", DType::kF32, {SymDim(1), SymDim(4)});
  ValueId scale = g.add_constant(HostTensor::of<float>({}, {0.1f})),
          zero = g.add_constant(HostTensor::of<uint8_t>({}, {3}));
  ValueId w = g.add_constant(HostTensor::of<uint8_t>({4, 4}, std::vector<uint8_t>(16, 7)));
  ValueId sum = kNoValue;
  for (int branch = 0; branch < 2; ++branch) {
    ValueId q = g.emit(OpId::kQuantizeLinear, QuantizeAttrs{}, {x, scale, zero});
    ValueId d = g.emit(OpId::kDequantizeLinear, DequantizeAttrs{}, {q, scale, zero});
    ValueId dw = g.emit(OpId::kDequantizeLinear, DequantizeAttrs{}, {w, scale, zero});
    ValueId y = g.emit(OpId::kMatMul, {branch == 0 ? d : g.emit(OpId::kNeg, {d}), dw});
    sum = branch == 0 ? y : g.emit(OpId::kAdd, {sum, y});
  }
  g.add_output("y", sum);
  const Graph after = optimized(g, {floats({1, 4})});
  EXPECT_EQ(count(after, OpId::kQuantizeLinear), 2u);
  EXPECT_EQ(count(after, OpId::kDequantizeLinear), 4u);
}

// Weights in blocks become reals once, where nobody but a linear layer reads them.
TEST(Passes, BlockedWeightsOfLinearLayersFold) {
  for (const bool shared : {false, true}) {
    Graph g;
    ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(32)});
    HostTensor packed(DType::kU4, {64, 32});
    for (size_t i = 0; i < packed.nbytes(); ++i)
      packed.as<uint8_t>()[i] = static_cast<uint8_t>(i * 37);
    ValueId scale = g.add_constant(HostTensor::of<float>({64, 2}, std::vector<float>(128, 0.5f)));
    DequantizeAttrs a;
    a.axis = 1;
    a.block_size = 16;
    ValueId w = g.emit(OpId::kDequantizeLinear, a, {g.add_constant(packed), scale, kNoValue});
    g.add_output("y", g.emit(OpId::kLinear, {x, w, kNoValue}));
    if (shared) g.add_output("w", g.emit(OpId::kNeg, {w}));
    const Graph after = optimized(g, {floats({2, 32})});
    EXPECT_EQ(count(after, OpId::kDequantizeLinear), shared ? 1u : 0u);
  }
}

// Rounds over a graph of n nodes of a kind, in seconds; the least of two.
double seconds_of(int n, const std::function<void(Graph&, int)>& make) {
  double least = 1e9;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Graph g;
    make(g, n);
    const std::clock_t from = std::clock();  // of this process: others may keep the machine busy
    optimize(g);
    least = std::min(least, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
  }
  return least;
}

TEST(Passes, TakeTimeLinearInTheGraph) {
  const HostTensor w = floats({4, 4});
  const std::pair<const char*, std::function<void(Graph&, int)>> kinds[] = {
      {"identities",
       [](Graph& g, int n) {
         ValueId v = g.add_input("x", DType::kF32, {SymDim(4)});
         for (int i = 0; i < n; i += 2) v = g.emit(OpId::kNeg, {g.emit(OpId::kIdentity, {v})});
         g.add_output("y", v);
       }},
      {"equal nodes",
       [](Graph& g, int n) {
         ValueId x = g.add_input("x", DType::kF32, {SymDim(4)}), v = x;
         for (int i = 0; i < n; i += 2) v = g.emit(OpId::kAdd, {v, g.emit(OpId::kAbs, {x})});
         g.add_output("y", v);
       }},
      {"constants",
       [](Graph& g, int n) {
         ValueId v = g.add_input("x", DType::kF32, {SymDim(4)});
         for (int i = 0; i < n; i += 2) {
           ValueId c = g.add_constant(HostTensor::of<float>({}, {static_cast<float>(i)}));
           v = g.emit(OpId::kAdd, {v, g.emit(OpId::kNeg, {c})});
         }
         g.add_output("y", v);
       }},
      {"linear layers",
       [&](Graph& g, int n) {
         ValueId v = g.add_input("x", DType::kF32, {SymDim(1), SymDim(4)});
         ValueId c = g.add_constant(w);
         for (int i = 0; i < n; i += 2) v = g.emit(OpId::kRelu, {g.emit(OpId::kLinear, {v, c})});
         g.add_output("y", v);
       }},
      {"outputs", [](Graph& g, int n) {
         ValueId x = g.add_input("x", DType::kF32, {SymDim(4)});
         for (int i = 0; i < n; i += 2) {
           ValueId v = g.emit(OpId::kLeakyRelu, LeakyReluAttrs{i * 1e-6}, {x});
           g.add_output("y" + std::to_string(i), g.emit(OpId::kIdentity, {v}));
         }
       }}};
  for (const auto& [name, make] : kinds) {
    const double small = seconds_of(4000, make), large = seconds_of(32000, make);
    // eight times the nodes: 8, more where caches end, 64 if anything looks at all nodes for each
    EXPECT_LT(large / small, 40) << name << ": " << small << " s, then " << large << " s";
  }
}

}  // namespace
}  // namespace wick::ir
