#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <map>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "runtime/core/packed_sequence.h"
#include "tests/graph/unfused.h"
#include "tests/support/error_of.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

using test::error_of;

using testing::HasSubstr;

HostTensor floats(const Shape& shape, float first = -1, float step = 0.37f) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = first + step * static_cast<float>(i % 11);
  return t;
}

size_t count(const Graph& g, OpId op) {
  size_t n = 0;
  for (const Node& node : g.nodes()) n += node.op == op ? 1 : 0;
  return n;
}

// A sequence of one vector of float32.
HostTensor sequence_of(std::vector<float> vector) {
  const TensorView v(vector.data(), DType::kF32, {static_cast<int64_t>(vector.size())});
  PackedSize size(1);
  EXPECT_TRUE(size.add(DType::kF32, v.shape).ok());
  std::vector<char> bytes(static_cast<size_t>(size.bytes().value()));
  PackedWriter(bytes.data(), size.bytes().value(), DType::kF32, 1).add(v);
  return {DType::kSequence, {size.bytes().value()}, bytes.data(), bytes.size()};
}

TEST(HostTensor, SequencesAreTheSameElementByElement) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(same_bits(sequence_of({1, nan}), sequence_of({1, -nan}))) << "one value";
  EXPECT_FALSE(same_bits(sequence_of({1, nan}), sequence_of({1, 2})));
  EXPECT_FALSE(same_bits(sequence_of({1, 0.0F}), sequence_of({1, -0.0F})));
}

// An application may have set a locale of decimal commas, for its own texts.
TEST(GraphText, NumbersAreReadAndWrittenWithAPointInEveryLocale) {
  const std::string before = setlocale(LC_NUMERIC, nullptr);
  const char* comma = nullptr;
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8", "pt_BR.UTF-8"})
    if (comma == nullptr && setlocale(LC_NUMERIC, name) != nullptr) comma = name;
  if (comma == nullptr) GTEST_SKIP() << "no locale with a decimal comma (apt: locales)";
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, {SymDim(2)});
  g.add_output("y", g.emit(OpId::kLeakyRelu, LeakyReluAttrs{0.3}, {x}));
  const std::string text = print(g);
  const Graph back = parse_graph(text);
  setlocale(LC_NUMERIC, before.c_str());
  EXPECT_THAT(text, HasSubstr("0x1.3333333333333p-2"));
  EXPECT_EQ(print(back), text);
}

TEST(SymDim, OneSizeHasOneForm) {
  SymDim n = SymDim::symbol("n"), m = SymDim::symbol("m");
  EXPECT_EQ((n + 1) * (n - 1), n * n - 1);
  EXPECT_EQ(dim_equal(n * m, m * n), Tri::kYes);
  EXPECT_EQ(dim_equal(n + 1, n), Tri::kNo);
  EXPECT_EQ(dim_equal(n, m), Tri::kUnknown);
  EXPECT_EQ(dim_equal(n, SymDim(0)), Tri::kNo);  // its lower bound is 1
  EXPECT_EQ(dim_floor_div(n * 4 + 6, 2), n * 2 + 3);
  EXPECT_EQ(dim_floor_div(n * 2 + 3, 2), n + 1);
  EXPECT_EQ(dim_floor_div(n * 3 + 7, 3), n + 2);
  EXPECT_EQ(dim_max(n + 2, n), n + 2);
  auto seven = [](const std::string&) { return int64_t{7}; };
  EXPECT_EQ(dim_floor_div(n * 3 + m, 2).evaluate(seven), 14);
  EXPECT_EQ((dim_max(n - m, SymDim(2)) * 5 - 1).evaluate(seven), 9);
}

