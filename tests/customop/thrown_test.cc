// Ops whose shape rule or kernel throws: an error where they are called, and the process goes on.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/error_of.h"
#include "wick/compile.h"
#include "wick/custom_op.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;

struct ThrowsAttrs {
  int64_t what = 0;
};

}  // namespace

WICK_ATTR_FIELDS(ThrowsAttrs, WICK_FIELD(ThrowsAttrs, 1, what));

namespace {

bool g_rule_throws = false;

// what: 1 throws from the rule, 2 throws what is no std::exception, 3 throws from the kernel.
Status shape(OpShapes& c) {
  const int64_t what = c.as<ThrowsAttrs>().what;
  if (what == 1 || g_rule_throws) throw std::runtime_error("a row is empty");
  if (what == 2) throw 7;
  c.out[0] = c.in[0];
  return {};
}
Status run(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void* attrs) {
  if (static_cast<const ThrowsAttrs*>(attrs)->what == 3) throw std::runtime_error("x is odd");
  for (int64_t i = 0; i < in[0].numel(); ++i) out[0].as<float>()[i] = in[0].as<float>()[i];
  return {};
}
constexpr KernelRow kRows[] = {kernel_row<float, run>("throws.f32")};
constexpr CustomOp kThrows = {.domain = "test",
                              .name = "Throws",
                              .attrs = &AttrFields<ThrowsAttrs>::kType,
                              .shape = shape,
                              .kernels = kRows};

class ThrownTest : public testing::Test {
 protected:
  ThrownTest() { register_op(kThrows); }
  ~ThrownTest() override { g_rule_throws = false; }
};

Tensor call_it(int what) { return custom_op("test::Throws", {ones({2})}, {{"what", what}}); }

TEST_F(ThrownTest, AShapeRuleThatThrowsIsAnErrorOfTheCall) {
  std::string e = error_of([&] { call_it(1); });
  EXPECT_NE(e.find("[test::Throws] its shape rule threw: a row is empty (thrown_test.cc:"),
            std::string::npos)
      << e;
  e = error_of([&] { call_it(2); });
  EXPECT_NE(e.find("its shape rule threw what is no std::exception"), std::string::npos) << e;
  EXPECT_EQ(call_it(0).to_vector<float>(), (std::vector<float>{1, 1})) << "it goes on";
}

TEST_F(ThrownTest, AKernelThatThrowsIsAnErrorOfTheCall) {
  std::string e = error_of([&] { call_it(3); });
  EXPECT_NE(e.find("[test::Throws] its kernel threw: x is odd (thrown_test.cc:"), std::string::npos)
      << e;
}

TEST_F(ThrownTest, GraphsAndSessionsReportIt) {
  struct Net : nn::Module {
    Tensor forward(const Arg& x) override { return custom_op("test::Throws", {x}); }
  } net;
  net.eval();
  ir::Graph graph = capture(net, {{"x", ones({2}), {{0, "n"}}, {}}});
  std::vector<uint8_t> bytes = compile_program(graph);
  const CustomOp* ops[] = {&kThrows};
  LoadOptions options;
  options.custom_ops = ops;
  auto program = Program::load(bytes, options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto session = Session::create(**program);
  ASSERT_TRUE(session.ok()) << session.status().message();
  Tensor x = ones({3});
  TensorView in = x.raw(), out;
  g_rule_throws = true;
  Status s = (*session)->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_NE(std::string(s.message()).find("its shape rule threw: a row is empty"),
            std::string::npos)
      << s.message();
  std::string e = error_of([&] { onnx_bytes(graph), import_onnx_bytes(onnx_bytes(graph)); });
  EXPECT_NE(e.find("its shape rule threw: a row is empty"), std::string::npos) << e;
  g_rule_throws = false;
  s = (*session)->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  EXPECT_TRUE(s.ok()) << s.message();
}

}  // namespace
}  // namespace wick
