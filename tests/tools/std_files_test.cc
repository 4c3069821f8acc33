// "-" where a file is read or written: the bytes are those that a file has, and nothing else goes
// to standard output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Piped {
  Piped() {
    fs::create_directories(at);
    export_onnx(small_graph(), at + "/m.onnx");
    write_npy_f32(at + "/x.npy", {5, 3});
  }
  Ran run(const std::string& command) const {
    return shell("cd " + shell_word(at) + " && " + command);
  }
  std::string file(const std::string& name) const { return read_file(at + "/" + name); }
  const std::string at = scratch() + "/piped";
};

TEST(StdFiles, AModelAndAnArrayComeAndGoThroughPipes) {
  const Piped p;
  ASSERT_EQ(p.run("wick run m.onnx -i x.npy -o outs").code, 0);
  const Ran r = p.run("wick run - -i x.npy -o - < m.onnx > y.npy");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(p.file("y.npy"), p.file("outs/y.npy"));
  const Ran named = p.run("wick run m.onnx -i x=- -o - --json < x.npy > z.npy");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(p.file("z.npy"), p.file("outs/y.npy"));
  EXPECT_EQ(parse_json(named.err)[0].at("file"), "-") << "what is printed goes to stderr";
}

// A model that was converted from standard input runs, and says where it is from.
TEST(StdFiles, ConvertsBetweenPipes) {
  const Piped p;
  const Ran r = p.run(
      "wick convert - -o - < m.onnx > made.wick && wick convert - -o -.onnx < made.wick > "
      "made.onnx");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, Not(HasSubstr("/wick-"))) << "the temporary file's name";
  for (const char* model : {"made.wick", "made.onnx"}) {
    ASSERT_EQ(p.run(std::string("wick run ") + model + " -i x.npy -o - > got.npy").code, 0)
        << model;
    ASSERT_EQ(p.run("wick run m.onnx -i x.npy -o - > want.npy").code, 0);
    EXPECT_EQ(p.file("got.npy"), p.file("want.npy")) << model;
  }
  EXPECT_THAT(p.run("wick inspect - < made.wick").out, ::testing::StartsWith("-: "));
  EXPECT_EQ(parse_json(p.run("wick inspect made.wick --json").out).at("provenance").at("source"),
            "-");
  // The same bytes each time, wherever the temporary file lies.
  ASSERT_EQ(p.run("wick convert - -o - < m.onnx > again.wick").code, 0);
  EXPECT_EQ(p.file("again.wick"), p.file("made.wick"));
}

TEST(StdFiles, PagesAndTracesGoToStandardOutput) {
  const Piped p;
  ASSERT_EQ(p.run("wick inspect m.onnx --html - > page.html").code, 0);
  EXPECT_THAT(p.file("page.html"), AllOf(HasSubstr("<html"), HasSubstr("</html>")));
  ASSERT_EQ(p.run("wick run m.onnx -i x.npy --trace - > t.json").code, 0);
  EXPECT_TRUE(parse_json(p.file("t.json")).contains("traceEvents"));
}

TEST(StdFiles, MisuseIsNamedAndNothingIsWritten) {
  const Piped p;
  const Ran twice = p.run("wick run - -i - < m.onnx");
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("standard input is read twice"));
  const Ran empty = p.run("wick inspect - < /dev/null");
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, HasSubstr("standard input is empty"));
  const Ran both = p.run("wick inspect m.onnx --html - --json && wick convert m.onnx -o - --json");
  EXPECT_EQ(both.code, 0) << "the document is on stderr: " << both.err;
  const Ran failed = p.run("wick convert x.npy -o -");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_EQ(p.run("wick convert - -o - < m.onnx > /dev/full").code, 1);
}

// As run does, with a model and with an array.
TEST(StdFiles, BenchReadsStandardInput) {
  const Piped p;
  const Ran array = p.run("wick bench m.onnx --seconds 0.01 --json -i - < x.npy");
  EXPECT_EQ(array.code, 0) << array.err;
  const nlohmann::json shape = parse_json(array.out).at(0).at("inputs").at(0).at("shape");
  const Ran named = p.run("wick bench m.onnx --seconds 0.01 --json -i x.npy");
  EXPECT_EQ(shape, parse_json(named.out).at(0).at("inputs").at(0).at("shape"));
  const Ran model = p.run("wick bench - --seconds 0.01 -i x.npy < m.onnx");
  EXPECT_EQ(model.code, 0) << model.err;
  EXPECT_THAT(model.out, HasSubstr("p50"));
  EXPECT_THAT(p.run("wick bench - -i - < m.onnx").err, HasSubstr("standard input is read twice"));
}

// Temporary files are gone when the command is, whatever its end.
TEST(StdFiles, NothingIsLeftBehind) {
  const Piped p;
  const std::string tmp = p.at + "/tmp";
  fs::create_directories(tmp);
  for (const char* command : {"wick convert - -o - < m.onnx", "wick convert - -o - < x.npy",
                              "wick run - -i x.npy --timeout 0.000001 < m.onnx"}) {
    p.run("TMPDIR=" + shell_word(tmp) + " " + command);
    EXPECT_EQ(names_in(tmp).size(), 0u) << command;
  }
}

}  // namespace
}  // namespace wick::test
