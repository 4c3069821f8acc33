// Ops that are compiled from source while the program runs: the cache, what the compiler says, and
// one such op in autograd, a compiled graph, ONNX, .wick and a quantized model.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/error_of.h"
#include "tests/support/where.h"
#include "wick/compile.h"
#include "wick/quantize.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
namespace fs = std::filesystem;

fs::path folder(const std::string& name) {
  fs::path p = fs::path(build_dir()) / "tests/customop/scratch" / name;
  fs::remove_all(p);
  fs::create_directories(p);
  return p;
}

InlineOptions options(const fs::path& cache) {
  return {.compiler = WICK_CXX, .flags = {"-O0"}, .include = source_dir("/"), .cache = cache};
}

// softplus(k x) / k: its gradient calls sigmoid, so that two orders differ.
constexpr char kSoft[] = R"(
#include <wick/custom_op.h>
#include <cmath>
struct SoftAttrs { double k = 1; };
namespace wick { WICK_ATTR_FIELDS(SoftAttrs, WICK_FIELD(SoftAttrs, 1, k)); }
template <class T>
wick::Status soft(const wick::KernelCtx&, wick::Span<const wick::TensorView> in,
                  wick::Span<wick::TensorView> out, const void* attrs) {
  const T k = static_cast<T>(static_cast<const SoftAttrs*>(attrs)->k);
  for (int64_t i = 0; i < in[0].numel(); ++i)
    out[0].as<T>()[i] = std::log1p(std::exp(k * in[0].as<T>()[i])) / k;
  return {};
}
constexpr wick::KernelRow kRows[] = {wick::kernel_row<float, soft<float>>("soft.f32"),
                                     wick::kernel_row<double, soft<double>>("soft.f64")};
constexpr wick::CustomOp kSoft = {.domain = "inline", .name = "Soft",
    .attrs = &wick::AttrFields<SoftAttrs>::kType, .kernels = kRows,
    .gradient = [](wick::Gradient& d) {
      d.set(0, d.g() * wick::sigmoid(d.in(0) * d.as<SoftAttrs>().k));
    }};
WICK_EXPORT_OPS(&kSoft)
)";

Tensor soft(const Arg& x) { return custom_op("inline::Soft", {x}, {{"k", 2.0}}); }

class InlineTest : public testing::Test {
 protected:
  InlineTest() {
    static const std::vector<const CustomOp*> once =
        load_inline(kSoft, options(folder("inline_cache")));
  }
};

TEST_F(InlineTest, ALibraryIsCompiledOnce) {
  const fs::path cache = folder("inline_once");
  const BuiltOps first = build_inline(kSoft, options(cache));
  EXPECT_TRUE(first.compiled);
  EXPECT_GT(first.seconds, 0);
  const BuiltOps again = build_inline(kSoft, options(cache));
  EXPECT_FALSE(again.compiled);
  EXPECT_EQ(again.library, first.library);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(cache / "ops")) files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 3u) << "the library, its key and its headers: nothing of the compilation";
  InlineOptions other = options(cache);
  other.flags.push_back("-DOTHER=1");
  EXPECT_TRUE(build_inline(kSoft, other).compiled) << "other flags";
  // A file that is not what the key says, as an equal hash of another source would be.
  std::ofstream(fs::path(first.library).replace_extension(".key"), std::ios::app) << "x";
  EXPECT_TRUE(build_inline(kSoft, options(cache)).compiled);
}

TEST_F(InlineTest, AHeaderThatChangedIsReadAgain) {
  const fs::path at = folder("inline header");  // a blank in its name
  std::ofstream(at / "own.h") << "constexpr int kOwn = 1;\n";
  std::ofstream(at / "op.cc") << "#include \"own.h\"\nextern \"C\" int own() { return kOwn; }\n";
  const std::string path = at / "op.cc";
  EXPECT_TRUE(build_source(path, options(at)).compiled);
  EXPECT_FALSE(build_source(path, options(at)).compiled);
  std::ofstream(at / "own.h") << "constexpr int kOwn = 20;\n";
  EXPECT_TRUE(build_source(path, options(at)).compiled);
}

// Who is stopped while a library is replaced leaves the new list beside the old library, or a list
// that ends early.
TEST_F(InlineTest, ALibraryOfAnotherListIsNotTaken) {
  const fs::path at = folder("inline_stopped");
  std::ofstream(at / "own.h") << "constexpr int kOwn = 1;\n";
  std::ofstream(at / "op.cc") << "#include \"own.h\"\nextern \"C\" int own() { return kOwn; }\n";
  const std::string path = at / "op.cc";
  const std::string library = build_source(path, options(at)).library;
  const fs::path list = fs::path(library).replace_extension(".headers");
  fs::copy_file(library, at / "old.so");
  std::ofstream(at / "own.h") << "constexpr int kOwn = 20;\n";
  EXPECT_TRUE(build_source(path, options(at)).compiled);
  fs::rename(at / "old.so", library);
  EXPECT_TRUE(build_source(path, options(at)).compiled) << "the library is the old one";
  EXPECT_FALSE(build_source(path, options(at)).compiled);
  std::string lines;
  std::getline(std::ifstream(list), lines);
  std::ofstream(list) << lines << "\n";
  EXPECT_TRUE(build_source(path, options(at)).compiled) << "the list ended early";
}