TEST(SymDim, TextReadsBack) {
  SymDim n = SymDim::symbol("n"), m = SymDim::symbol("m_1");
  auto symbol = [](const std::string& name) { return SymDim::symbol(name); };
  for (const SymDim& d :
       {SymDim(0), SymDim(-3), n, n * -2 + 5, n * m * 3 - m, dim_floor_div(n + m, 2) - 1,
        dim_max(n, m * 2) + dim_floor_div(dim_max(n, m), 3)}) {
    EXPECT_EQ(parse_dim(d.text(), symbol), d) << d.text();
  }
  for (const char* bad : {"", "n+", "floor(n,0)", "floor(n,m)", "min(n,m)", "n)", "(n)",
                          "9223372036854775809", "99999999999999999999"}) {
    EXPECT_THROW(parse_dim(bad, symbol), Error) << bad;
  }
}

// Every attack on size ends in an error, not in a long wait.
TEST(SymDim, HostileGrowthIsRefused) {
  SymDim d = SymDim::symbol("n") + SymDim::symbol("m");
  EXPECT_THROW(
      {
        for (int i = 0; i < 40; ++i) d = d * d;
      },
      Error);
}

Graph conv_net(bool residual) {
  Graph g;
  SymDim n = g.symbol("batch", 1, 64);
  ValueId x = g.add_input("x", DType::kF32, {n, SymDim(3), SymDim(8), SymDim(8)});
  ValueId w = g.add_constant(floats({3, 3, 3, 3}), "conv.weight", true);
  ValueId b = g.add_constant(floats({3}, 0.5f), "conv.bias", true);
  ConvAttrs a;
  a.pads = {1, 1, 1, 1};
  ValueId y = g.emit(OpId::kConv, a, {x, w, b}, "conv");
  ValueId gamma = g.add_constant(floats({3}, 0.7f), "bn.weight", true),
          beta = g.add_constant(floats({3}, -0.2f));
  ValueId mean = g.add_constant(floats({3}, 0.1f)), var = g.add_constant(floats({3}, 0.9f));
  y = g.emit(OpId::kBatchNorm, BatchNormAttrs{}, {y, gamma, beta, mean, var}, "bn");
  if (residual) y = g.emit(OpId::kAdd, {x, y}, "add");
  y = g.emit(OpId::kRelu, {y}, "relu");
  y = g.emit(OpId::kFlatten, AxisAttrs{1}, {y}, "flatten");
  ValueId fc = g.add_constant(floats({5, 192}, -0.3f, 0.01f), "fc.weight", true);
  y = g.emit(OpId::kLinear, {y, fc, kNoValue}, "fc");
  g.add_output("logits", g.emit(OpId::kGelu, GeluAttrs{}, {y}, "gelu"));
  return g;
}

// A file of 17 bytes a node may have a million of them, each with a value: what few need, such as
// attributes and constants, takes no room in all.
TEST(Graph, NodesAndValuesAreSmall) {
  EXPECT_LE(sizeof(Node), 208u);
  EXPECT_LE(sizeof(Value), 224u);
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, {2, 3});
  const ValueId y = g.emit(OpId::kSoftmax, AxisAttrs{1}, {x}), z = g.emit(OpId::kRelu, {y});
  EXPECT_EQ(g.node(g.value(y).producer).attrs.as<AxisAttrs>().axis, 1);
  // An op that is changed in place has what the smaller struct lacks as zeros, and can set it.
  Node& relu = g.node(g.value(z).producer);
  const Node& seen = relu;
  EXPECT_EQ(seen.attrs.as<SliceAttrs>().starts.count, 0);
  relu.attrs.as<AxisAttrs>().axis = 1;
  relu.op = OpId::kSoftmax;
  g.infer(g.value(z).producer);
  g.add_output("z", z);
  g.value(z).name = "z";
  EXPECT_THAT(verify_problems(g), testing::IsEmpty());
}

TEST(Graph, InfersSymbolicShapes) {
  Graph g = conv_net(true);
  const Value& out = g.value(g.outputs()[0].value);
  EXPECT_EQ(shape_text(out.shape), "[batch,5]");
  verify(g);
}

