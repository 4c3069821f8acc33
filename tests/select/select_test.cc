// Which kernels a model needs, and a program that has only those: values between many convolutions
// are in blocks of channels there as everywhere, with the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/interpreter/interpreter.h"
#include "runtime/exec/session.h"
#include "runtime/select/selection.h"
#include "wick/compile.h"

#define WICK_SELECTED_OPS(X)            \
  X(Conv, kSimd | kBlocked | kProducts) \
  X(MaxPool, kSimd | kBlocked)          \
  X(FusedLinear, kSimd)                 \
  X(Add, kAny) X(Mul, kAny) X(Gather, kAny) X(NonZero, kAny) X(Range, kAny) X(Shape, kAny)
#define WICK_SELECTED_ACTIVATIONS(X) X(Sigmoid) X(Silu) X(GeluErf)

#include "runtime/kernels/selected_ops.h"

namespace wick {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

HostTensor floats(const Shape& shape) {
  HostTensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>((i * 2654435761u) % 2001) / 1000 - 1;
  return t;
}

ir::Graph chain(int convolutions, Products products = Products::kExact) {
  ir::Graph g;
  SymShape shape = to_symbolic(Shape{1, 16, 12, 13});
  shape[0] = g.symbol("n");
  ir::ValueId x = g.add_input("x", DType::kF32, shape);
  for (int i = 0; i < convolutions; ++i) {
    ConvAttrs conv;
    conv.strides = conv.dilations = {1, 1};
    conv.pads = {1, 1, 1, 1};
    conv.products = static_cast<int64_t>(products);
    const std::string name = "w" + std::to_string(i);
    x = g.emit(OpId::kConv, conv, {x, g.add_constant(floats({16, 16, 3, 3}), name, true)});
    if (i != 1) continue;
    PoolAttrs pool;
    pool.kernel_shape = {2, 2};
    pool.dilations = {1, 1};
    pool.pads = {0, 0, 0, 0};
    pool.strides = {2, 2};
    x = g.emit(OpId::kMaxPool, pool, {x});
  }
  g.add_output("y", x);
  return g;
}

std::vector<std::string> choices(const std::vector<uint8_t>& bytes) {
  auto program = Program::load(bytes);
  EXPECT_TRUE(program.ok()) << program.status().message();
  auto selection = std::make_unique<OpSelection>();
  const Status s = selection->add(**program);
  EXPECT_TRUE(s.ok()) << s.message();
  std::vector<std::string> list;
  selection->each([&](const char* text) { list.emplace_back(text); });
  return list;
}

std::vector<std::string> choices(int convolutions, Products products = Products::kExact) {
  return choices(program_bytes(chain(convolutions, products)));
}

class Counter final : public TraceHook {
 public:
  void on_op(const TraceEvent& event) override { blocked += event.out[0].block != 0 ? 1 : 0; }
  bool takes_blocks() const override { return true; }
  int blocked = 0;
};

TEST(Select, ManyConvolutionsTakeTheKernelsOfBlocks) {
  EXPECT_THAT(choices(4),
              AllOf(Contains("Conv:simd"), Contains("Conv:blocked"), Contains("MaxPool:blocked")));
  EXPECT_THAT(choices(3), AllOf(Contains("Conv:simd"), Not(Contains("Conv:blocked"))));
}

TEST(Select, ProductsOfAnotherOrderTakeTheirKernels) {
  EXPECT_THAT(choices(3), Not(Contains("Conv:products")));
  EXPECT_THAT(choices(3, Products::kWinograd),
              AllOf(Contains("Conv:products"), Not(Contains("Conv:simd"))));
  EXPECT_THAT(choices(4, Products::kBf16),
              AllOf(Contains("Conv:products"), Contains("Conv:blocked")));
}

ir::Graph ending_in(std::initializer_list<Activation> activations) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, {3, 8});
  for (const Activation act : activations) {
    EpilogueAttrs end;
    end.activation = static_cast<int64_t>(act);
    end.alpha = 0.25, end.beta = 0.5;
    const std::string name = "w" + std::to_string(static_cast<int>(act));
    x = g.emit(OpId::kFusedLinear, end, {x, g.add_constant(floats({8, 8}), name, true)});
  }
  g.add_output("y", x);
  return g;
}

TEST(Select, ActivationsBehindProductsAreThoseOfTheModel) {
  EXPECT_THAT(choices(program_bytes(ending_in({Activation::kRelu}))), Contains("activations=none"));
  EXPECT_THAT(choices(program_bytes(ending_in({Activation::kTimesSigmoid, Activation::kGeluErf}))),
              Contains("activations=Sigmoid,GeluErf"));
  OpSelection named;
  EXPECT_TRUE(named.add("FusedLinear:simd"));
  std::vector<std::string> list;
  named.each([&](const char* text) { list.emplace_back(text); });
  EXPECT_THAT(list,
              Contains("activations=Sigmoid,Tanh,Silu,HardSwish,GeluErf,GeluTanh,HardSigmoid"));
  EXPECT_FALSE(named.add("activations=Swish"));
  EXPECT_FALSE(named.add("activations="));
  EXPECT_TRUE(named.add("activations=Silu"));
  EXPECT_TRUE(named.add("activations=none"));
  list.clear();
  named.each([&](const char* text) { list.emplace_back(text); });
  EXPECT_THAT(list, Contains("activations=Silu"));
}