// -march=native may come with the compiler.
TEST_F(InlineTest, ALibraryForThisProcessorSaysSo) {
  InlineOptions o = options(folder("inline_native"));
  o.compiler += " -march=native";
  const std::string library = build_inline(InlineSource("int x;"), o).library;
  std::ifstream file(fs::path(library).replace_extension(".key"));
  const std::string key((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::ifstream cpu("/proc/cpuinfo");
  const std::string all((std::istreambuf_iterator<char>(cpu)), std::istreambuf_iterator<char>());
  const bool says =
      key.find("\nflags") != std::string::npos || key.find("\nFeatures") != std::string::npos;
  const bool known =
      all.find("\nflags") != std::string::npos || all.find("\nFeatures") != std::string::npos;
  EXPECT_EQ(says, known) << key;
}

TEST_F(InlineTest, ErrorsHaveTheUsersFileAndLine) {
  const InlineOptions o = options(folder("inline_errors"));
  const unsigned line = std::source_location::current().line() + 2;
  const std::string e = error_of([&] {
    load_inline(R"(
#include <wick/custom_op.h>
int broken() { return no_such_name; }
)",
                o);
  });
  EXPECT_NE(e.find("inline_test.cc:" + std::to_string(line + 2) + ":"), std::string::npos) << e;
  EXPECT_NE(e.find("no_such_name"), std::string::npos) << e;
  EXPECT_NE(e.find("[load_inline] the compiler refuses the source:"), std::string::npos) << e;
  const std::string named = error_of(
      [&] { load_inline(InlineSource("int x;\nint broken = no_such_name;\n", "mine.cc"), o); });
  EXPECT_NE(named.find("mine.cc:2:"), std::string::npos) << named;
  for (const auto& left : fs::directory_iterator(fs::path(o.cache) / "ops"))
    ADD_FAILURE() << left.path();
}

TEST_F(InlineTest, WhatIsMissingIsOneClearError) {
  InlineOptions o = options(folder("inline_missing"));
  o.compiler = "no-such-compiler -m64";
  std::string e = error_of([&] { load_inline("int x;", o); });
  EXPECT_NE(
      e.find("[load_inline] there is no compiler no-such-compiler: install g++ or clang++, or "
             "name one by CXX or InlineOptions::compiler (inline_test.cc:"),
      std::string::npos)
      << e;
  o = options(folder("inline_missing"));
  o.include = "/none/such";
  e = error_of([&] { load_inline("int x;", o); });
  EXPECT_NE(e.find("/none/such has no wick/custom_op.h"), std::string::npos) << e;
  o = options(folder("inline_missing"));
  e = error_of([&] { load_inline("int x;", o); });
  EXPECT_NE(e.find("which WICK_EXPORT_OPS(...) defines"), std::string::npos) << e;
  e = error_of([&] { load_source("none/such.cc", o); });
  EXPECT_NE(e.find("[load_source] cannot read none/such.cc: check the path"), std::string::npos)
      << e;
}

TEST_F(InlineTest, AFolderThatOthersMayWriteIsRefused) {
  const fs::path cache = folder("inline_open");
  fs::create_directories(cache / "ops");
  fs::permissions(cache / "ops", fs::perms::all);
  const std::string e = error_of([&] { load_inline("int x;", options(cache)); });
  EXPECT_NE(e.find("can be written by others, whose code would run here"), std::string::npos) << e;
  // Neither may be the folder above, whose writers could put another one in its place.
  const fs::path above = folder("inline_open_above");
  fs::permissions(above, fs::perms::all);
  const std::string put = error_of([&] { load_inline("int x;", options(above)); });
  EXPECT_NE(put.find("can be written by others"), std::string::npos) << put;
}

// A training step with the op, eager and through compile_step().
TEST_F(InlineTest, IsRepeatedInACompiledStep) {
  const auto train = [](bool compiled) {
    manual_seed(5);
    nn::Linear first(6, 16), second(16, 3);
    std::vector<Tensor> parameters = first.parameters();
    for (const Tensor& p : second.parameters()) parameters.push_back(p);
    optim::Adam adam(parameters, {.lr = 0.05});
    const auto function = [&](const Tensor& x, const Tensor& y) {
      adam.zero_grad();
      Tensor loss = mse_loss(second(soft(first(x))), y);
      loss.backward();
      adam.step();
      return loss;
    };
    auto step = compile_step(function);
    std::vector<float> seen;
    for (int i = 0; i < 24; ++i) {
      const Tensor x = randn({8, 6}), y = narrow(x, 1, 0, 3).contiguous();
      seen.push_back((compiled ? step(x, y) : function(x, y)).item<float>());
    }
    if (compiled) {
      EXPECT_TRUE(step.report().breaks.empty()) << step.report().text();
      EXPECT_GE(step.report().repeated, 4) << step.report().text();
    }
    for (const Tensor& p : parameters) {
      for (const float v : p.detach().to_vector<float>()) seen.push_back(v);
    }
    return seen;
  };
  const std::vector<float> eager = train(false), compiled = train(true);
  EXPECT_EQ(eager, compiled);
  EXPECT_LT(eager[23], eager[0]);
}

TEST_F(InlineTest, DifferentiatesToTheSecondOrder) {
  GradcheckOptions twice;
  twice.second_order = true;
  const auto f = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{soft(in[0])}; };
  const GradcheckResult r =
      gradcheck(f, {tensor({-2., -.5, .25, 3.}, DType::kF64).requires_grad_()}, twice);
  EXPECT_TRUE(r.ok) << r.message;
}

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 8, 16};
  nn::Child<nn::Linear> fc2{this, "fc2", 16, 4};
  Tensor forward(const Arg& x) override { return fc2(soft(fc1(x))); }
};

