// The power is cut at any moment: what the disk was not told to keep is lost, by chance. A training
// run continues from what is left and ends like the uninterrupted one; a model is the old one or
// the new one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/faults/program.h"
#include "tests/support/idx_images.h"
#include "trainer/checkpoint/safetensors.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
int cuts() { return std::getenv("WICK_TEST_FULL") != nullptr ? 150 : 10; }

class PowerCuts : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wick_cut_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    write_images(at("images"), 24, 8);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string at(const std::string& name) const { return root_ + "/" + name; }
  Words training(Words more) const {
    Words words = {"train", "--quiet", "--save-every", "2", "-o", at("run")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words from_scratch() const {
    return training({"mlp", "--data", at("images"), "--epochs", "3", "--batch", "8"});
  }
  // n == 0: to the end.
  Ended with_cut(const Words& words, long n, long seed) const {
    fs::remove_all(at("side"));
    fs::create_directories(at("side"));
    return run_wick_with(words,
                         {"LD_PRELOAD=" WICK_POWER_CUT, "WICK_CUT_AT=" + std::to_string(n),
                          "WICK_CUT_SEED=" + std::to_string(seed), "WICK_CUT_SIDE=" + at("side"),
                          "WICK_CUT_COUNT=" + at("said/count")},
                         at("said"));
  }
  // All that a run ends with, but for its times.
  std::string result() const {
    std::string text;
    std::ifstream in(at("run/metrics.csv"));
    for (std::string row; std::getline(in, row);)
      text += row.substr(0, row.rfind(',', row.rfind(',') - 1)) + "\n";
    for (const char* name : {"best.safetensors", "last.safetensors"})
      text += state_sha256(load_safetensors(at("run/") + name).tensors) + "\n";
    return text;
  }

  std::string root_;
};

TEST_F(PowerCuts, ATrainingGoesOnToTheSameEnd) {
  const Ended unbroken = with_cut(from_scratch(), 0, 0);
  ASSERT_EQ(unbroken.code, 0) << unbroken.err;
  const std::string want = result();
  ASSERT_GT(unbroken.calls, 50);
  std::mt19937 random(7);
  int went_on = 0;
  for (int i = 0; i < cuts(); ++i) {
    fs::remove_all(at("run"));
    const long n = 1 + static_cast<long>(random() % static_cast<unsigned long>(unbroken.calls));
    ASSERT_EQ(with_cut(from_scratch(), n, i).code, 137) << n;
    const bool there = fs::exists(at("run/last.safetensors"));
    went_on += there ? 1 : 0;
    const Ended e = run_wick_with(there ? training({"--resume"}) : from_scratch(), {}, at("said"));
    ASSERT_EQ(e.code, 0) << "cut " << i << " at " << n << ": " << e.err;
    EXPECT_EQ(result(), want) << "cut " << i << " at " << n;
    for (const auto& entry : fs::directory_iterator(at("run")))
      EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
  }
  EXPECT_GT(went_on, cuts() / 4);
}

TEST_F(PowerCuts, AModelIsTheOldOneOrTheNewOne) {
  ASSERT_EQ(run_wick_with(from_scratch(), {}, at("said")).code, 0);
  ASSERT_EQ(run_wick_with({"export", at("run"), "-o", at("m.onnx")}, {}, at("said")).code, 0);
  const Words convert = {"convert", at("m.onnx"), "-o", at("c.wick")};
  const Ended whole = with_cut(convert, 0, 0);
  ASSERT_EQ(whole.code, 0) << whole.err;
  ASSERT_GT(whole.calls, 2);
  const std::string made = contents(at("c.wick")), old = "an older file";
  for (long n = 1; n <= whole.calls; ++n) {
    for (int seed = 0; seed < 4; ++seed) {
      std::ofstream(at("c.wick")) << old;
      with_cut(convert, n, seed);
      const std::string now = contents(at("c.wick"));
      EXPECT_TRUE(now == old || now == made) << n << " " << now.size();
    }
  }
}

}  // namespace
}  // namespace wick::test
