// Sizes that must not be believed: those of an earlier inference, those that no expression gives,
// and constants whose keys only look the same.
#include <gtest/gtest.h>

#include "graph/interpreter/interpreter.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "runtime/ops/attrs.h"

namespace wick::ir {
namespace {

HostTensor zeros(const Shape& shape) { return HostTensor(DType::kF32, shape); }

// The outputs of a graph are the same after optimize() as before.
void expect_kept(Graph& g, const std::vector<HostTensor>& in) {
  const std::vector<HostTensor> want = run(g, in);
  optimize(g);
  const std::vector<HostTensor> got = run(g, in);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(same_bits(got[i], want[i])) << "output " << i;
}

Value float_type(DType kind, int64_t size) {
  Value t;
  t.dtype = kind;
  if (kind == DType::kSequence) t.element = DType::kF32;
  t.ranked = true;
  t.shape = SymShape{SymDim(size)};
  return t;
}
Value scalar_type(DType dtype) {
  Value t;
  t.dtype = dtype;
  t.ranked = true;
  return t;
}

// A Loop widens the elements of a sequence; an If inside had seen them narrow.
TEST(Stale, ElementsInARegionOfARegion) {
  Graph g;
  const SequenceAttrs f32{static_cast<int64_t>(DType::kF32)};
  const int64_t minus_one = -1, three = 3;
  const bool yes = true;
  ValueId x = g.add_input("x", DType::kF32, {SymDim(5)}),
          y = g.add_input("y", DType::kF32, {SymDim(6)});
  ValueId s = g.emit(OpId::kSequenceConstruct, f32, {x});
  Graph body = g.region("body");
  body.add_input("trip", scalar_type(DType::kI64));
  ValueId go_on = body.add_input("go_on", scalar_type(DType::kBool));
  ValueId carried = body.add_input("s", float_type(DType::kSequence, 5));
  ValueId added = body.add_input("y", float_type(DType::kF32, 6));
  std::vector<Graph> branches;
  for (int k = 0; k < 2; ++k) {
    Graph b = body.region("branch");
    ValueId in = b.add_input("s", float_type(DType::kSequence, 5));
    ValueId last = b.add_constant(HostTensor(DType::kI64, Shape{}, &minus_one, 8));
    b.add_output(
        "o", b.emit(OpId::kShape, ShapeOpAttrs{}, {b.emit(OpId::kSequenceAt, f32, {in, last})}));
    branches.push_back(std::move(b));
  }
  NodeId choice =
      body.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {go_on, carried}, std::move(branches));
  ValueId sizes = body.node(choice).outputs[0];
  ValueId longer = body.emit(OpId::kSequenceInsert, {carried, added});
  body.add_output("go_on", go_on);
  body.add_output("s", longer);
  body.add_output("sizes", sizes);
  std::vector<Graph> regions;
  regions.push_back(std::move(body));
  ValueId trips = g.add_constant(HostTensor(DType::kI64, Shape{}, &three, 8));
  ValueId first = g.add_constant(HostTensor(DType::kBool, Shape{}, &yes, 1));
  NodeId loop = g.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{1}), {trips, first, s, y},
                              std::move(regions));
  g.add_output("length", g.emit(OpId::kSequenceLength, {g.node(loop).outputs[0]}));
  g.add_output("sizes", g.node(loop).outputs[1]);
  const std::vector<HostTensor> in = {zeros({5}), zeros({6})};
  const HostTensor sizes_seen = run(g, in)[1];
  ASSERT_EQ(sizes_seen.numel(), 3);
  EXPECT_EQ(sizes_seen.as<int64_t>()[0], 5);
  EXPECT_EQ(sizes_seen.as<int64_t>()[2], 6);
  expect_kept(g, in);
}

// Two sizes that are too long to write down are not one.
TEST(Stale, LongSizesDiffer) {
  Graph g;
  std::vector<ValueId> parts[2];
  std::vector<HostTensor> in;
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < 40; ++i) {
      const std::string name = (k == 0 ? "x" : "w") + std::to_string(i);
      parts[k].push_back(g.add_input(name, DType::kF32, {SymDim(1), SymDim(1), g.symbol(name)}));
      in.push_back(zeros({1, 1, k == 0 ? 3 : 1}));
    }
  }
  ValueId x = g.emit(OpId::kConcat, AxisAttrs{2}, parts[0]);
  ValueId w = g.emit(OpId::kConcat, AxisAttrs{2}, parts[1]);
  g.add_output("s",
               g.emit(OpId::kShape, ShapeOpAttrs{}, {g.emit(OpId::kConv, ConvAttrs{}, {x, w})}));
  EXPECT_EQ(run(g, in)[0].as<int64_t>()[2], 81);
  expect_kept(g, in);
}

// {0, 2^56} of shape [2] has the bytes of an empty tensor's dims and the rest.
TEST(Stale, ConstantsOfOneKey) {
  Graph g;
  const int64_t two[] = {0, int64_t{1} << 56};
  ValueId a = g.add_constant(HostTensor(DType::kI64, Shape{2}, two, sizeof(two)));
  ValueId b = g.add_constant(HostTensor(DType::kI64, Shape{2, 1, 0}));
  ValueId x = g.add_input("x", DType::kI64, {SymDim(1)});
  g.add_output("a", g.emit(OpId::kAdd, {x, a}));
  g.add_output("b", g.emit(OpId::kAdd, {x, b}));
  const int64_t one = 1;
  expect_kept(g, {HostTensor(DType::kI64, Shape{1}, &one, 8)});
}

}  // namespace
}  // namespace wick::ir
