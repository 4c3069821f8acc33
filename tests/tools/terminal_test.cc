// The commands' output: names that would act on a terminal, and a stdout that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A model whose names clear the screen and turn the line round.
std::string evil_model() {
  static const std::string path = [] {
    ir::Graph g;
    const ir::ValueId x = g.add_input("x\x1b[2J\u202e", DType::kF32, {SymDim(1), SymDim(3)});
    g.add_output("y\x7f\u009b\x07", g.emit(OpId::kRelu, {x}, "node\x1b]0;title\x07"));
    std::string file = scratch() + "/evil.wick";
    write_program(g, file);
    return file;
  }();
  return path;
}
// No byte that acts, and none of the characters either.
void expect_harmless(const std::string& text) {
  for (char c : text)
    EXPECT_FALSE((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
        << static_cast<int>(c) << " in " << text;
  for (const char* other : {"\u202e", "\u009b"})
    EXPECT_EQ(text.find(other), std::string::npos) << text;
}

TEST(Terminal, NamesAreShownAndDoNotAct) {
  for (const char* command : {"inspect", "inspect --json", "run", "bench --seconds 0.01 --profile",
                              "bench --seconds 0.01 --explain"}) {
    const Ran r = shell(std::string("wick ") + command + " " + shell_word(evil_model()));
    expect_harmless(r.out);
    expect_harmless(r.err);
    if (std::string(command).starts_with("inspect")) {
      EXPECT_THAT(r.out,
                  AllOf(HasSubstr("x\\u001b[2J\\u202e"), HasSubstr("y\\u007f\\u009b\\u0007")))
          << command;
    }
  }
  const nlohmann::json doc = parse_json(wick({"inspect", "--json", evil_model()}).out);
  EXPECT_EQ(doc.at("inputs").at(0).at("name"), "x\x1b[2J\u202e");
  const Ran r = wick({"compare", evil_model(), trained_run().wick});
  EXPECT_EQ(r.code, 1);
  expect_harmless(r.out + r.err);
}

TEST(Terminal, ErrorsAndUsageDoNotActEither) {
  for (const std::string& name : {std::string("no\x1b[31m.wick"), std::string("no\xff.wick")}) {
    const Ran r = wick({"inspect", name});
    EXPECT_EQ(r.code, 1);
    expect_harmless(r.err);
    EXPECT_THAT(r.err, HasSubstr(name[2] == '\x1b' ? "no\\u001b[31m.wick" : "no\\xff.wick"));
  }
  const Ran r = wick({"no\x1b[31m"});
  EXPECT_EQ(r.code, 2);
  expect_harmless(r.err);
}

TEST(Terminal, AStdoutThatTakesNothingIsAFailure) {
  const std::string model = shell_word(evil_model());
  for (const std::string& command :
       {"inspect " + model, "inspect --json " + model, std::string("ops"), std::string("--help"),
        std::string("--version"), "bench --seconds 0.01 " + model}) {
    for (const char* out : {"> /dev/full", ">&-"}) {
      const Ran r = shell("wick " + command + " " + out);
      EXPECT_EQ(r.code, 1) << command << out << r.err;
      EXPECT_THAT(r.err, HasSubstr("wick: standard output cannot be written: ")) << command << out;
    }
  }
  // The file that is written does not become stdout.
  const std::string copy = scratch() + "/copy.wick";
  const Ran r = shell("wick convert " + shell_word(trained_run().onnx) + " -o " + shell_word(copy) +
                      " >&- <&-");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(wick({"inspect", copy}).code, 0);
}

}  // namespace
}  // namespace wick::test
