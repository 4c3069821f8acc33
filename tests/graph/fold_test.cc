// Folding is bounded by work, too: what a few constants ask for in hours stays for the run, and
// what weights need is done. SIGALRM ends the process where it is not so.
#include <gtest/gtest.h>
#include <unistd.h>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "runtime/ops/op_work.h"
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

}  // namespace
}  // namespace wick::ir
