// A user's op in eager mode, autograd, capture, graph, ONNX, .wick and the runtime; and the message
// of each when the op or its use is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/customop/ops.h"
#include "tests/support/error_of.h"
#include "wick/compile.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;

struct Registered {
  Registered() {
    load_ops(OPS_SWISH);
    test::register_all();
  }
};

class CustomOpTest : public testing::Test {
 protected:
  CustomOpTest() { static Registered once; }
};

Tensor swish(const Arg& x, double beta = 1) {
  return custom_op("example::Swish", {x}, {{"beta", beta}});
}

struct Net : nn::Module {
  nn::Child<nn::Linear> fc{this, "fc", 3, 4};
  Tensor forward(const Arg& x) override {
    Tensor h = custom_op("test::Twice", {swish(fc(x), 1.5)}, {{"pad", 1}});
    return custom_op_outputs("test::MinMax", {h})[1];
  }
};

ir::Graph captured(Net& net) {
  net.eval();
  return capture(net, {{"x", ones({2, 3}), {{0, "batch"}}, {}}});
}

std::vector<const CustomOp*> test_ops() { return registered_ops(); }

std::vector<float> run_program(Span<const uint8_t> bytes, const Tensor& x, size_t count) {
  std::vector<const CustomOp*> ops = test_ops();
  LoadOptions options;
  options.custom_ops = ops;
  auto program = Program::load(bytes, options);
  if (!program.ok()) throw Error(program.status().message());
  auto session = Session::create(**program);
  if (!session.ok()) throw Error(session.status().message());
  TensorView in = x.raw(), out;
  Status s = (*session)->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  if (!s.ok()) throw Error(s.message());
  EXPECT_EQ(static_cast<size_t>(out.numel()), count);
  return {out.as<float>(), out.as<float>() + out.numel()};
}

TEST_F(CustomOpTest, EagerValuesAreTheKernels) {
  Tensor x = tensor({-2., 0., 3.}, DType::kF64);
  std::vector<double> y = swish(x, 2).to_vector<double>();
  for (size_t i = 0; i < 3; ++i) {
    double v = x.to_vector<double>()[i];
    EXPECT_DOUBLE_EQ(y[i], v / (1 + std::exp(-2 * v)));
  }
  // strides a kernel does not take are made dense
  Tensor m = randn({3, 4}, DType::kF64);
  Tensor t = swish(m.t());
  EXPECT_EQ(t.to_vector<double>(), swish(m.t().contiguous()).to_vector<double>());
  EXPECT_EQ(swish(zeros({0, 2})).raw_shape(), (Shape{0, 2}));
}

TEST_F(CustomOpTest, GradcheckOfBothOrders) {
  GradcheckOptions options;
  options.second_order = true;
  auto f = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{swish(in[0], 1.25)}; };
  GradcheckResult r =
      gradcheck(f, {tensor({-2., -.5, .25, 3.}, DType::kF64).requires_grad_()}, options);
  EXPECT_TRUE(r.ok) << r.message;
}

TEST_F(CustomOpTest, ThirdOrderComesOfTheFormulaToo) {
  Tensor x = tensor({.5}, DType::kF64).requires_grad_();
  Tensor y = swish(x);
  double h = 1e-4;
  Tensor d1 = grad({sum(y)}, {x}, {}, true, true)[0];
  Tensor d2 = grad({sum(d1)}, {x}, {}, true, true)[0];
  Tensor d3 = grad({sum(d2)}, {x})[0];
  auto second = [](double at) {
    Tensor p = tensor({at}, DType::kF64).requires_grad_();
    Tensor g = grad({sum(swish(p))}, {p}, {}, true, true)[0];
    return grad({sum(g)}, {p})[0].item();
  };
  EXPECT_NEAR(d3.item(), (second(.5 + h) - second(.5 - h)) / (2 * h), 1e-6);
}

