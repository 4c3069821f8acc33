// Folding is bounded by its work, too: constants that would take hours to compute are left to the
// run, and the folding that weights need is done. SIGALRM ends the process if that fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "runtime/ops/attrs.h"
#include "runtime/ops/op_cost.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

struct Hurry {
  Hurry() { alarm(60); }
  ~Hurry() { alarm(0); }
};

// `count` nodes of `height` bins, 2^20 samples on the image each.
Graph regions(int count, int64_t height) {
  Graph g;
  const ValueId x = g.add_constant(HostTensor::of<float>(Shape{1, 1, 2, 2}, {1, 2, 3, 4}));
  const ValueId rois = g.add_constant(HostTensor::of<float>(Shape{1, 4}, {0, 0, 1, 1}));
  const ValueId which = g.add_constant(HostTensor::of<int64_t>(Shape{1}, {0}));
  RoiAlignAttrs a;
  a.output_height = height;
  a.sampling_ratio = 1024;
  for (int k = 0; k < count; ++k)
    g.add_output("y" + std::to_string(k), g.emit(OpId::kRoiAlign, a, {x, rois, which}));
  return g;
}
int nodes(const Graph& g) {
  int n = 0;
  for (const Node& node : g.nodes()) n += node.removed() ? 0 : 1;
  return n;
}

TEST(FoldWork, OfOneNodeIsBounded) {
  Hurry hurry;
  Graph g = regions(1, 10000);
  fold_constants(g);
  EXPECT_EQ(nodes(g), 1);
}

TEST(FoldWork, OfAllNodesIsBounded) {
  Hurry hurry;
  Graph g = regions(2000, 8);
  fold_constants(g);
  EXPECT_LT(nodes(g), 2000) << "what is little is done";
  EXPECT_GT(nodes(g), 1990);
}

uint64_t constant_bytes(const Graph& g) {
  uint64_t n = 0;
  for (size_t i = 0; i < g.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (g.is_constant(id)) n += g.value(id).constant.held_bytes();
  }
  return n;
}

// Each node makes no more than it is given twice, or three times: forty of them make 4 TB of 4
// bytes.
TEST(FoldMemory, OfWhatDoublesIsBounded) {
  for (DType dtype : {DType::kF32, DType::kI64, DType::kString}) {
    for (int times : {2, 3}) {
      Hurry hurry;
      Graph g;
      ValueId v = dtype == DType::kString
                      ? g.add_constant(HostTensor::strings(Shape{1}, {std::string(64, 's')}))
                      : g.add_constant(HostTensor(dtype, Shape{1}));
      for (int k = 0; k < (times == 2 ? 40 : 30); ++k)
        v = g.emit(OpId::kConcat, AxisAttrs{0},
                   std::vector<ValueId>(static_cast<size_t>(times), v));
      g.add_output("y", v);
      WorkAhead work(g);
      for (int round = 0; round < 3; ++round) fold_constants(g, &work);
      EXPECT_LT(constant_bytes(g), uint64_t{1} << 26) << dtype_name(dtype) << " " << times;
      EXPECT_GT(nodes(g), 10);
    }
  }
}

// Weights that are turned, cast and joined a few times are made.
TEST(FoldMemory, OfHonestWeightsIsEnough) {
  Graph g;
  const ValueId w = g.add_constant(HostTensor(DType::kF32, Shape{2048, 2048}));
  const ValueId turned = g.emit(OpId::kTranspose, TransposeAttrs{}, {w});
  const ValueId half = g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF16)}, {turned});
  const ValueId other = g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF16)}, {w});
  g.add_output("y", g.emit(OpId::kConcat, AxisAttrs{0}, {half, other}));
  fold_constants(g);
  EXPECT_EQ(nodes(g), 0);
}

