// wick build: the folder that it writes is C that compilers accept, and its program gives this
// machine's bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "tools/lib/process.h"
#include "trainer/data/npy.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string output_of(const std::string& command, int* code) {
  const tool::Finished done = tool::shell(command + " 2>&1");
  *code = done.code;
  return done.out;
}

// The smoke test's output: compiled as C with every warning, linked with this build's runtime and
// all of its kernels.
std::string compiled_and_run(const std::string& folder, const std::string& name) {
  const std::string sources = WICK_BUILD_SOURCES;
  std::string objects;
  int code = 0;
  for (const std::string& file : {name + ".c", std::string("smoke.c"), name + "_wick.S"}) {
    if (!fs::exists(folder + "/" + file)) continue;
    objects += " " + file + ".o";
    const std::string said =
        output_of("cd " + shell_word(folder) + " && cc -std=c11 -O1 -Wall -Wextra -Werror -c " +
                      file + " -o " + file + ".o -I" + shell_word(sources + "/runtime/include"),
                  &code);
    if (code != 0) return "does not compile: " + said;
  }
  const std::string linked = output_of(
      "cd " + shell_word(folder) + " && c++" + objects + " -o smoke " WICK_BUILD_LIBRARIES " -lm",
      &code);
  if (code != 0) return "does not link: " + linked;
  const std::string said = output_of("cd " + shell_word(folder) + " && ./smoke", &code);
  return code == 0 ? said : said + "exit code " + std::to_string(code);
}

std::string built(const std::string& model, const std::vector<std::string>& more = {},
                  const std::string& name = "") {
  const std::string folder = scratch() + "/a folder/" + fs::path(model).stem().string();
  std::vector<std::string> words = {"build", model, "-o", folder, "--no-build", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran r = wick(words);
  EXPECT_EQ(r.code, 0) << r.err;
  if (r.code != 0) return r.err;
  const nlohmann::json doc = parse_json(r.out);
  if (!name.empty()) {
    EXPECT_EQ(doc.at("name"), name);
  }
  return compiled_and_run(folder, doc.at("name"));
}

TEST(Build, ATrainedModelAnswersWithItsBits) {
  EXPECT_THAT(built(trained_run().wick),
              AllOf(HasSubstr("equal logits: 40 bytes"), HasSubstr("memory "), HasSubstr("ok\n")));
  EXPECT_THAT(built(trained_run().onnx, {"--dim", "batch=3", "--name", "a net"}, "a_net"),
              HasSubstr("equal logits: 120 bytes"));
  EXPECT_THAT(built(trained_run().wick, {"--weights", "beside"}), HasSubstr("ok\n"));
}

// Another answer is said, element by element, and is no success.
TEST(Build, TheSmokeTestCanFail) {
  const std::string model = scratch() + "/fails.onnx", folder = scratch() + "/fails";
  export_onnx(small_graph(), model);
  ASSERT_EQ(wick({"build", model, "-o", folder, "--no-build"}).code, 0);
  std::string text = read_file(folder + "/smoke.c");
  const size_t at = text.find("want_0[8] = {\n    ");
  ASSERT_NE(at, std::string::npos);
  text[at + 18] = text[at + 18] == '1' ? '2' : '1';
  write_file(folder + "/smoke.c", text);
  EXPECT_THAT(
      compiled_and_run(folder, "fails"),
      AllOf(HasSubstr("differs y: 1 of 2 elements"), HasSubstr("FAILED"), HasSubstr("exit code")));
}

// A model that was not opened is an error, as a session that was not is in wick.h.
TEST(Build, AModelThatIsNoneIsAnError) {
  const std::string model = scratch() + "/unopened.onnx", folder = scratch() + "/unopened";
  export_onnx(small_graph(), model);
  ASSERT_EQ(wick({"build", model, "-o", folder, "--no-build", "--weights", "beside"}).code, 0);
  write_file(folder + "/smoke.c",
             "#include <stdio.h>\n#include \"unopened.h\"\nint main(void) {\n"
             "  unopened* m = NULL;\n  float x[3] = {0}, y[2];\n"
             "  if (unopened_open(\"nowhere.wick\", 1, &m) == WICK_OK || m != NULL) return 1;\n"
             "  int code = unopened_run(m, 1, x, y);\n  puts(unopened_error());\n"
             "  unopened_close(m);\n  return code != WICK_INVALID_ARGUMENT || unopened_memory(m) "
             "!= 0;\n}\n");
  EXPECT_EQ(compiled_and_run(folder, "unopened"), "session is null\n");
}

// Names that C has not, free sizes of several inputs, integers, bools, a scalar, an output of no
// known size.
TEST(Build, WhatModelsAreCalledAndTake) {
  ir::Graph g;
  const SymDim n = g.symbol("int"), m = g.symbol("a b");
  const ir::ValueId x = g.add_input("while", DType::kF32, {n, m}),
                    y = g.add_input("x:0", DType::kI64, {m}),
                    z = g.add_input("x 0", DType::kF64, {}),
                    b = g.add_input("model", DType::kBool, {n});
  g.add_output("x/0", g.emit(OpId::kRelu, {x}, "r"));
  g.add_output("sum", g.emit(OpId::kAdd, {y, y}, "s"));
  g.add_output("\"", g.emit(OpId::kNeg, {z}, "t"));
  g.add_output("where", g.emit(OpId::kNonZero, {b}, "u"));
  const std::string model = scratch() + "/3 names.onnx";
  export_onnx(g, model);
  const std::string said = built(model, {"--dim", "a b=4"}, "m3_names");
  EXPECT_THAT(said, AllOf(HasSubstr("equal x/0: 16 bytes"), HasSubstr("equal sum: 32 bytes"),
                          HasSubstr("equal \": 8 bytes"), HasSubstr("ok\n")));
}

// An input that decides what runs is given, and says sizes of the others.
TEST(Build, InputsOfTheSmokeTestMayBeGiven) {
  ir::Graph g;
  const SymDim m = g.symbol("m");
  const ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(9), m}),
                    k = g.add_input("k", DType::kI64, {m});
  g.add_output("y", g.emit(OpId::kGather, {x, k}, "rows"));
  const std::string model = scratch() + "/given.onnx", rows = scratch() + "/rows.npy";
  export_onnx(g, model);
  HostTensor given(DType::kI64, {2});
  given.as<int64_t>()[0] = 8, given.as<int64_t>()[1] = 5;
  data::write_npy(rows, given.view());
  EXPECT_THAT(built(model, {"--input", "k=" + rows}), HasSubstr("equal y: 16 bytes"));
  EXPECT_THAT(read_file(scratch() + "/a folder/given/smoke.c"),
              HasSubstr("in_1[16] = {\n    8,0,0,0,0,0,0,0,5,0,"));
  const Ran unfit = wick({"build", model, "-o", scratch() + "/unfit", "--input", rows});
  EXPECT_EQ(unfit.code, 1);
  EXPECT_THAT(unfit.err, HasSubstr("input x takes float32"));
  const Ran two =
      wick({"build", model, "-o", scratch() + "/unfit", "--dim", "m=3", "--input", "k=" + rows});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("k has m=2, but m=3 was said"));
  const Ran unknown = wick({"build", model, "-o", scratch() + "/unfit", "--input", "z=" + rows});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("the model's inputs: x k"));
}