// The size of a state that no input has is known to runs only: what such an entry point needs was
// not seen, and is not what another one needs of the same op.
TEST(Select, StatesOfFreeSizesTakeAllKernels) {
  std::vector<ir::Entry> entries = {{"f", {}, {}}, {"g", {}, {{"s", "s", ""}}}};
  PoolAttrs pool;
  pool.kernel_shape = pool.dilations = pool.strides = {1, 1};
  pool.pads = {0, 0, 0, 0};
  SymShape shape = to_symbolic(Shape{1, 1, 4, 4});
  ir::Graph &f = entries[0].graph, &g = entries[1].graph;
  f.add_output("y", f.emit(OpId::kMaxPool, pool, {f.add_input("x", DType::kF32, shape)}));
  shape[0] = g.symbol("n");
  g.add_output("y", g.emit(OpId::kMaxPool, pool, {g.add_input("s", DType::kF64, shape)}));
  EXPECT_THAT(choices(program_bytes(std::vector{entries[0]})), Contains("MaxPool:simd"));
  EXPECT_THAT(choices(program_bytes(entries)), Contains("MaxPool"));
}

// An op on floats, and the same op on sizes, which is evaluated where memory is planned.
TEST(Select, ArithmeticOnSizesTakesItsOwnKernels) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n")});
  const auto number = [&](int64_t n, const char* name) {
    HostTensor t(DType::kI64, {});
    t.as<int64_t>()[0] = n;
    return g.add_constant(t, name);
  };
  const ir::ValueId size = g.emit(OpId::kGather, AxisAttrs{},
                                  {g.emit(OpId::kShape, ShapeOpAttrs{}, {x}), number(0, "zero")});
  const ir::ValueId end = g.emit(OpId::kAdd, {size, size});
  g.add_output("places", g.emit(OpId::kRange, {number(0, "first"), end, number(1, "step")}));
  g.add_output("y", g.emit(OpId::kAdd, {x, x}));
  EXPECT_THAT(choices(program_bytes(g)), Contains("Add"));
}

// The same where only values decide the sizes, so that the node is planned for in a run.
TEST(Select, NodesBehindSizesOfDataTakeAllKernels) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n")});
  g.add_output("y", g.emit(OpId::kMul, {x, x}));
  const ir::ValueId places = g.emit(OpId::kNonZero, {x});
  g.add_output("squares", g.emit(OpId::kMul, {places, places}));
  EXPECT_THAT(choices(program_bytes(g)), Contains("Mul"));
}

void expect_bits(const ir::Graph& g, const HostTensor& x, bool blocks) {
  const auto bytes = program_bytes(g);
  auto program = Program::load(bytes);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const auto run = [&](Span<const KernelSet* const> kernels, Counter* counter) {
    SessionOptions options;
    options.threads = 1;
    options.kernels = kernels;
    options.trace = counter;
    auto session = Session::create(**program, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    const TensorView in = x.view();
    TensorView out;
    const Status s = (*session)->run({&in, 1}, {&out, 1});
    EXPECT_TRUE(s.ok()) << s.message();
    return HostTensor(out.dtype, out.shape, out.data, out.nbytes());
  };
  static const KernelSet* const kPlain[] = {&kReferenceKernels};
  Counter selected, plain;
  const HostTensor got = run({}, &selected), want = run(kPlain, &plain);
  EXPECT_EQ(plain.blocked, 0);
  EXPECT_GE(selected.blocked, blocks && blocked_kernels().lanes != 0 ? 4 : 0);
  ASSERT_EQ(got.nbytes(), want.nbytes());
  EXPECT_EQ(memcmp(got.data(), want.data(), got.nbytes()), 0);
}

TEST(Select, AProgramOfThemRunsOnBlocks) {
  for (const Products products : {Products::kExact, Products::kWinograd, Products::kBf16}) {
    SCOPED_TRACE(static_cast<int>(products));
    expect_bits(chain(5, products), floats({2, 16, 12, 13}), true);
  }
}

TEST(Select, AnActivationThatIsNotSelectedIsRefused) {
  expect_bits(ending_in({Activation::kClip, Activation::kSilu}), floats({3, 8}), false);
  const auto bytes = program_bytes(ending_in({Activation::kSilu, Activation::kTanh}));
  auto program = Program::load(bytes);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const auto session = Session::create(**program);
  EXPECT_EQ(session.status().code(), Code::kUnsupported);
  EXPECT_THAT(session.status().message(), HasSubstr("not selected"));
}

}  // namespace
}  // namespace wick
