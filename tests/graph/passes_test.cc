// Which nodes the exact passes remove, which they must leave, and that their time stays linear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <functional>
#include <limits>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "tests/graph/unfused.h"

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
    expect_unfused(*made, in, want);
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

// Weights in blocks that only linear layers read stay as they are where there is a kernel for them,
// and become reals once where there is none.
TEST(Passes, BlockedWeightsOfLinearLayersStayOrFold) {
  for (const auto& [dtype, shared] : {std::pair(DType::kU4, false), std::pair(DType::kU4, true),
                                      std::pair(DType::kU2, false), std::pair(DType::kU2, true)}) {
    Graph g;
    ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(32)});
    HostTensor packed(dtype, {64, 32});
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
    EXPECT_EQ(count(after, OpId::kBlockLinear), dtype == DType::kU4 && !shared ? 1u : 0u);
  }
}

// Zero points of all kinds: none, one for all (a constant of them, or one spread over them),
// others.
TEST(Passes, LinearOfWeightsInBlocksKeepsThemPacked) {
  const auto numbers = [](DType t, const Shape& shape, int step) {
    HostTensor h(t, shape);
    for (size_t i = 0; i < h.nbytes(); ++i)
      h.as<uint8_t>()[i] = static_cast<uint8_t>(step == 0 ? 0x88 : i * static_cast<size_t>(step));
    return h;
  };
  for (const DType dtype : {DType::kU4, DType::kI4, DType::kU8, DType::kI8}) {
    for (const std::string zeros : {"none", "same", "spread", "own"}) {
      for (const DType scale : {DType::kF32, DType::kF16}) {
        Graph g;
        ValueId x = g.add_input("x", DType::kF32, {SymDim(3), SymDim(40)});
        ValueId s = g.add_constant(cast_to(floats({6, 3}), scale));
        DequantizeAttrs a;
        a.axis = 1, a.block_size = 16;
        a.output_dtype = static_cast<int64_t>(DType::kF32);
        ValueId zero = kNoValue;
        if (zeros == "same") zero = g.add_constant(numbers(dtype, {6, 3}, 0));
        if (zeros == "own") zero = g.add_constant(numbers(dtype, {6, 3}, 29));
        if (zeros == "spread") {
          zero = g.emit(OpId::kExpand, {g.add_constant(numbers(dtype, {1, 1}, 0)),
                                        g.add_constant(HostTensor::ints({{6, 3}}))});
        }
        ValueId q = g.add_constant(numbers(dtype, {6, 40}, 37));
        ValueId w = g.emit(OpId::kDequantizeLinear, a, {q, s, zero});
        ValueId bias = g.add_constant(floats({6}));
        g.add_output("y", g.emit(OpId::kLinear, {x, w, bias}));
        g.add_output("z", g.emit(OpId::kLinear, {g.emit(OpId::kNeg, {x}), w}));
        const Graph after = optimized(g, {floats({3, 40})});
        EXPECT_EQ(count(after, OpId::kBlockLinear), 2u) << dtype_name(dtype) << zeros;
        EXPECT_EQ(count(after, OpId::kDequantizeLinear), 0u);
        for (const Node& n : after.nodes()) {
          if (n.op == OpId::kBlockLinear) {
            EXPECT_EQ(after.is_constant(n.inputs[3]), zeros == "own");
          }
        }
      }
    }
  }
}
// A batch norm, a residual and an activation behind each product come back as nodes of their own; a
// shift of -0 keeps its sign.
TEST(Passes, FusedEpiloguesComeBackAsNodes) {
  for (const OpId head : {OpId::kConv, OpId::kLinear, OpId::kMatMul}) {
    for (const OpId activation : {OpId::kRelu, OpId::kLeakyRelu, OpId::kGelu, OpId::kClip}) {
      Graph g;
      const bool conv = head == OpId::kConv;
      const Shape x_shape = conv ? Shape{2, 3, 5, 5} : Shape{4, 6};
      const ValueId x = g.add_input("x", DType::kF32, to_symbolic(x_shape));
      const ValueId w = g.add_constant(floats(conv ? Shape{4, 3, 1, 1} : Shape{6, 6}), "w");
      ValueId v = head == OpId::kMatMul ? g.emit(head, {x, w}, "head")
                  : conv                ? g.emit(head, ConvAttrs{}, {x, w, kNoValue}, "head")
                                        : g.emit(head, {x, w, kNoValue}, "head");
      const int64_t channels = conv ? 4 : 6;
      if (head == OpId::kMatMul) v = g.emit(OpId::kAdd, {v, g.add_constant(floats({6}))});
      std::vector<ValueId> norm = {v};
      for (int i = 0; i < 3; ++i) norm.push_back(g.add_constant(floats({channels})));
      const auto n = static_cast<size_t>(channels);
      norm.push_back(g.add_constant(HostTensor::of<float>({channels}, std::vector<float>(n, 2))));
      v = g.emit(OpId::kBatchNorm, BatchNormAttrs{}, norm);
      const HostTensor more = floats(conv ? Shape{2, 4, 5, 5} : Shape{4, 6});
      v = g.emit(OpId::kAdd, {v, g.add_input("more", DType::kF32, to_symbolic(more.shape()))});
      v = activation == OpId::kLeakyRelu ? g.emit(activation, LeakyReluAttrs{0.2}, {v})
          : activation == OpId::kGelu    ? g.emit(activation, GeluAttrs{1}, {v})
          : activation == OpId::kClip    ? g.emit(activation, ClipAttrs{-0.5, 2}, {v})
                                         : g.emit(activation, {v});
      g.add_output("y", v);
      const Graph after = optimized(g, {floats(x_shape), more});
      ASSERT_EQ(live(after), 1u) << print(after);
      Graph plain = after;
      ASSERT_TRUE(unfuse(plain));
      EXPECT_EQ(count(plain, head), 1u);
      EXPECT_EQ(count(plain, OpId::kBatchNorm), 1u);
      EXPECT_EQ(count(plain, activation), 1u);
    }
  }
}

// Blocks along the other axis, of a size that no kernel has, or of weights that are no constants.
TEST(Passes, OtherBlocksStayReals) {
  struct Case {
    int64_t axis, block;
    bool constant;
  };
  for (const Case& c : {Case{0, 16, true}, Case{1, 8, true}, Case{1, 24, true}, Case{1, 512, true},
                        Case{1, 16, false}}) {
    Graph g;
    ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(32)});
    DequantizeAttrs a;
    a.axis = c.axis, a.block_size = c.block;
    const int64_t blocks = (32 + c.block - 1) / c.block;
    ValueId s = g.add_constant(floats(c.axis == 0 ? Shape{blocks, 32} : Shape{32, blocks}));
    const HostTensor weights(DType::kU8, {32, 32});
    ValueId q = c.constant ? g.add_constant(weights)
                           : g.add_input("q", DType::kU8, {SymDim(32), SymDim(32)});
    g.add_output("y", g.emit(OpId::kLinear, {x, g.emit(OpId::kDequantizeLinear, a, {q, s})}));
    std::vector<HostTensor> in = {floats({2, 32})};
    if (!c.constant) in.push_back(weights);
    EXPECT_EQ(count(optimized(g, in), OpId::kBlockLinear), 0u) << c.axis << " " << c.block;
  }
}

// Rounds over a graph of n nodes of a kind, in seconds; the least of two.
double seconds_of(int n, const std::function<void(Graph&, int)>& make) {
  double least = 1e9;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Graph g;
    make(g, n);
    // The CPU time of this process: others may keep the machine busy.
    const std::clock_t from = std::clock();
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
