// Which layers `--numerics fast` and `--numerics bf16` change, and that the graph says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "runtime/ops/products.h"

namespace wick::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostTensor floats(const Shape& shape) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = 0.19f * static_cast<float>(i * 7 % 23) - 2;
  return t;
}

ConvAttrs conv(IntList<3> strides = {}, int64_t group = 1) {
  ConvAttrs a;
  a.strides = strides;
  a.pads = {1, 1, 1, 1};
  a.group = group;
  return a;
}

// A network of convolutions with one name each, and the batch and perhaps the map open.
struct Net {
  Graph g;
  ValueId at;
  int64_t channels;

  Net(int64_t c, SymDim height) : channels(c) {
    at = g.add_input("x", DType::kF32, {g.symbol("n"), SymDim(c), height, SymDim(9)});
  }
  void add(const char* name, int64_t out, int64_t kernel = 3, ConvAttrs a = conv()) {
    const ValueId w = g.add_constant(floats({out, channels / a.group, kernel, kernel}));
    at = g.emit(OpId::kConv, a, {at, w}, name);
    channels = out;
  }
  Graph done() {
    g.add_output("y", at);
    return g;
  }
};

std::vector<std::string> changed(const Graph& g) {
  std::vector<std::string> names;
  for (const Node& n : g.nodes()) {
    if (!n.removed() && products_of(n.op, n.attrs.get()) != Products::kExact)
      names.push_back(n.name);
  }
  return names;
}

Graph mixed() {
  Net net(8, SymDim(10));
  net.add("few inputs", 32);
  net.add("alone", 40);
  net.add("fused", 32);
  net.at = net.g.emit(OpId::kRelu, {net.at});
  net.add("1x1", 64, 1);
  net.add("groups", 64, 3, conv({}, 2));
  net.add("by 2", 32, 3, conv({2, 2}));
  net.add("few outputs", 16);
  return net.done();
}

TEST(Products, FastTakesTheConvolutionsThatPay) {
  Graph g = mixed();
  const PassReport r = optimize(g, {.products = Products::kWinograd});
  EXPECT_THAT(changed(g), ElementsAre("alone", "fused"));
  EXPECT_EQ(r.numerics, Numerics::kReassociates);
  EXPECT_EQ(r.changed.back(), "winograd");
  // Nothing asks for it by itself.
  Graph exact = mixed();
  EXPECT_EQ(optimize(exact).numerics, Numerics::kExact);
  EXPECT_THAT(changed(exact), IsEmpty());
}

TEST(Products, SmallMapsStayExactAndOpenOnesDoNot) {
  Net small(32, SymDim(3));
  small.add("small", 32);
  Graph g = small.done();
  optimize(g, {.products = Products::kWinograd});
  EXPECT_THAT(changed(g), IsEmpty());
  Net open(32, SymDim::symbol("height", 1, 100));
  open.add("open", 32);
  Graph h = open.done();
  optimize(h, {.products = Products::kWinograd});
  EXPECT_THAT(changed(h), ElementsAre("open"));
}

TEST(Products, TheTextSaysThemAndPassesKeepThem) {
  Graph g = mixed();
  optimize(g, {.chains = false, .products = Products::kWinograd});
  const std::string text = print(g, true);
  EXPECT_THAT(text, HasSubstr("products=1"));
  Graph again = parse_graph(text);
  EXPECT_EQ(print(again, true), text);
  EXPECT_EQ(optimize(again).numerics, Numerics::kExact);
  EXPECT_THAT(changed(again), ElementsAre("alone", "fused"));
}

// Linear and MatMul become their fused forms, which have the attribute.
TEST(Products, Bf16TakesLayersOfConstantWeights) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kF32, {g.symbol("n"), SymDim(40)});
  ValueId y = g.emit(OpId::kLinear, {x, g.add_constant(floats({64, 40}))}, "linear");
  y = g.emit(OpId::kMatMul, {y, g.add_constant(floats({64, 48}))}, "matmul");
  y = g.emit(OpId::kTanh, {g.emit(OpId::kAdd, {y, g.add_constant(floats({48}))})});
  const ValueId gram = g.emit(OpId::kTranspose, TransposeAttrs{{1, 0}}, {y});
  const ValueId square = g.emit(OpId::kMatMul, {y, gram}, "activations");
  y = g.emit(OpId::kLinear, {y, g.add_constant(floats({10, 48}))}, "few outputs");
  g.add_output("y", y);
  g.add_output("square", square);
  const std::vector<HostTensor> in = {floats({3, 40})};
  const std::vector<HostTensor> want = run(g, in);
  const PassReport r = optimize(g, {.products = Products::kBf16, .samples = {in}});
  EXPECT_THAT(r.undone, IsEmpty());
  EXPECT_EQ(r.numerics, Numerics::kApproximates);
  EXPECT_EQ(r.changed.back(), "bf16_products");
  EXPECT_THAT(changed(g), ElementsAre("linear", "matmul"));
  EXPECT_THAT(print(g, true), HasSubstr("FusedLinear"));
  EXPECT_FALSE(same_bits(run(g, in)[0], want[0]));
  EXPECT_EQ(print(parse_graph(print(g, true)), true), print(g, true));
}

TEST(Products, Bf16TakesConvolutionsOfOneGroup) {
  Graph g = mixed();
  optimize(g, {.products = Products::kBf16});
  EXPECT_THAT(changed(g), ElementsAre("alone", "fused", "1x1", "by 2"));
}

// The check on a sample holds the pass to its class; its bits are others.
TEST(Products, TheResultIsWhatReassociatesAllows) {
  Graph g = mixed();
  const std::vector<HostTensor> x = {floats({2, 8, 10, 9})};
  const std::vector<HostTensor> want = run(g, x);
  const PassReport r = optimize(g, {.products = Products::kWinograd, .samples = {x}});
  EXPECT_THAT(r.undone, IsEmpty());
  EXPECT_EQ(r.unchecked, "");
  EXPECT_FALSE(same_bits(run(g, x)[0], want[0]));
}

}  // namespace
}  // namespace wick::ir
