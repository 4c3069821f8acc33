// Programs with a planted mistake, as a newcomer writes them (mistakes/*.cc): Wick's message is, to
// the letter, the text file next to each. WICK_WRITE_GOLDENS=1 writes them again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/where.h"
#include "trainer/explain/warn.h"
#include "wick/error.h"

#define WICK_MISTAKE(name) int name();
#include "tests/explain/mistakes/list.def"
#undef WICK_MISTAKE

namespace wick {
namespace {

struct Mistake {
  const char* name;
  int (*run)();
};
constexpr Mistake kMistakes[] = {
#define WICK_MISTAKE(name) {#name, name},
#include "tests/explain/mistakes/list.def"
#undef WICK_MISTAKE
};

std::string diagnostic(const Mistake& mistake) {
  CollectWarnings collected;
  std::string error;
  try {
    mistake.run();
  } catch (const Error& e) {
    error = std::string("error: ") + e.what() + "\n";
  }
  std::string text;
  for (const Warning& w : collected.warnings()) text += "warning: " + w.text + "\n";
  return text + error;
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, SaysWhatWhereAndWhatToDo) {
  const std::string path = source_dir("/tests/explain/mistakes/") + GetParam().name + ".txt";
  const std::string said = diagnostic(GetParam());
  EXPECT_NE(said, "");
  if (getenv("WICK_WRITE_GOLDENS") != nullptr) std::ofstream(path) << said;
  std::ifstream file(path);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(said, expected.str());
}

INSTANTIATE_TEST_SUITE_P(Twelve, Mistakes, testing::ValuesIn(kMistakes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wick