// Detectors concatenate what many feature maps of sizes of their own give.
TEST(Graph, ASizeTooLongToWriteDownIsASymbol) {
  Graph g;
  std::vector<ValueId> parts;
  std::vector<HostTensor> in;
  for (int i = 0; i < 70; ++i) {
    const std::string name = std::to_string(i);
    parts.push_back(g.add_input("x" + name, DType::kF32, {g.symbol("n" + name), SymDim(2)}));
    in.push_back(floats({i % 3 + 1, 2}, static_cast<float>(i)));
  }
  ValueId all = g.emit(OpId::kConcat, AxisAttrs{0}, parts);
  ASSERT_TRUE(g.value(all).ranked);
  EXPECT_EQ(shape_text(g.value(all).shape), "[d0,2]");
  ValueId rows = g.emit(OpId::kShape, ShapeOpAttrs{0, 1}, {all});
  g.add_output("y", g.emit(OpId::kRelu, {all}));
  g.add_output("rows", rows);
  verify(g);
  const std::vector<HostTensor> want = run(g, in);
  optimize(g);
  const std::vector<HostTensor> got = run(g, in);
  EXPECT_TRUE(same_bits(got[0], want[0]));
  EXPECT_EQ(int_values(got[1])[0], 139);
}

TEST(Graph, RuleErrorsNameOpAndBothShapes) {
  Graph g;
  ValueId a = g.add_input("a", DType::kF32, {SymDim(2), SymDim(3)});
  ValueId b = g.add_input("b", DType::kF32, {SymDim(4), SymDim(5)});
  std::string text = error_of([&] { g.emit(OpId::kMatMul, {a, b}, "product"); });
  EXPECT_THAT(text, HasSubstr("[MatMul] inner dimensions differ: [2,3] x [4,5]"));
  EXPECT_EQ(g.node_count(), 0u);
  EXPECT_EQ(g.value_count(), 2u);
}

TEST(Graph, VerifierSeesWhatIsBroken) {
  Graph g = conv_net(false);
  g.node(1).inputs[0] = g.outputs()[0].value;
  EXPECT_THAT(error_of([&] { verify(g); }), HasSubstr("before it is made"));
  g = conv_net(false);
  g.value(g.node(2).outputs[0]).shape[1] = SymDim(4);
  EXPECT_THAT(error_of([&] { verify(g); }), HasSubstr("the rule says"));
  g = conv_net(false);
  g.value(g.node(2).outputs[0]).dtype = DType::kF64;
  EXPECT_THAT(error_of([&] { verify(g); }), HasSubstr("float64"));
  g = conv_net(false);
  g.add_output("logits", g.outputs()[0].value);
  EXPECT_THAT(error_of([&] { verify(g); }), HasSubstr("named twice"));
}

TEST(Graph, TextReadsBack) {
  Graph g = conv_net(true);
  g.labels = {"cat", "a \"dog\"\\\nof two lines"};
  g.metadata["key"] = "value";
  g.node(0).source = {"net.cc", 41};
  g.node(0).module = "features.0";
  std::string text = print(g, true);
  EXPECT_TRUE(print(parse_graph(text), true) == text);
  EXPECT_THAT(error_of([&] { parse_graph(print(g)); }), HasSubstr("without its bytes"));
  EXPECT_THAT(error_of([&] { parse_graph("nonsense"); }), HasSubstr("line 1"));
  // Found by tests/fuzz: an error is short, whatever the text has for a word.
  const std::string long_word = "graph\n  input %0 \"x\" " + std::string(9000, 'f') + " [2]\n";
  const std::string error = error_of([&] { parse_graph(long_word); });
  EXPECT_FALSE(error.empty());
  EXPECT_LT(error.size(), 400u);
  // strtoll() read the largest number in its place.
  EXPECT_THAT(error_of([&] { parse_graph("graph \"g\"\ndim n 0 99999999999999999999\n"); }),
              HasSubstr("\"99999999999999999999\" is not a number of 64 bits"));
}

