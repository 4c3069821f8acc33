// Libraries of ops: loading, refusing, the C interface, the command line, the size of the example.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/error_of.h"
#include "tests/support/where.h"
#include "wick/compile.h"
#include "wick/runtime.h"
#include "wick/trainer.h"
#include "wick/wick.h"

namespace wick {
namespace {

using test::error_of;
namespace fs = std::filesystem;

std::string folder() {
  fs::path p = fs::path(build_dir()) / "tests/customop/scratch";
  fs::create_directories(p);
  return p.string();
}

struct Swish : nn::Module {
  Tensor forward(const Arg& x) override {
    return custom_op("example::Swish", {x}, {{"beta", 0.5}});
  }
};

// y = swish(x) with beta 1/2 as .wick and .onnx, x = [-1, 0, 2].
struct Files {
  std::string wick = folder() + "/swish.wick", onnx = folder() + "/swish.onnx";
  std::array<float, 3> x = {-1, 0, 2}, y;
  Files() {
    load_ops(OPS_SWISH);
    Swish net;
    net.eval();
    Tensor in = tensor({-1.f, 0.f, 2.f});
    ir::Graph g = capture(net, {{"x", in, {{0, "n"}}, {}}});
    export_wick(g, wick);
    export_onnx(g, onnx);
    std::vector<float> out = net(in).to_vector<float>();
    std::copy(out.begin(), out.end(), y.begin());
    data::write_npy(folder() + "/x.npy", in.raw());
  }
};
const Files& files() {
  static const Files made;
  return made;
}

TEST(OpLibraryTest, ExampleHasAtMostThirtyLines) {
  std::ifstream in(source_dir("/examples/custom_op/swish.cc"));
  ASSERT_TRUE(in);
  int lines = 0;
  for (std::string line; std::getline(in, line);) {
    size_t at = line.find_first_not_of(' ');
    if (at != std::string::npos && line.compare(at, 2, "//") != 0) ++lines;
  }
  EXPECT_GT(lines, 10);
  EXPECT_LE(lines, 30) << "kernel, gradient and ONNX name";
}

TEST(OpLibraryTest, InlineExampleHasAtMostThirtyLines) {
  std::ifstream in(source_dir("/examples/inline_op/main.cc"));
  ASSERT_TRUE(in);
  int lines = -1;  // before the source begins
  for (std::string line; std::getline(in, line);) {
    if (lines == -1 && line.ends_with("R\"(")) {
      lines = 0;
    } else if (lines >= 0 && line.starts_with(")\"")) {
      break;
    } else if (lines >= 0 && line.find_first_not_of(' ') != std::string::npos) {
      ++lines;
    }
  }
  EXPECT_GT(lines, 10);
  EXPECT_LE(lines, 30) << "shape rule, kernel and gradient";
}

// `wick ops new` writes the file that this library is built of.
TEST(OpLibraryTest, TheSkeletonIsAnOp) {
  load_ops(OPS_SKELETON);
  const Tensor x = tensor({3.f, 4.f, 0.f, -5.f}).reshape({2, 2});
  const std::vector<float> y = custom_op("my::RowNorm", {x}, {{"eps", 0}}).to_vector<float>();
  EXPECT_EQ(y, (std::vector<float>{0.6f, 0.8f, 0, -1}));
}

TEST(OpLibraryTest, TheSameFileTwiceIsTheSameOps) {
  EXPECT_EQ(load_ops(OPS_SWISH), load_ops(OPS_SWISH));
}

TEST(OpLibraryTest, EveryWrongLibraryIsRefusedWithItsReason) {
  load_ops(OPS_SWISH);
  struct Case {
    std::string path;
    const char* why;
  };
  for (const Case& c : {
           Case{OPS_OLD_ABI, "was built for version 3 of the custom-op interface, this Wick has 4"},
           Case{OPS_OTHER_LAYOUT,
                "build it again with this Wick's <wick/custom_op.h> and the same"},
           Case{OPS_NO_ENTRY, "is no library of Wick ops: it has no wick_op_library()"},
           Case{OPS_BAD_OP, "a custom op of test is named \"not a name\""},
           Case{OPS_SAME_NAME, "another op is registered as example::Swish already"},
           Case{"./there/is/none.so", "there is no such library"},
           Case{source_dir("/README.md"), "cannot load the op library"},
       }) {
    std::string e = error_of([&] { load_ops(c.path); });
    EXPECT_NE(e.find(c.why), std::string::npos) << c.path << ": " << e;
    EXPECT_NE(e.find("library_test.cc:"), std::string::npos) << e;
  }
}

TEST(OpLibraryTest, TheCInterfaceTakesALibrary) {
  wick_ops* ops = nullptr;
  ASSERT_EQ(wick_ops_load(OPS_SWISH, &ops), WICK_OK) << wick_last_error();
  EXPECT_EQ(wick_ops_count(ops), 1u);
  EXPECT_STREQ(wick_ops_name(ops, 0), "example::Swish");
  EXPECT_EQ(wick_ops_name(ops, 1), nullptr);
  wick_load_options options = WICK_INIT(wick_load_options);
  options.ops = &ops;
  options.ops_count = 1;
  wick_program* program = nullptr;
  wick_session* session = nullptr;
  ASSERT_EQ(wick_program_load(files().wick.c_str(), &options, &program), WICK_OK)
      << wick_last_error();
  ASSERT_EQ(wick_session_create(program, nullptr, &session), WICK_OK) << wick_last_error();
  float x[3] = {-1, 0, 2}, y[3] = {};
  wick_tensor in = {x, WICK_FLOAT32, 1, {3}}, out = {y, WICK_FLOAT32, 1, {3}};
  ASSERT_EQ(wick_session_run(session, &in, 1, &out, 1, nullptr), WICK_OK) << wick_last_error();
  EXPECT_EQ(memcmp(y, files().y.data(), sizeof(y)), 0);
  wick_session_free(session);
  wick_program_free(program);

  ASSERT_EQ(wick_program_load(files().wick.c_str(), nullptr, &program), WICK_OK);
  EXPECT_EQ(wick_session_create(program, nullptr, &session), WICK_UNSUPPORTED);
  EXPECT_NE(strstr(wick_last_error(), "example::Swish"), nullptr) << wick_last_error();
  wick_program_free(program);
  options.ops = nullptr;
  EXPECT_EQ(wick_program_load(files().wick.c_str(), &options, &program), WICK_INVALID_ARGUMENT);
  EXPECT_EQ(wick_ops_load("./no.so", &ops), WICK_NOT_FOUND);
  EXPECT_EQ(wick_ops_load(OPS_OLD_ABI, &ops), WICK_UNSUPPORTED);
  EXPECT_EQ(wick_ops_load(nullptr, &ops), WICK_INVALID_ARGUMENT);
  wick_ops_free(ops);
  wick_ops_free(nullptr);
}

#ifdef WICK_COMMAND
struct Ran {
  int code;
  std::string text;  // stdout and stderr
};
// Each argument is one word: a folder for scratch files may have a space in its name.
Ran wick_command(const std::vector<std::string>& arguments) {
  std::string command = "'" WICK_COMMAND "'";
  for (const std::string& a : arguments) command += " '" + a + "'";
  command += " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[512];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) text += buffer;
  int status = pclose(pipe);
  return {WEXITSTATUS(status), text};
}

TEST(OpLibraryTest, CommandsTakeOps) {
  const std::string x = folder() + "/x.npy", again = folder() + "/again.wick";
  Ran r = wick_command({"run", files().wick, "--input", x, "--ops", OPS_SWISH});
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_NE(r.text.find("-0.377541"), std::string::npos) << r.text;  // -1 / (1 + e^0.5)
  r = wick_command({"run", files().onnx, "--input", x, "--ops", OPS_SWISH});
  EXPECT_EQ(r.code, 0) << r.text;
  r = wick_command({"compare", files().wick, files().onnx, "--ops", OPS_SWISH});
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_NE(r.text.find("bits equal"), std::string::npos) << r.text;
  r = wick_command({"convert", files().onnx, "-o", again, "--ops", OPS_SWISH});
  EXPECT_EQ(r.code, 0) << r.text;
  r = wick_command({"run", again, "--input", x, "--ops", OPS_SWISH});
  EXPECT_EQ(r.code, 0) << r.text;
  r = wick_command({"inspect", again});
  EXPECT_EQ(r.code, 0) << r.text;
  EXPECT_NE(r.text.find("custom  example::Swish version 1, not given: --ops LIBRARY.so"),
            std::string::npos)
      << r.text;
  r = wick_command({"run", files().wick, "--input", x});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.text.find("needs custom ops that were not given: example::Swish"), std::string::npos)
      << r.text;
  r = wick_command({"convert", files().onnx, "-o", folder() + "/no.wick"});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.text.find("--ops LIBRARY.so"), std::string::npos) << r.text;
  r = wick_command({"run", files().wick, "--input", x, "--ops", OPS_OLD_ABI});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.text.find("version 3 of the custom-op interface"), std::string::npos) << r.text;
}
#endif

}  // namespace
}  // namespace wick