// An If on a bool that the caller gives, of which each branch is a RoiAlign of constants; for a
// height of 0 a sum.
void add_branches(Graph& g, ValueId condition, int64_t height, const std::string& name) {
  std::vector<Graph> branches;
  for (const char* which : {"then", "else"}) {
    branches.push_back(g.region(which));
    Graph& b = branches.back();
    const float own = static_cast<float>(g.node_count());  // equal ones would be shared
    const ValueId x = b.add_constant(HostTensor::of<float>(Shape{1, 1, 2, 2}, {own, 2, 3, 4}));
    const ValueId rois = b.add_constant(HostTensor::of<float>(Shape{1, 4}, {0, 0, 1, 1}));
    const ValueId image = b.add_constant(HostTensor::of<int64_t>(Shape{1}, {0}));
    RoiAlignAttrs a;
    a.output_height = height;
    a.sampling_ratio = 1024;
    b.add_output("y", height == 0 ? b.emit(OpId::kAdd, {x, x})
                                  : b.emit(OpId::kRoiAlign, a, {x, rois, image}));
  }
  const NodeId n =
      g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {condition}, std::move(branches), name);
  g.add_output(name, g.node(n).outputs[0]);
}
int nodes_of(const Graph& g, OpId op) {
  int n = 0;
  for (const Node& node : g.nodes()) {
    n += !node.removed() && node.op == op ? 1 : 0;
    for (const Graph& region : node.regions) n += nodes_of(region, op);
  }
  return n;
}

// One account for all regions and all rounds.
TEST(FoldWork, OfAllRegionsIsBounded) {
  Hurry hurry;
  Graph g;
  const ValueId condition = g.add_input("c", DType::kBool, SymShape{});
  for (int k = 0; k < 8; ++k) add_branches(g, condition, 20, "if" + std::to_string(k));
  // what is next to nothing is done all the same, in regions too
  add_branches(g, condition, 0, "small");
  const ValueId a = g.add_constant(HostTensor::of<int64_t>(Shape{2}, {3, 4}));
  g.add_output("sum", g.emit(OpId::kAdd, {a, a}));
  optimize(g);
  EXPECT_GE(nodes_of(g, OpId::kRoiAlign), 15);
  EXPECT_LE(nodes_of(g, OpId::kRoiAlign), 16);
  EXPECT_EQ(nodes_of(g, OpId::kAdd), 0);
}

// A pass that is run again has what it left the last time, and nothing for what it made.
TEST(FoldWork, OfAllRoundsIsBounded) {
  Graph g = regions(30, 8);  // three of them are the whole account
  WorkAhead work(g);
  fold_constants(g, &work);
  const int left = nodes(g);
  EXPECT_LT(left, 30);
  for (int round = 0; round < 4; ++round) fold_constants(g, &work);
  EXPECT_EQ(nodes(g), left);
}

// Each reads no more than it writes, and the first of them does not use up what the rest need.
TEST(FoldWork, OfManyRowsOfATableIsDone) {
  Graph g;
  const ValueId table = g.add_constant(HostTensor(DType::kF32, Shape{1000, 1024}));
  const ValueId begin = g.add_constant(HostTensor::ints({{0, 0}}));
  const ValueId axes = g.add_constant(HostTensor::ints({{0, 1}}));
  for (int64_t k = 0; k < 1000; ++k) {
    const ValueId row = g.add_constant(HostTensor::of<int64_t>(Shape{}, {k}));
    g.add_output("g" + std::to_string(k), g.emit(OpId::kGather, AxisAttrs{0}, {table, row}));
    const int64_t to[] = {1, k + 1};
    const ValueId end = g.add_constant(HostTensor::ints(to));
    g.add_output("s" + std::to_string(k),
                 g.emit(OpId::kSlice, SliceAttrs{}, {table, begin, end, axes}));
  }
  optimize(g);
  EXPECT_EQ(nodes(g), 0);
}

// Sizes that many nodes compute from constants, behind one that took all there was.
TEST(FoldWork, OfManySizesIsDone) {
  Graph g = regions(40, 8);
  ValueId v = g.add_constant(HostTensor::of<float>(Shape{4}, {1, 2, 3, 4}));
  for (int k = 0; k < 5000; ++k)
    v = g.emit(k % 2 == 0 ? OpId::kAdd : OpId::kNeg,
               k % 2 == 0 ? std::vector<ValueId>{v, v} : std::vector<ValueId>{v});
  g.add_output("sizes", v);
  fold_constants(g);
  EXPECT_EQ(nodes_of(g, OpId::kAdd) + nodes_of(g, OpId::kNeg), 0);
  EXPECT_GT(nodes_of(g, OpId::kRoiAlign), 30);
}

// A pattern of nine bytes takes a tenth of a second to compile, which no size tells.
TEST(FoldWork, OfPatternsIsLeftToTheRun) {
  Hurry hurry;
  Graph g;
  const ValueId x = g.add_constant(HostTensor::strings(Shape{1}, {"a"}));
  const ValueId pattern = g.add_constant(HostTensor::strings(Shape{1}, {"\\pL{300}"}));
  for (int k = 0; k < 40; ++k)
    g.add_output("y" + std::to_string(k), g.emit(OpId::kRegexFullMatch, {x, pattern}));
  fold_constants(g);
  EXPECT_EQ(nodes(g), 40);
}