// A graph of the first edition keeps it: as text, in regions, where it runs and where it is folded.
TEST(Graph, HasOneEdition) {
  const auto sigmoids = [](Edition edition) {
    Graph g;
    g.set_edition(edition);
    const ValueId x = g.add_input("x", DType::kF32, {SymDim(64)});
    const ValueId c = g.add_constant(floats({64}, -3, 0.61f), "c");
    g.add_output("y", g.emit(OpId::kSigmoid, {x}));
    g.add_output("z", g.emit(OpId::kSigmoid, {c}));
    return g;
  };
  const HostTensor x = floats({64}, -3, 0.61f);
  std::map<Edition, std::string> made;
  for (Edition edition : {Edition::k1, Edition::k2}) {
    const Graph g = sigmoids(edition), back = parse_graph(print(g, true));
    EXPECT_EQ(back.edition(), edition);
    EXPECT_EQ(g.region("body").edition(), edition);
    Graph folded = g;
    fold_constants(folded);
    EXPECT_EQ(count(folded, OpId::kSigmoid), 1u);
    for (const Graph& way : {g, back, folded}) {
      for (const HostTensor& y : run(way, {&x, 1})) {
        const std::string bytes(y.as<char>(), y.nbytes());
        if (made[edition].empty()) made[edition] = bytes;
        EXPECT_TRUE(bytes == made[edition]);
      }
    }
  }
  EXPECT_TRUE(made[Edition::k1] != made[Edition::k2]);
  EXPECT_EQ(print(sigmoids(kNewestEdition)).find("edition"), std::string::npos);
  EXPECT_THAT(error_of([&] { parse_graph("graph \"g\"\nedition 3\n"); }), HasSubstr("edition 3"));
}

TEST(Interpreter, RefusesWhatDoesNotFit) {
  Graph g = conv_net(false);
  HostTensor wrong = floats({2, 3, 8, 7});
  EXPECT_THAT(error_of([&] {
                run(g, {&wrong, 1});
              }),
              HasSubstr("takes float32[batch,3,8,8], got float32[2,3,8,7]"));
  HostTensor big = floats({65, 3, 8, 8});
  EXPECT_THAT(error_of([&] { run(g, {&big, 1}); }), HasSubstr("[65,3,8,8]"));
  InterpreterOptions small;
  small.max_bytes = 1000;
  HostTensor x = floats({2, 3, 8, 8});
  EXPECT_THAT(error_of([&] { run(g, {&x, 1}, small); }), HasSubstr("more than the"));
}

