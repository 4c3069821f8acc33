// wick ops new, test and bench: what is written passes as it stands, and each kind of mistake in it
// is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OwnOp : public testing::Test {
 protected:
  OwnOp() {
    setenv("WICK_CACHE", (scratch() + "/op_cache").c_str(), 1);
    setenv("CXX", WICK_CXX, 1);
    setenv("WICK_INCLUDE", WICK_TREE, 1);
  }
  ~OwnOp() override {
    for (const char* name : {"WICK_CACHE", "CXX", "WICK_INCLUDE"}) unsetenv(name);
  }
  // Returns the file of a new op, with the one place that has `from` changed.
  static std::string file_with(const std::string& name, const std::string& from = "",
                               const std::string& to = "") {
    const Ran made = wick({"ops", "new", name}, scratch());
    EXPECT_EQ(made.code, 0) << made.err;
    const std::string path = scratch() + "/" + name + ".cc";
    std::string text = read_file(path);
    if (from.empty()) return path;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write_file(path, text.replace(at, from.size(), to));
    return path;
  }
  // -O0: what is looked at are results.
  static Ran tested(const std::string& path) { return wick({"ops", "test", path, "--flag=-O0"}); }
};

TEST_F(OwnOp, ASkeletonPassesItsTestsAsItIsWritten) {
  const Ran made = wick({"ops", "new", "mysoftmax"}, scratch());
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("mysoftmax.cc: the op my::Mysoftmax"));
  const std::string path = scratch() + "/mysoftmax.cc";
  EXPECT_THAT(read_file(path), AllOf(HasSubstr("\"Mysoftmax\""), Not(HasSubstr("RowNorm")),
                                     Not(HasSubstr("row_norm"))));
  const Ran r = tested(path);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("6 passed, 0 failed"), HasSubstr("8 numbers"),
                           HasSubstr("16 comparisons by bits"), HasSubstr("4 samples, two orders"),
                           HasSubstr("12 samples through"), HasSubstr("8 with a free size"),
                           Not(HasSubstr("stays fixed"))));
  const nlohmann::json j = parse_json(wick({"ops", "test", path, "--flag=-O0", "--json"}).out);
  EXPECT_EQ(j[0]["op"], "my::Mysoftmax");
  EXPECT_EQ(j[0]["checks"].size(), 6u);
  const Ran again = wick({"ops", "new", "mysoftmax"}, scratch());
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("mysoftmax.cc is there already"));
  const Ran bench = wick({"ops", "bench", path, "--flag=-O0"});
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_THAT(bench.out, AllOf(HasSubstr("mysoftmax.f32.simd"), HasSubstr("mysoftmax.f64.ref"),
                               HasSubstr("GB/s"), HasSubstr("compiled before")));
}

TEST_F(OwnOp, MistakesInEachPartAreFound) {
  struct Case {
    const char *name, *from, *to, *said;
  };
  for (const Case& c : {
           Case{"wrong_answer", "{0.6, 0.8, 0, -1}", "{0.6, 0.9, 0, -1}",
                "element 1 is 0.800000012, not 0.9"},
           Case{"wrong_order", "parts[i % kLanes] += x[i] * x[i];", "parts[i % 4] += x[i] * x[i];",
                "gives other bits than wrong_order.f"},
           Case{"wrong_gradient", "(d.g() - y * sum(d.g() * y)) / n", "d.g() / n",
                "FAILED  gradient"},
           Case{"wrong_rule", "if (c.in[0].rank() < 1)",
                "if (c.in[0].rank() < 1) throw 1;\n  if (false)",
                "its shape rule threw what is no std::exception"},
           Case{"wrong_tail", "parts[i - whole] += x[i] * x[i];", "parts[0] += x[i] * x[i];",
                "gives other bits than wrong_tail.f"},
       }) {
    const Ran r = tested(file_with(c.name, c.from, c.to));
    EXPECT_EQ(r.code, 3) << c.name << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(c.said)) << c.name;
    EXPECT_THAT(r.out, Not(HasSubstr(" 0 failed"))) << c.name;
  }
}

// A row of zeros without eps is 0 / 0, in float32 as in float64: no difference.
TEST_F(OwnOp, TheSameNaNIsNoDifference) {
  const Ran r = tested(
      file_with("zero_row", "{.in = {{1}}},", "{.in = {{4, 1}}, .attrs = &kExact, .values = kX},"));
  EXPECT_THAT(r.out, HasSubstr("ok      float32")) << r.err;
}

TEST_F(OwnOp, ErrorsOfTheCompilerNameTheFileAndItsLine) {
  const std::string path = file_with("wrong_word", "namespace {", "namespace { int x = no_such;");
  const Ran r = tested(path);
  EXPECT_EQ(r.code, 1);
  const std::string text = read_file(path);
  const auto line = 1 + std::count(text.begin(), text.begin() + text.find("no_such"), '\n');
  EXPECT_THAT(
      r.err, AllOf(HasSubstr("wrong_word.cc:" + std::to_string(line) + ":"), HasSubstr("no_such")));
}

TEST_F(OwnOp, WrongUsesSayWhatToDo) {
  EXPECT_EQ(wick({"ops", "new"}).code, 2);
  EXPECT_THAT(wick({"ops", "test"}).err,
              HasSubstr("subject: is missing: wick ops test takes the op's file"));
  EXPECT_THAT(wick({"ops", "Add", "Sub"}).err, HasSubstr("a list of ops one name"));
  Ran r = wick({"ops", "new", "9lives"}, scratch());
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("an op cannot be named '9lives'"));
  r = wick({"ops", "new", "fine", "--domain", "ai.onnx"}, scratch());
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("not ONNX's own"));
  r = wick({"ops", "test", scratch() + "/none.cc"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("none.cc: check the path"));
  const std::string path = file_with("no_row", "WICK_EXPORT_OP_TESTS(&kTest)", "");
  EXPECT_THAT(tested(path).err, HasSubstr("has no test row"));
}

TEST_F(OwnOp, ASourceIsTakenWhereALibraryIs) {
  const Ran r = wick({"ops", "--search", "listed", "--ops", file_with("listed")});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("my::Listed"));
}

}  // namespace
}  // namespace wick::test