TEST_F(CustomOpTest, OneModelEverywhereWithTheSameBits) {
  manual_seed(3);
  Net net;
  ir::Graph graph = captured(net);
  Tensor x = randn({5, 3});
  std::vector<float> want = net(x).detach().to_vector<float>();
  ASSERT_EQ(want.size(), 44u);
  HostTensor in(DType::kF32, Shape{5, 3}, x.raw().data, x.raw().nbytes());
  auto interpreted = [&](const ir::Graph& g) {
    HostTensor out = ir::run(g, Span<const HostTensor>(&in, 1))[0];
    return std::vector<float>(out.as<float>(), out.as<float>() + out.numel());
  };
  EXPECT_EQ(interpreted(graph), want);
  EXPECT_EQ(run_program(compile_program(graph), x, 44), want) << ".wick";
  ir::Graph text = ir::parse_graph(ir::print(graph, true));
  EXPECT_EQ(interpreted(text), want) << "text form";
  EXPECT_EQ(ir::print(text, true), ir::print(graph, true));
  ir::Graph onnx = import_onnx_bytes(onnx_bytes(graph));
  EXPECT_EQ(interpreted(onnx), want) << "ONNX";
  EXPECT_EQ(run_program(compile_program(onnx), x, 44), want) << "ONNX to .wick";
}

TEST_F(CustomOpTest, ShapeRuleComputesWithSymbols) {
  Net net;
  ir::Graph graph = captured(net);
  const ir::Value& out = graph.value(graph.outputs()[0].value);
  EXPECT_EQ(shape_text(out.shape),
            shape_text({SymDim::symbol("batch", 1, 1 << 20) * SymDim(2) + SymDim(1), SymDim(4)}));
}