TEST(Interpreter, HookSeesEveryNodeInOrder) {
  Graph g = conv_net(true);
  HostTensor x = floats({2, 3, 8, 8});
  std::vector<NodeId> seen;
  InterpreterOptions options;
  options.after_node = [&](NodeId id, Span<const HostTensor> out) {
    seen.push_back(id);
    EXPECT_EQ(out.size(), 1u);
  };
  run(g, {&x, 1}, options);
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

// The promise of exact passes: the same bits, on the plain loops and on the SIMD kernels.
TEST(Passes, FusingKeepsTheBits) {
  for (bool residual : {false, true}) {
    Graph g = conv_net(residual), fused = g;
    PassReport report = optimize(fused);
    EXPECT_EQ(report.numerics, Numerics::kExact);
    EXPECT_EQ(count(fused, OpId::kFusedConv), 1u);
    EXPECT_EQ(count(fused, OpId::kFusedLinear), 1u);
    EXPECT_EQ(count(fused, OpId::kBatchNorm) + count(fused, OpId::kRelu) + count(fused, OpId::kAdd),
              0u);
    HostTensor x = floats({3, 3, 8, 8}, -2, 0.43f);
    HostTensor want = run(g, {&x, 1})[0];
    InterpreterOptions simd;
    simd.kernels = {&kCpuKernels, &kReferenceKernels};
    EXPECT_TRUE(same_bits(run(fused, {&x, 1})[0], want));
    EXPECT_TRUE(same_bits(run(fused, {&x, 1}, simd)[0], want));
  }
}

// SiLU and hard swish by parts: a product's result times a function of it, in either order.
TEST(Passes, GatesBecomeEpilogues) {
  for (const OpId op : {OpId::kSigmoid, OpId::kHardSigmoid, OpId::kTanh}) {
    for (const int form : {0, 1, 2, 3}) {  // 2: the gate alone; 3: somebody else reads the result
      Graph g;
      ValueId x = g.add_input("x", DType::kF32, {g.symbol("n"), SymDim(3), SymDim(7), SymDim(5)});
      ValueId y =
          g.emit(OpId::kConv, ConvAttrs{}, {x, g.add_constant(floats({6, 3, 2, 2}, -1, 0.1f))});
      ValueId gate =
          op == OpId::kHardSigmoid ? g.emit(op, HardSigmoidAttrs{0.3, 0.4}, {y}) : g.emit(op, {y});
      ValueId z = gate;
      if (form != 2) z = form == 1 ? g.emit(OpId::kMul, {gate, y}) : g.emit(OpId::kMul, {y, gate});
      g.add_output("z", z);
      if (form == 3) g.add_output("y", y);
      Graph fused = g;
      EXPECT_EQ(optimize(fused).numerics, Numerics::kExact);
      const bool whole = form == 2 || (form < 2 && op != OpId::kTanh);
      EXPECT_EQ(count(fused, OpId::kFusedConv), whole ? 1u : 0u) << print(fused);
      EXPECT_EQ(fused.node_count() == 1, whole) << print(fused);
      HostTensor in = floats({2, 3, 7, 5}, -3, 0.37f);
      InterpreterOptions simd;
      simd.kernels = {&kCpuKernels, &kReferenceKernels};
      const HostTensor want = run(g, {&in, 1})[0];
      EXPECT_TRUE(same_bits(run(fused, {&in, 1})[0], want)) << print(fused);
      EXPECT_TRUE(same_bits(run(fused, {&in, 1}, simd)[0], want)) << print(fused);
      if (whole) expect_unfused(fused, {in}, {want});
    }
  }
}

// One slope for all channels is the epilogue's LeakyRelu; one for each stays an op.
TEST(Passes, APReluOfOneSlopeIsAnEpilogue) {
  for (const Shape& shape : {Shape{1}, Shape{}, Shape{1, 1, 1}, Shape{4, 1, 1}}) {
    Graph g;
    const ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(3), SymDim(8), SymDim(8)});
    const ValueId y =
        g.emit(OpId::kConv, ConvAttrs{}, {x, g.add_constant(floats({4, 3, 3, 3}, -1, 0.37f))});
    g.add_output("y", g.emit(OpId::kPRelu, {y, g.add_constant(floats(shape, -0.3f, 0.2f))}));
    Graph fused = g;
    optimize(fused);
    EXPECT_EQ(count(fused, OpId::kPRelu), shape.rank() == 3 && shape[0] == 4 ? 1u : 0u);
    const HostTensor in = floats({2, 3, 8, 8}, -2, 0.43f);
    InterpreterOptions simd;
    simd.kernels = {&kCpuKernels, &kReferenceKernels};
    const HostTensor want = run(g, {&in, 1})[0];
    EXPECT_TRUE(same_bits(run(fused, {&in, 1})[0], want));
    EXPECT_TRUE(same_bits(run(fused, {&in, 1}, simd)[0], want));
  }
}

