// Attributes that are texts: in eager mode, graphs, ONNX and .wick.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/compile.h"
#include "wick/custom_op.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;

struct FoldAttrs {
  AttrText<8> mode = "sum";
  int64_t times = 1;
};

}  // namespace

WICK_ATTR_FIELDS(FoldAttrs, WICK_FIELD(FoldAttrs, 1, mode), WICK_FIELD(FoldAttrs, 2, times));

namespace {

// x -> x + x ("sum") or x * x ("square").
Status shape(OpShapes& c) {
  const auto& mode = c.as<FoldAttrs>().mode;
  if (!(mode == "sum") && !(mode == "square"))
    return Status(Code::kInvalidArgument, "mode is \"sum\" or \"square\"");
  c.out[0] = c.in[0];
  return {};
}
Status run(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void* attrs) {
  const bool square = static_cast<const FoldAttrs*>(attrs)->mode == "square";
  const float* x = in[0].as<float>();
  for (int64_t i = 0; i < in[0].numel(); ++i)
    out[0].as<float>()[i] = square ? x[i] * x[i] : x[i] + x[i];
  return {};
}
constexpr KernelRow kRows[] = {kernel_row<float, run>("fold.f32")};
constexpr CustomOp kFold = {.domain = "test",
                            .name = "Fold",
                            .attrs = &AttrFields<FoldAttrs>::kType,
                            .shape = shape,
                            .kernels = kRows};

Tensor fold(const Arg& x, const char* mode) {
  return custom_op("test::Fold", {x}, {{"mode", mode}});
}

class TextAttrTest : public testing::Test {
 protected:
  TextAttrTest() { register_op(kFold); }
};

TEST_F(TextAttrTest, ATextIsItsCharacters) {
  constexpr AttrText<4> text = "mean", cut = "meaning", empty;
  static_assert(text == "mean" && cut == "mean");
  EXPECT_FALSE(text == "mea");
  EXPECT_FALSE(text == "means");
  EXPECT_TRUE(empty == "");
  EXPECT_FALSE(empty == "m");
}

TEST_F(TextAttrTest, EagerModeAndItsErrors) {
  const Tensor x = tensor({3.f, 5.f});
  EXPECT_EQ(custom_op("test::Fold", {x}).to_vector<float>(), (std::vector<float>{6, 10}));
  EXPECT_EQ(fold(x, "square").to_vector<float>(), (std::vector<float>{9, 25}));
  std::string e = error_of([&] { fold(x, "mean"); });
  EXPECT_NE(e.find("[test::Fold] mode is \"sum\" or \"square\""), std::string::npos) << e;
  e = error_of([&] { fold(x, "much too long"); });
  EXPECT_NE(e.find("attribute mode takes at most 8 characters"), std::string::npos) << e;
  e = error_of([&] { custom_op("test::Fold", {x}, {{"mode", 1}}); });
  EXPECT_NE(e.find("attribute mode takes a text"), std::string::npos) << e;
  e = error_of([&] { custom_op("test::Fold", {x}, {{"times", "sum"}}); });
  EXPECT_NE(e.find("attribute times takes a whole number"), std::string::npos) << e;
}

TEST_F(TextAttrTest, GraphsAndFilesKeepIt) {
  struct Net : nn::Module {
    Tensor forward(const Arg& x) override { return fold(fold(x, "square"), "sum"); }
  } net;
  net.eval();
  ir::Graph graph = capture(net, {{"x", ones({2}), {{0, "n"}}, {}}});
  const std::string text = ir::print(graph, true);
  EXPECT_NE(text.find("mode=\"square\""), std::string::npos) << text;
  EXPECT_EQ(ir::print(ir::parse_graph(text), true), text);
  ir::optimize(graph);  // nodes that differ in a text are not one
  const std::vector<uint8_t> onnx = onnx_bytes(graph);
  EXPECT_NE(std::string(onnx.begin(), onnx.end()).find("square"), std::string::npos);
  const CustomOp* ops[] = {&kFold};
  LoadOptions options;
  options.custom_ops = ops;
  const Tensor x = tensor({3.f, 5.f, 7.f});
  for (const ir::Graph& g : {graph, import_onnx_bytes(onnx)}) {
    const std::vector<uint8_t> bytes = compile_program(g);
    auto program = Program::load(bytes, options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    auto session = Session::create(**program);
    ASSERT_TRUE(session.ok()) << session.status().message();
    TensorView in = x.raw(), out;
    const Status s = (*session)->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(std::vector<float>(out.as<float>(), out.as<float>() + 3),
              (std::vector<float>{18, 50, 98}));
  }
}

TEST_F(TextAttrTest, AFileWithATextThatIsTooLongIsRefused) {
  struct Net : nn::Module {
    Tensor forward(const Arg& x) override { return fold(x, "square"); }
  } net;
  net.eval();
  const std::vector<uint8_t> bytes = compile_program(capture(net, {{"x", ones({2}), {}, {}}}));
  struct ShortAttrs {
    AttrText<3> mode;
  };
  static constexpr AttrField kFields[] = {{"mode", 1, AttrKind::kText, 0, 0, 3}};
  static constexpr AttrType kType = {"ShortAttrs", sizeof(ShortAttrs), kFields,
                                     [](void* p) { new (p) ShortAttrs(); }};
  CustomOp narrow = kFold;
  narrow.attrs = &kType;
  const CustomOp* ops[] = {&narrow};
  LoadOptions options;
  options.custom_ops = ops;
  const auto program = Program::load(bytes, options);
  ASSERT_FALSE(program.ok());
  EXPECT_NE(
      std::string(program.status().message()).find("attribute mode has 6 characters, at most 3"),
      std::string::npos)
      << program.status().message();
}

}  // namespace
}  // namespace wick