// Refused late, by the smoke test: nothing is written before all texts are made.
TEST(Build, ARefusedModelLeavesNoFolder) {
  ir::Graph g;
  g.add_output("y", g.emit(OpId::kIdentity, {g.add_input("x", DType::kString, {SymDim(2)})}, "i"));
  const std::string model = scratch() + "/strings.onnx", folder = scratch() + "/strings";
  export_onnx(g, model);
  const Ran r = wick({"build", model, "-o", folder, "--no-build"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("input x holds string: the C functions take numbers alone"));
  EXPECT_FALSE(fs::exists(folder));
}

// The folder may come from elsewhere, with links in it.
TEST(Build, NothingIsWrittenThroughALink) {
  const std::string model = scratch() + "/linked_net.onnx", folder = scratch() + "/linked_net";
  const std::string mine = scratch() + "/mine.c";
  export_onnx(small_graph(), model);
  write_file(mine, "mine");
  fs::create_directories(folder);
  fs::create_symlink(mine, folder + "/linked_net.c");
  const Ran r = wick({"build", model, "-o", folder, "--no-build"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("linked_net.c is a symbolic link"));
  EXPECT_EQ(read_file(mine), "mine");
}

TEST(Build, WrongUsageIsSaid) {
  const std::string model = trained_run().wick, out = scratch() + "/none";
  const Ran target = wick({"build", model, "-o", out, "--target", "pdp11"});
  EXPECT_EQ(target.code, 2);
  EXPECT_THAT(target.err, AllOf(HasSubstr("there is no 'pdp11'"), HasSubstr("aarch64")));
  EXPECT_EQ(wick({"build", model, "-o", out, "--target", "cortex-m7", "--weights", "beside"}).code,
            2);
  EXPECT_EQ(wick({"build", model, "-o", out, "--no-build", "--run"}).code, 2);
  for (const char* option : {"WICK_SMALL", "WICK_SMALL=1", "CMAKE_CXX_FLAGS=ON", "WICK_TINY=ON"}) {
    const Ran none = wick({"build", model, "-o", out, "--option", option});
    EXPECT_EQ(none.code, 2) << option;
    EXPECT_THAT(none.err, AllOf(HasSubstr(option), HasSubstr("WICK_ERROR_TEXTS")));
  }
  EXPECT_EQ(wick({"build", scratch() + "/no.wick", "-o", out}).code, 1);
  EXPECT_FALSE(fs::exists(out));
  const Ran list = wick({"targets", "--json"});
  ASSERT_EQ(list.code, 0) << list.err;
  EXPECT_GE(parse_json(list.out).size(), 4u);
}

// None of them may be a parameter in C.
TEST(Build, PortsMayHaveNamesOfTheLanguage) {
  ir::Graph g;
  for (const char* name : {"in", "NULL", "int64_t", "asm", "WICK_OK", "wick_tensor", "__GNUC__",
                           "INT8_MAX", "constexpr"}) {
    const ir::ValueId x = g.add_input(name, DType::kF32, {g.symbol("size_t")});
    const std::string out = std::string(name) == "in" ? "out" : std::string(name) + ".y";
    g.add_output(out, g.emit(OpId::kRelu, {x}, std::string("r") + name));
  }
  const std::string model = scratch() + "/words.onnx";
  export_onnx(g, model);
  EXPECT_THAT(built(model), AllOf(HasSubstr("equal out: 4 bytes"), HasSubstr("ok\n")));
}

}  // namespace
}  // namespace wick::test