// An attention that reads its keys and values through permutations does as many products as one
// that does not.
TEST(FoldWork, OfAttentionIsCountedBehindItsPermutations) {
  const int64_t keys = 5000, heads = 2;
  FusedAttentionAttrs plain, turned;
  turned.q_perm = turned.k_perm = turned.v_perm = turned.out_perm = {0, 2, 1, 3};
  const auto view = [](const Shape& s) { return TensorView(nullptr, DType::kF32, s); };
  const TensorView in[] = {view({1, heads, keys, 16}), view({1, heads, keys, 16}),
                           view({1, heads, keys, 32})};
  const TensorView out[] = {view({1, heads, keys, 32})};
  const TensorView other_in[] = {view({1, keys, heads, 16}), view({1, keys, heads, 16}),
                                 view({1, keys, heads, 32})};
  const TensorView other_out[] = {view({1, keys, heads, 32})};
  const double work = op_work(OpId::kFusedAttention, &plain, in, out);
  EXPECT_GT(work, static_cast<double>(heads * keys * keys * (16 + 32)));
  EXPECT_EQ(op_work(OpId::kFusedAttention, &turned, other_in, other_out), work);
}

// Four query heads read what one key head keeps.
TEST(FoldWork, OfLinearAttentionCountsQueryHeads) {
  const auto view = [](const Shape& s) { return TensorView(nullptr, DType::kF32, s); };
  const auto work = [&](int64_t q_heads) {
    LinearAttentionAttrs a;
    a.q_num_heads = q_heads;
    const TensorView in[] = {view({1, 100, q_heads * 64}), view({1, 100, 64}), view({1, 100, 64})};
    const TensorView out[] = {view({1, 100, q_heads * 64}), view({1, 1, 64, 64})};
    return op_work(OpId::kLinearAttention, &a, in, out);
  };
  EXPECT_GE(work(64) - work(1), 63 * 100 * 64 * 64);
}

// A loop counts what its trips do.
TEST(FoldWork, OfLoopsIsBounded) {
  Hurry hurry;
  Graph g;
  const ValueId trips = g.add_constant(HostTensor::of<int64_t>(Shape{}, {10000}));
  HostTensor yes(DType::kBool, Shape{});
  *yes.as<uint8_t>() = 1;
  const ValueId go = g.add_constant(yes);
  Graph body = g.region("body");
  body.add_input("i", DType::kI64, SymShape{});
  const ValueId on = body.add_input("go", DType::kBool, SymShape{});
  const ValueId x = body.add_constant(HostTensor::of<float>(Shape{1, 1, 2, 2}, {1, 2, 3, 4}));
  const ValueId rois = body.add_constant(HostTensor::of<float>(Shape{1, 4}, {0, 0, 1, 1}));
  const ValueId which = body.add_constant(HostTensor::of<int64_t>(Shape{1}, {0}));
  RoiAlignAttrs a;
  a.output_height = 8;
  a.sampling_ratio = 1024;
  const ValueId pooled = body.emit(OpId::kRoiAlign, a, {x, rois, which});
  body.add_output("go", on);
  body.add_output("y", pooled);
  LoopAttrs loop;
  loop.carried = 0;
  std::vector<Graph> bodies;
  bodies.push_back(std::move(body));
  const NodeId n =
      g.add_control(OpId::kLoop, AnyAttrs::of(loop), {trips, go}, std::move(bodies), "l");
  g.add_output("y", g.node(n).outputs[0]);
  fold_constants(g);
  EXPECT_EQ(nodes(g), 1);
}

// Weights that are turned, cast and scaled a few times.
TEST(FoldWork, OfWeightsIsDone) {
  Graph g;
  HostTensor weight(DType::kF32, Shape{1000, 1000});
  ValueId v = g.add_constant(weight);
  for (int k = 0; k < 4; ++k) {
    v = g.emit(OpId::kTranspose, TransposeAttrs{}, {v});
    v = g.emit(OpId::kMul, {v, v});
  }
  g.add_output("y", v);
  fold_constants(g);
  EXPECT_EQ(nodes(g), 0);
}

