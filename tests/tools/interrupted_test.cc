// `wick train` stopped halfway by Ctrl-C, by kill -9, by a full disk. It resumes as if nothing had
// happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "tests/support/idx_images.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// 2 epochs of 40 steps, a save every third: about a second.
std::vector<std::string> arguments(const std::string& out) {
  static const std::string images = [] {
    std::string folder = scratch() + "/many images";  // a path that a shell must see in quotes
    write_images(folder, 640, 50);
    return folder;
  }();
  return {WICK_COMMAND, "train",   "lenet", "--data",       images, "--epochs", "2", "--seed",
          "5",          "--batch", "16",    "--save-every", "3",    "--out",    out, "--json"};
}
Ran train(const std::string& out, std::vector<std::string> more = {}) {
  std::vector<std::string> all = arguments(out);
  all.insert(all.end(), more.begin(), more.end());
  return Started(all).wait();
}

// Returns the digest of the weights that an undisturbed run ends with.
const std::string& whole() {
  static const std::string sha = [] {
    Ran r = train(scratch() + "/whole", {"--threads", "2"});
    EXPECT_EQ(r.code, 0) << r.err;
    return parse_json(r.out).at("weights_sha256").get<std::string>();
  }();
  return sha;
}

// Waits for a checkpoint, and for one that replaces it: the run is in the middle of its epochs.
bool wait_for_two_saves(Started& run, const std::string& out) {
  std::string path = out + "/last.safetensors";
  ino_t first = 0;
  while (run.running()) {
    struct stat st;
    if (stat(path.c_str(), &st) == 0) {
      if (first == 0) first = st.st_ino;
      if (st.st_ino != first) return true;
    }
    usleep(500);
  }
  return false;
}

// A run that gets the signal in its middle. On a busy machine a run may end before that: the next.
Ran stopped_run(const std::string& out, int signal, const std::vector<std::string>& more = {}) {
  Ran r;
  for (int attempt = 0; attempt < 5; ++attempt) {
    fs::remove_all(out);
    std::vector<std::string> all = arguments(out);
    all.insert(all.end(), more.begin(), more.end());
    Started run(all);
    bool midway = wait_for_two_saves(run, out);
    if (midway) kill(run.pid(), signal);
    r = run.wait();
    if (midway && r.code != 0) return r;
  }
  ADD_FAILURE() << "five runs ended before the signal reached them; the last with " << r.code
                << ": " << r.err;
  return r;
}

TEST(Interrupted, KillNineAndResumeGiveTheSameWeights) {
  std::string out = scratch() + "/killed";
  ASSERT_EQ(stopped_run(out, SIGKILL).signal, SIGKILL);
  Ran resumed = train(out, {"--resume"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  nlohmann::json report = parse_json(resumed.out);
  EXPECT_EQ(report.at("weights_sha256"), whole());
  EXPECT_EQ(report.at("steps"), 80);
  std::string metrics = read_file(out + "/metrics.csv");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 1 + 2);  // no epoch twice
}

// Two runs into one folder would mix their files: the second is told, and has changed nothing.
TEST(Interrupted, OneRunAFolder) {
  const std::string out = scratch() + "/shared";
  Started first(arguments(out));
  ASSERT_TRUE(wait_for_two_saves(first, out));
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--resume"}}) {
    const Ran second = train(out, more);
    EXPECT_EQ(second.code, 1);
    EXPECT_EQ(parse_json(second.out).at("where"), out);
    EXPECT_THAT(second.err, HasSubstr("writes " + out));
  }
  const Ran r = first.wait();
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out).at("weights_sha256"), whole());
}

TEST(Interrupted, CtrlCSavesAndSaysHowToGoOn) {
  std::string out = scratch() + "/stopped run";
  Ran r = stopped_run(out, SIGINT);
  ASSERT_EQ(r.code, 130) << r.err;
  EXPECT_EQ(parse_json(r.out).at("interrupted"), true);
  const std::string& said = r.err;
  EXPECT_THAT(said, AllOf(HasSubstr("interrupted at epoch "),
                          HasSubstr("saved " + out + "/last.safetensors\n")));
  // The printed command, as it stands, in a shell.
  size_t at = said.find("to go on: ");
  ASSERT_NE(at, std::string::npos) << said;
  std::string command = said.substr(at + 10, said.find('\n', at) - at - 10);
  EXPECT_THAT(command, AllOf(HasSubstr("wick train lenet --data "), HasSubstr(" --resume")));
  Ran resumed = shell(command + " --json --quiet");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.err, "");
  EXPECT_EQ(parse_json(resumed.out).at("weights_sha256"), whole());
}

TEST(Interrupted, QuietRunsSayItToo) {
  std::string out = scratch() + "/quiet";
  Ran r = stopped_run(out, SIGINT, {"--quiet"});
  EXPECT_EQ(r.code, 130);
  EXPECT_THAT(r.err, AllOf(HasSubstr("to go on: wick train lenet"), HasSubstr("--save-every 3")));
}

TEST(Interrupted, AnotherRunsFolderIsNotResumed) {
  (void)whole();
  Ran r = train(scratch() + "/whole", {"--resume", "--lr", "0.5"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("cannot resume"), HasSubstr("lr (saved 0.05)")));
}

}  // namespace
}  // namespace wick::test