TEST_F(CustomOpTest, OnnxNodeHasDomainVersionAndAttributes) {
  Net net;
  std::vector<uint8_t> bytes = onnx_bytes(captured(net));
  std::string text(bytes.begin(), bytes.end());
  for (const char* part : {"example", "Swish", "beta", "test", "Twice", "pad", "MinMax"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST_F(CustomOpTest, FoldedSharedAndRemovedLikeAnyOp) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, SymShape{SymDim(3)});
  ir::ValueId c = g.add_constant(HostTensor::of<float>(Shape{3}, {1, 2, 3}), "c");
  AnyAttrs attrs;
  const OpInfo& info = *op_info("example::Swish");
  info.attrs->init(attrs.get());
  auto node = [&](ir::ValueId v) { return g.node(g.add_node(info.id, attrs, {v})).outputs[0]; };
  ir::ValueId a = node(x), b = node(x), folded = node(c);
  node(a);  // nobody reads it
  attr_float(info.attrs->fields[0], attrs.get()) = 3;
  ir::ValueId other = node(x);  // other attributes: not the same
  ir::ValueId sum =
      g.emit(OpId::kAdd, {g.emit(OpId::kAdd, {a, b}), g.emit(OpId::kAdd, {folded, other})});
  g.add_output("y", sum);
  ir::optimize(g);
  int swishes = 0;
  for (const ir::Node& n : g.nodes()) swishes += n.op == info.id ? 1 : 0;
  EXPECT_EQ(swishes, 2);
}

TEST_F(CustomOpTest, EagerErrorsNameTheOpTheLineAndWhatThereIs) {
  Tensor x = ones({2}), half = ones({2}, DType::kF16);
  std::string e = error_of([&] { swish(half); });
  EXPECT_NE(e.find("[example::Swish] no kernel for (float16) on cpu: there are float32, float64; "
                   "cast with .to(...) (custom_op_test.cc:"),
            std::string::npos)
      << e;
  e = error_of([&] { custom_op("example::Swosh", {x}); });
  EXPECT_NE(
      e.find("there is no op named example::Swosh; registered are: example::Swish, test::Twice"),
      std::string::npos)
      << e;
  e = error_of([&] { custom_op("example::Swish", {x}, {{"gamma", 2}}); });
  EXPECT_NE(e.find("[example::Swish] there is no attribute gamma: it has beta (custom_op_test.cc:"),
            std::string::npos)
      << e;
  e = error_of([&] { custom_op("test::Twice", {x}, {{"pad", 1.5}}); });
  EXPECT_NE(e.find("[test::Twice] attribute pad takes a whole number"), std::string::npos) << e;
  e = error_of([&] { custom_op("test::Twice", {x}, {{"unused", {1, 2, 3, 4}}}); });
  EXPECT_NE(e.find("attribute unused takes at most 3 numbers"), std::string::npos) << e;
  e = error_of([&] { custom_op("test::Twice", {ones({})}); });
  EXPECT_NE(e.find("[test::Twice] x needs a dimension to repeat (custom_op_test.cc:"),
            std::string::npos)
      << e;
  e = error_of([&] { custom_op("test::MinMax", {x, ones({3})}); });
  EXPECT_NE(e.find("[test::MinMax] x and y must have one shape"), std::string::npos) << e;
  e = error_of([&] { custom_op("test::MinMax", {x, x, x}); });
  EXPECT_NE(e.find("[test::MinMax] takes 1 to 2 inputs, got 3"), std::string::npos) << e;
  e = error_of([&] { custom_op("test::Picky", {tensor({1.f, -1.f})}); });
  EXPECT_NE(e.find("[test::Picky] x has a negative number (custom_op_test.cc:"), std::string::npos)
      << e;
  e = error_of([&] { custom_op("test::BadShape", {x}); });
  EXPECT_NE(e.find("[test::BadShape] its shape rule gives output 0 a dimension of -3"),
            std::string::npos)
      << e;
  e = error_of([&] { custom_op("test::MinMax", {Tensor()}); });
  EXPECT_NE(e.find("[test::MinMax] input 0 is required"), std::string::npos) << e;
}

TEST_F(CustomOpTest, BackwardErrorsSayWhatTheOpLacks) {
  Tensor x = ones({2}).requires_grad_();
  Tensor y = custom_op("test::Picky", {x});
  EXPECT_TRUE(y.requires_grad());
  std::string e = error_of([&] { sum(y).backward(); });
  EXPECT_NE(e.find("[test::Picky] the op has no gradient: give CustomOp::gradient a formula, or "
                   "detach() its inputs (custom_op_test.cc:"),
            std::string::npos)
      << e;
  e = error_of([&] { sum(custom_op("test::Forgetful", {x})).backward(); });
  EXPECT_NE(e.find("its gradient: formula reads out(0), which saves_out of the op does not name"),
            std::string::npos)
      << e;
}

TEST_F(CustomOpTest, SavedInputModifiedInPlaceIsFound) {
  Tensor x = ones({2}).requires_grad_();
  Tensor h = x * 2.0;
  Tensor y = swish(h);
  {
    NoGrad guard;
    h.add_(ones({2}));
  }
  std::string e = error_of([&] { sum(y).backward(); });
  EXPECT_NE(e.find("example::Swish"), std::string::npos) << e;
  EXPECT_NE(e.find("add_ at custom_op_test.cc:"), std::string::npos) << e;
}

TEST_F(CustomOpTest, SessionsSayWhatIsMissing) {
  Net net;
  std::vector<uint8_t> bytes = compile_program(captured(net));
  auto program = Program::load(bytes);
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ((*program)->custom_ops().size(), 3u);
  auto session = Session::create(**program);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().code(), Code::kUnsupported);
  std::string text = session.status().message();
  EXPECT_NE(text.find("example::Swish version 1 (1 nodes), test::Twice version 2 (1 nodes), "
                      "test::MinMax version 1 (1 nodes)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("LoadOptions::custom_ops"), std::string::npos) << text;
  EXPECT_NE(text.find("--ops"), std::string::npos) << text;
}

TEST_F(CustomOpTest, OlderLibrariesAndTwoOfOneNameAreRefused) {
  Net net;
  std::vector<uint8_t> bytes = compile_program(captured(net));
  CustomOp older = test::kTwice;
  older.version = 1;
  const CustomOp* one[] = {&older};
  LoadOptions options;
  options.custom_ops = one;
  EXPECT_STREQ(
      Program::load(bytes, options).status().message(),
      "the file was made with version 2 of test::Twice, the op given is version 1: a newer "
      "library is needed");
  const CustomOp* two[] = {&older, &test::kTwice};
  options.custom_ops = two;
  EXPECT_STREQ(Program::load(bytes, options).status().message(),
               "two custom ops are named test::Twice: which one is meant?");
  CustomOp newer = test::kTwice;
  newer.version = 3;
  const CustomOp* other[] = {&newer};
  options.custom_ops = other;
  EXPECT_TRUE(Program::load(bytes, options).ok()) << "a newer op reads older files";
}

TEST_F(CustomOpTest, RegistrationChecksTheOp) {
  CustomOp op = test::kTwice;
  EXPECT_NE(error_of([&] { register_op(op); }).find("another op is registered as test::Twice"),
            std::string::npos);
  EXPECT_EQ(register_op(test::kTwice), register_op(test::kTwice));
  op.name = "Other op";
  EXPECT_NE(error_of([&] { register_op(op); }).find("is named \"Other op\""), std::string::npos);
  op.name = "Other";
  op.domain = "ai.onnx.ml";
  EXPECT_NE(error_of([&] { register_op(op); }).find("not ONNX's own"), std::string::npos);
  op.domain = "test";
  op.kernels = {};
  EXPECT_NE(error_of([&] { register_op(op); }).find("test::Other: it has no kernel"),
            std::string::npos);
  KernelRow row = *test::kTwice.kernels.data;
  row.match = nullptr;
  op.kernels.data = &row;
  op.kernels.size = 1;
  EXPECT_NE(error_of([&] { register_op(op); }).find("kernel 0 needs a name, a match and a run"),
            std::string::npos);
  op.kernels = test::kTwice.kernels;
  AttrField field = {"power", 1, AttrKind::kInt, 0, 0, 0};
  AttrType type = {"Power", 8, Span<const AttrField>(&field, 1), [](void*) {}};
  op.attrs = &type;
  for (const AttrField& odd : {AttrField{"power", 1, AttrKind::kInt, 0, 8, 0},
                               AttrField{"power", 1, AttrKind::kInt, 0, 4, 0},
                               AttrField{"powers", 1, AttrKind::kInts, 0, 0, 1},
                               AttrField{"power", 1, static_cast<AttrKind>(5), 0, 0, 0},
                               AttrField{"mode", 1, AttrKind::kText, 0, 0, 1},
                               AttrField{nullptr, 1, AttrKind::kFloat, 0, 0, 0}}) {
    field = odd;
    EXPECT_NE(error_of([&] { register_op(op); }).find("attribute field 0 has no name, or does not"),
              std::string::npos);
  }
  op.attrs = test::kTwice.attrs;
  op.outputs = 9;
  EXPECT_NE(error_of([&] { register_op(op); }).find("has 9 outputs; 1 to 8 are possible"),
            std::string::npos);
  op.outputs = 1;
  op.max_inputs = 17;
  EXPECT_NE(error_of([&] { register_op(op); }).find("takes 1 to 17 inputs"), std::string::npos);
}

TEST_F(CustomOpTest, OnnxWithAnUnknownDomainIsRefusedWithTheWay) {
  Net net;
  std::vector<uint8_t> bytes = onnx_bytes(captured(net));
  std::string from = "example", to = "exomple";
  for (size_t i = 0; i + from.size() <= bytes.size(); ++i) {
    if (memcmp(&bytes[i], from.data(), from.size()) == 0) memcpy(&bytes[i], to.data(), to.size());
  }
  std::string e = error_of([&] { import_onnx_bytes(bytes); });
  EXPECT_NE(e.find("exomple::Swish"), std::string::npos) << e;
  EXPECT_NE(e.find("no custom op of this domain and name is registered (load_ops, or --ops"),
            std::string::npos)
      << e;
}

TEST_F(CustomOpTest, TraceShowsTheUsersKernel) {
  struct Hook final : TraceHook {
    std::string op, kernel;
    void on_op(const TraceEvent& e) override {
      op = e.op;
      kernel = e.kernel;
    }
  } hook;
  set_trace_hook(&hook);
  swish(ones({2}));
  set_trace_hook(nullptr);
  EXPECT_EQ(hook.op, "example::Swish");
  EXPECT_EQ(hook.kernel, "swish.f32");
}

}  // namespace
}  // namespace wick
