// What reaches a terminal: names of hostile files, and a stdout that takes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Title, colour, a C1 control, a right-to-left override, DEL, a byte that is no UTF-8, a cut
// character, and what may stay: an umlaut and a sign beyond 16 bits.
const std::string kEvil =
    "\x1b]0;title\x07\x1b[31m\xc2\x9b[2J\xe2\x80\xae\x7f\xff\xe2\x82 \xc3\xbc \xf0\x9f\x98\x80";
const std::string kSpelled =
    "\\u001b]0;title\\u0007\\u001b[31m\\u009b[2J\\u202e\\u007f\\xff\\xe2\\x82 \xc3\xbc "
    "\xf0\x9f\x98\x80";

std::string evil_model(const std::string& end) {
  const std::string path = scratch() + "/evil." + end;
  ir::Graph g;
  const ir::ValueId x = g.add_input(kEvil, DType::kF32, {g.symbol("n")});
  g.add_output("y", g.emit(OpId::kRelu, {x}, kEvil));
  g.labels = {kEvil};
  if (end == "wick") write_program(g, path, {});
  return path;
}

bool printable(const std::string& text) {
  for (char c : text) {
    const auto b = static_cast<unsigned char>(c);
    if ((b < 0x20 && c != '\n' && c != '\t') || b == 0x7F) return false;
  }
  return text.find("\xc2\x9b") == std::string::npos &&
         text.find("\xe2\x80\xae") == std::string::npos;
}

TEST(Terminal, NamesAreSpelledOut) {
  const std::string path = evil_model("wick");
  const Ran text = wick({"inspect", path});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr(kSpelled));
  for (const std::vector<std::string>& c :
       std::vector<std::vector<std::string>>{{"inspect", path},
                                             {"bench", path, "--seconds", "0.05"},
                                             {"run", path},
                                             {"compare", path, path},
                                             {"run", path, "-i", kEvil + "=x.npy"},
                                             {"inspect", scratch() + "/" + kEvil},
                                             {"train", kEvil},
                                             {kEvil}}) {
    const Ran r = wick(c);
    EXPECT_TRUE(printable(r.out)) << r.out;
    EXPECT_TRUE(printable(r.err)) << r.err;
  }
}

// JSON has escapes of its own for the same, and stays JSON.
TEST(Terminal, JsonStaysJson) {
  const Ran r = wick({"inspect", evil_model("wick"), "--json"});
  EXPECT_TRUE(printable(r.out));
  EXPECT_THAT(parse_json(r.out).at("nodes").at(0).at("name").get<std::string>(), HasSubstr("[2J"));
}

TEST(Terminal, AFullStdoutIsAFailure) {
  for (const char* command : {"--help", "ops", "ops --json", "devices", "run --help"}) {
    const Ran r = shell(std::string("wick ") + command + " > /dev/full");
    EXPECT_EQ(r.code, 1) << command;
    EXPECT_THAT(r.err, HasSubstr("cannot write to stdout: No space left on device")) << command;
  }
  const std::string model = shell_word(trained_run().wick);
  for (const std::string& command :
       {"inspect " + model, "inspect --json " + model, "bench --seconds 0.05 " + model})
    EXPECT_EQ(shell("wick " + command + " > /dev/full").code, 1) << command;
  EXPECT_EQ(shell("wick inspect " + model + " > /dev/null").code, 0);
}

}  // namespace
}  // namespace wick::test