// Trips that do next to nothing take time, too.
TEST(FoldWork, OfTripsIsCounted) {
  Graph g;
  Graph body = g.region("body");
  body.add_input("i", DType::kI64, SymShape{});
  body.add_output("go", body.add_input("go", DType::kBool, SymShape{}));
  LoopAttrs loop;
  loop.carried = 0;
  std::vector<Graph> bodies;
  bodies.push_back(std::move(body));
  const ValueId trips = g.add_constant(HostTensor::of<int64_t>(Shape{}, {1000}));
  HostTensor yes(DType::kBool, Shape{});
  *yes.as<uint8_t>() = 1;
  const ValueId go = g.add_constant(yes);
  const NodeId n =
      g.add_control(OpId::kLoop, AnyAttrs::of(loop), {trips, go}, std::move(bodies), "l");
  double left = 1e6;
  InterpreterOptions options;
  options.work_left = &left;
  const HostTensor in[] = {g.value(trips).constant, yes};
  run_any(g, g.node(n), in, options);
  EXPECT_LT(left, 1e6 - 1e5);
}

TEST(FoldWork, AnInterpreterTakesWhatIsLeft) {
  const HostTensor a(DType::kF32, Shape{10, 20}), b(DType::kF32, Shape{20, 30});
  const HostTensor in[] = {a, b};
  // bytes of all three, and the multiply-adds
  const double work = 4 * (200 + 600 + 300) + 6000;
  double left = work + 1;
  InterpreterOptions options;
  options.work_left = &left;
  const NoAttrs none;
  EXPECT_EQ(run_node(OpId::kMatMul, &none, in, 1, options)[0].shape(), (Shape{10, 30}));
  EXPECT_EQ(left, 1);
  EXPECT_THROW(run_node(OpId::kMatMul, &none, in, 1, options), Error);
  EXPECT_EQ(left, 1);
}

// 16 bytes joined with themselves 40 times would be 16 TiB. Each may be 64 KiB more than the one
// before; one that reads a tensor twice reads no more for that.
TEST(FoldMemory, OfATensorJoinedWithItselfStaysSmall) {
  for (size_t copies : {2, 3}) {
    Hurry hurry;
    Graph g;
    ValueId v = g.add_constant(HostTensor::of<float>(Shape{4}, {1, 2, 3, 4}));
    for (int k = 0; k < 30; ++k)
      v = g.emit(OpId::kConcat, AxisAttrs{0}, std::vector<ValueId>(copies, v));
    g.add_output("y", v);
    const PassReport report = optimize(g);
    EXPECT_LE(report.spent.bytes, 1u << 18) << copies;
    EXPECT_GE(nodes_of(g, OpId::kConcat), 15) << copies;
  }
}

// Both the weight and its transpose count, though one of them is left.
TEST(FoldMemory, IsWhatTheCallerSays) {
  for (const auto& [most, left] : {std::pair<uint64_t, int>{3 << 19, 1}, {2 << 20, 0}, {0, 0}}) {
    Graph g;
    const ValueId w = g.add_constant(HostTensor(DType::kF32, Shape{512, 512}));
    g.add_output("y", g.emit(OpId::kTranspose, TransposeAttrs{}, {w}));
    optimize(g, {.fold_bytes = most});
    EXPECT_EQ(nodes(g), left) << most;
  }
}

// Each is 64 KB more than the one before, and all of them are outputs: their sum is bounded, over
// all rounds and in regions too.
TEST(FoldMemory, OfAllNodesIsBounded) {
  Hurry hurry;
  Graph g;
  const ValueId more = g.add_constant(HostTensor(DType::kF32, Shape{16000}));
  ValueId v = g.add_constant(HostTensor::of<float>(Shape{4}, {1, 2, 3, 4}));
  for (int k = 0; k < 100; ++k) {
    v = g.emit(OpId::kConcat, AxisAttrs{0}, {v, more});
    g.add_output("y" + std::to_string(k), v);
  }
  const PassReport report = optimize(g);
  uint64_t held = 0;
  for (size_t i = 0; i < g.value_count(); ++i) {
    if (g.is_constant(static_cast<ValueId>(i)))
      held += g.value(static_cast<ValueId>(i)).constant.held_bytes();
  }
  EXPECT_LE(held, 17u << 20);
  EXPECT_GE(held, 8u << 20) << "what is little is done";
  EXPECT_LE(report.spent.bytes, 17u << 20);
}

}  // namespace
}  // namespace wick::ir
