// Child programs, and what is left of them when the time is up.
#include "tools/lib/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/lib/deploy/interface.h"
#include "tools/lib/limits.h"
#include "tools/lib/scratch_folder.h"
#include "tools/lib/text.h"

namespace wick::test {
namespace {

using namespace tool;  // NOLINT

TEST(Shell, GivesWhatWasPrintedAndTheCode) {
  const Finished f = shell("printf 'a b'; exit 7");
  EXPECT_EQ(f.out, "a b");
  EXPECT_EQ(f.code, 7);
  EXPECT_EQ(shell("kill -9 $$").code, 128);
  EXPECT_FALSE(forwards_signals());
}

// Neither processes nor folders stay behind.
TEST(ShellDeathTest, EndsWithItsTimeWithAllThatItStarted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string mark = "47.8125";  // the same in the process that is to end
  const std::string place = ::testing::TempDir() + "/scratch_of_" + mark;
  EXPECT_EXIT(
      {
        const ScratchFolder scratch;
        write_text(place, scratch.path());
        limit_time(0.3);
        // the death test waits for all that hold its files
        shell("exec 2>/dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; sleep " + mark + " & sleep " +
              mark + "; true");
      },
      ::testing::ExitedWithCode(1), "the time is up");
  const Finished left = shell("sleep 0.2; ps -eo args | grep '^sleep " + mark + "' | wc -l");
  EXPECT_EQ(left.out, "0\n");
  EXPECT_EQ(shell("ls -d \"$(cat " + shell_quote(place) + ")\" 2>&1 >/dev/null").code, 2);
}

// A program that needs a while to end, as mpirun does, has ended when this process has.
TEST(ShellDeathTest, WaitsForWhatItEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string place = ::testing::TempDir() + "/ended_slowly";
  std::filesystem::remove(place);
  EXPECT_EXIT(
      {
        limit_time(0.3);
        shell("exec 2>/dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; trap 'sleep 0.7; touch " +
              shell_quote(place) + "; exit' TERM; while true; do sleep 0.1; done");
      },
      ::testing::ExitedWithCode(1), "the time is up");
  EXPECT_TRUE(std::filesystem::exists(place));
}

TEST(Text, WordsOfAShellArePlainBytes) {
  for (const std::string word : {"a=b", "it's", "a\nb", "\x1b[31m", "\\", "\xe2\x80\xae", ""}) {
    const std::string quoted = shell_quote(word);
    for (char c : quoted) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << quoted;
    EXPECT_EQ(shell("bash -c " + shell_quote("printf %s " + quoted)).out, word) << quoted;
  }
}

TEST(CNames, AModelIsNoFunctionOfC) {
  EXPECT_EQ(c_model_name("lenet"), "lenet");
  EXPECT_EQ(c_model_name("printf"), "mprintf");
  EXPECT_EQ(c_model_name("wick_session"), "mwick_session");
  EXPECT_EQ(c_model_name("2 layers"), "m2_layers");
}

}  // namespace
}  // namespace wick::test