// A value that somebody else reads must stay.
TEST(Passes, FusingStopsAtASharedValue) {
  Graph g;
  ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(4)});
  ValueId w = g.add_constant(floats({4, 4}));
  ValueId y = g.emit(OpId::kLinear, {x, w});
  g.add_output("before", y);
  g.add_output("after", g.emit(OpId::kRelu, {y}));
  optimize(g);
  EXPECT_EQ(count(g, OpId::kLinear), 1u);
  EXPECT_EQ(count(g, OpId::kRelu), 1u);
}

TEST(Passes, FoldsConstantsAndShapes) {
  Graph g;
  SymDim n = g.symbol("n");
  ValueId x = g.add_input("x", DType::kF32, {n, SymDim(3), SymDim(4)});
  ValueId shape = g.emit(OpId::kShape, ShapeOpAttrs{1, INT64_MAX}, {x});  // [3, 4]: known
  ValueId product = g.emit(OpId::kReduceProd, ReduceAttrs{{0}, 1, 0}, {shape});
  ValueId first = g.emit(OpId::kShape, ShapeOpAttrs{0, 1}, {x});
  ValueId to = g.emit(OpId::kConcat, AxisAttrs{0}, {first, product});
  g.add_output("y", g.emit(OpId::kReshape, ReshapeAttrs{}, {x, to}));
  Graph before = g;
  optimize(g);
  EXPECT_EQ(count(g, OpId::kReduceProd), 0u);
  EXPECT_EQ(shape_text(g.value(g.outputs()[0].value).shape), "[n,12]");
  HostTensor in = floats({5, 3, 4});
  EXPECT_TRUE(same_bits(run(before, {&in, 1})[0], run(g, {&in, 1})[0]));
}

TEST(Passes, FoldingDoesNotBlowUp) {
  Graph g;
  ValueId one = g.add_constant(floats({1}));
  g.add_output("y", g.emit(OpId::kExpand, ShapeAttrs{{1 << 20}}, {one}));
  optimize(g);
  EXPECT_EQ(count(g, OpId::kExpand), 1u);
}

TEST(Passes, CancelsTransposesAndSharesEqualNodes) {
  Graph g;
  ValueId x = g.add_input("x", DType::kF32, {SymDim(2), SymDim(3), SymDim(4)});
  ValueId t = g.emit(OpId::kTranspose, TransposeAttrs{{1, 2, 0}}, {x});
  ValueId back = g.emit(OpId::kTranspose, TransposeAttrs{{2, 0, 1}}, {t});
  ValueId a = g.emit(OpId::kRelu, {back}), b = g.emit(OpId::kRelu, {x});
  g.add_output("y", g.emit(OpId::kAdd, {a, b}));
  HostTensor in = floats({2, 3, 4});
  HostTensor want = run(g, {&in, 1})[0];
  simplify(g);
  EXPECT_EQ(count(g, OpId::kTranspose), 0u);
  EXPECT_EQ(count(g, OpId::kRelu), 1u);
  EXPECT_TRUE(same_bits(run(g, {&in, 1})[0], want));
}

TEST(Passes, BrokenPassIsNamed) {
  Graph g = conv_net(false);
  Pass bad = {"swap", Numerics::kExact, [](Graph& graph) {
                std::swap(graph.node(0).inputs[0], graph.node(0).inputs[1]);
                return true;
              }};
  EXPECT_THAT(error_of([&] { run_passes(g, {&bad, 1}); }), HasSubstr("after the pass swap"));
}

TEST(Passes, TheWeakestPassDecidesThePromise) {
  Graph g = conv_net(false);
  Pass passes[] = {{"a", Numerics::kExact, [](Graph&) { return true; }},
                   {"b", Numerics::kReassociates, [](Graph&) { return true; }},
                   {"c", Numerics::kApproximates,
                    [](Graph&) { return false; }}};  // changed nothing: does not count
  EXPECT_EQ(run_passes(g, passes).numerics, Numerics::kReassociates);
}

}  // namespace
}  // namespace wick::ir