std::vector<float> run_program(Span<const uint8_t> bytes, const Tensor& x) {
  const std::vector<const CustomOp*> ops = registered_ops();
  LoadOptions load;
  load.custom_ops = ops;
  auto program = Program::load(bytes, load);
  if (!program.ok()) throw Error(program.status().message());
  auto session = Session::create(**program);
  if (!session.ok()) throw Error(session.status().message());
  TensorView in = x.raw(), out;
  const Status s = (*session)->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  if (!s.ok()) throw Error(s.message());
  return {out.as<float>(), out.as<float>() + out.numel()};
}

TEST_F(InlineTest, IsExportedWithTheBitsOfEagerMode) {
  manual_seed(5);
  Net net;
  net.eval();
  const Tensor x = randn({6, 8});
  const std::vector<float> want = net(x).detach().to_vector<float>();
  ir::Graph graph = capture(net, {{"x", ones({2, 8}), {{0, "batch"}}, {}}});
  EXPECT_EQ(run_program(compile_program(graph), x), want) << ".wick";
  const std::vector<uint8_t> onnx = onnx_bytes(graph);
  EXPECT_NE(std::string(onnx.begin(), onnx.end()).find("inline"), std::string::npos);
  ir::Graph back = import_onnx_bytes(onnx);
  ir::optimize(back);
  EXPECT_EQ(run_program(compile_program(back), x), want) << "ONNX, optimized, .wick";
}

TEST_F(InlineTest, StaysFloatInAQuantizedModel) {
  manual_seed(6);
  Net net;
  net.eval();
  const Tensor x = randn({32, 8});
  const auto quantized = quantize::quantize_model(net, {x});
  const std::vector<float> y = quantized->operator()(x).detach().to_vector<float>();
  const std::vector<float> want = net(x).detach().to_vector<float>();
  double worst = 0, largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    worst = std::max<double>(worst, std::abs(y[i] - want[i]));
    largest = std::max<double>(largest, std::abs(want[i]));
  }
  EXPECT_GT(worst, 0) << "the linear layers are integers";
  EXPECT_LT(worst, 0.1 * largest);
  ASSERT_EQ(quantized->stayed().size(), 1u);
  EXPECT_EQ(quantized->stayed()[0].op, "inline::Soft");
  EXPECT_EQ(quantized->stayed()[0].reason, "a user's own op");
  EXPECT_EQ(run_program(compile_program(quantized->to_graph()), x), y) << ".wick of integers";
}

// Asserts times under WICK_TEST_FULL alone: 1.5 s and 0.4 ms on two busy cores.
// ms.
TEST_F(InlineTest, FromSourceToAnswerInSeconds) {
  InlineOptions o = options(folder("inline_timed"));
  o.flags = {};
  const Timer timer;
  const BuiltOps built = build_inline(kSoft, o);
  EXPECT_TRUE(built.compiled);
  const double first = timer.seconds();
  const BuiltOps again = build_inline(kSoft, o);
  const double second = timer.seconds() - first;
  EXPECT_FALSE(again.compiled);
  std::printf("compiled in %.2f s, found in %.5f s\n", first, second);
  RecordProperty("compile_ms", static_cast<int>(first * 1e3));
  if (getenv("WICK_TEST_FULL") == nullptr) return;
  EXPECT_LT(first, 10);
  EXPECT_LT(second, first / 20);
}

}  // namespace
}  // namespace wick
