// The driver of the fuzzers detects what it must: a case that spins, that waits for ever, that
// crashes, that is wrong; and nothing that a case wrote is left, however it ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace wick {
namespace {

using testing::HasSubstr;

std::string probe(const std::string& arguments) {
  std::string text;
  FILE* out = popen((WICK_FUZZ_PROBE " " + arguments + " 2>&1").c_str(), "r");
  char line[512];
  while (fgets(line, sizeof(line), out) != nullptr) text += line;
  pclose(out);
  return text;
}
std::string fault(const std::string& what, int number) {
  return "FAULT: fuzz_probe: " + what + "; again: fuzz_probe --seed 1 --case " +
         std::to_string(number);
}
std::string fault(int signal, const std::string& what, int number) {
  return fault("signal " + std::to_string(signal) + " (" + what + ")", number);
}

// The folder that a line of `text` names.
std::string folder(const std::string& text) {
  const size_t at = text.find("/tmp/wick-fuzz-");
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}
// Returns whether the path is removed, which may happen shortly after the end of the program.
bool goes(const std::string& path) {
  for (int k = 0; k < 200 && std::filesystem::exists(path); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !std::filesystem::exists(path);
}

TEST(FuzzDriver, NamesEachFault) {
  const std::string text = probe("--cases 8");
  for (int spins : {1, 2}) {
    EXPECT_THAT(text, HasSubstr(fault(SIGPROF, "too slow", spins)));
  }
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_THAT(text, HasSubstr(fault("a sanitizer stopped it", 3)));
#else
  EXPECT_THAT(text, HasSubstr(fault(SIGSEGV, "it crashed", 3)));
#endif
  EXPECT_THAT(text, HasSubstr(fault("it is wrong", 4)));
  EXPECT_THAT(text, HasSubstr(fault(SIGALRM, "it waits for ever", 7)));
  // Empty at the first, behind each of the cases that ended their process, and behind number 5.
  EXPECT_THAT(text,
              HasSubstr("COUNT: fuzz_probe: 4 executions, 5 began in an empty folder; 5 faults"));
  ASSERT_NE(folder(text), "") << text;
  EXPECT_TRUE(goes(folder(text))) << folder(text);
}

TEST(FuzzDriver, LeavesNothingBehindOneCase) {
  for (int number : {0, 3}) {
    const std::string text = probe("--case " + std::to_string(number));
    ASSERT_NE(folder(text), "") << text;
    EXPECT_TRUE(goes(folder(text))) << folder(text);
  }
}

TEST(FuzzDriver, LeavesNothingWhenItIsKilled) {
  int out[2];
  ASSERT_EQ(pipe(out), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], 1);
    close(out[0]);
    close(out[1]);
    execl(WICK_FUZZ_PROBE, WICK_FUZZ_PROBE, "--minutes", "1", nullptr);
    _exit(9);
  }
  close(out[1]);
  std::string text;
  char c;
  while (text.find('\n') == std::string::npos && read(out[0], &c, 1) == 1) text += c;
  kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  close(out[0]);
  ASSERT_NE(folder(text), "") << text;
  EXPECT_TRUE(goes(folder(text))) << folder(text);
}

}  // namespace
}  // namespace wick
