// Every call that can fail fails in turn, in every command: each command ends by itself, says why,
// and leaves the old file or the whole new one, and nothing else. `make test` tries a sample of the
// calls; WICK_TEST_FULL all of them. A full run that was interrupted continues where it stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

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
// Without the one time that a page holds.
std::string result(const fs::path& path) {
  std::string bytes = contents(path);
  const std::string time = "\"load_ms\":";
  if (const size_t at = bytes.find(time); at != std::string::npos)
    bytes.erase(at, bytes.find(',', at) - at);
  return bytes;
}
void put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
bool full() { return std::getenv("WICK_TEST_FULL") != nullptr; }

// A run, its models and its images, made once without faults.
class Faults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (fs::temp_directory_path() / "wick_faults_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root() = pattern;
    write_images(at("images"), 24, 8);
    sound({"train", "mlp", "--data", at("images"), "--epochs", "1", "--batch", "8", "--quiet", "-o",
           at("run")});
    sound({"export", at("run"), "-o", at("m.onnx"), "-o", at("m.wick")});
    sound({"data", at("images"), "-o", at("x.npy"), "--count", "4"});
  }
  static void TearDownTestSuite() { fs::remove_all(root()); }
  void SetUp() override {
    fs::remove_all(at("made"));
    fs::create_directories(at("made"));
  }

  static std::string& root() {
    static std::string folder;
    return folder;
  }
  static std::string at(const std::string& name) { return root() + "/" + name; }
  static std::string work(const std::string& name = "") { return root() + "/made/" + name; }
  static void sound(const Words& words) {
    const Ended e = run_wick(words, {}, at("said"));
    ASSERT_EQ(e.code, 0) << words[0] << ": " << e.err << e.out;
  }

  // Returns what the folder of results has that it must not; empty: nothing. `whole` has the files
  // that the command writes, with their contents; each must be that, or what it was before.
  static std::string wrong_files(const std::map<std::string, std::string>& before,
                                 const std::map<std::string, std::string>& whole, bool done) {
    for (const auto& entry : fs::recursive_directory_iterator(work())) {
      const std::string name = entry.path().filename().string();
      for (const char* kind : {".tmp.", ".old.", ".lock"})
        if (name.find(kind) != std::string::npos) return "left behind: " + name;
      if (!name.ends_with(".safetensors")) continue;
      try {
        load_safetensors(entry.path());
      } catch (const std::exception& e) {
        return name + ": " + e.what();
      }
    }
    for (const auto& [name, bytes] : whole) {
      const bool there = fs::exists(work(name)), was = before.contains(name);
      const std::string now = there ? result(work(name)) : "";
      if (done && now != bytes)
        return name + " is not what it should be, and all is said to be well";
      if (now != bytes && (there != was || (was && now != before.at(name))))
        return name + " is neither the old file nor the new one";
    }
    return "";
  }

  // `files`: what the command writes into work(), whose bytes are the same each time. `old`:
  // whether they are there before, as an earlier command's.
  void each_fails(const Words& words, const Words& files, bool old = true) {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    sound(words);
    std::map<std::string, std::string> whole, before;
    for (const std::string& name : files) whole[name] = result(work(name));
    if (old)
      for (const std::string& name : files) before[name] = "an older file";
    // The place where a full run stopped: the test, the kind, whether it stays, the next n.
    const std::string notes = std::string(WICK_FAULTS_NOTES) + "." + test;
    std::map<std::string, long> next;
    if (full()) {
      std::ifstream in(notes);
      std::string key;
      for (long n = 0; in >> key >> n;) next[key] = n;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(50);
    for (const char* kind :
         {"memory", "open", "read", "write", "fsync", "rename", "mmap", "thread"}) {
      const long calls = run_wick(words, {kind, 0, false}, at("said")).calls;
      for (const bool stays : {false, true}) {
        const std::string key = std::string(kind) + (stays ? "+" : "");
        // The sample takes every step-th call, from a start that depends on the test.
        const long step = full() ? 1 : std::max<long>(1, calls / kSample);
        long n = std::max<long>(1, next[key]);
        if (!full()) n = 1 + static_cast<long>(std::hash<std::string>()(test + key) % size_t(step));
        for (; n <= calls; n += step) {
          // Counts vary by a few: threads, and sizes of what is printed.
          for (const auto& [name, bytes] : whole) fs::remove(work(name));
          for (const auto& [name, bytes] : before) put(work(name), bytes);
          const Ended e = run_wick(words, {kind, n, stays}, at("said"));
          const std::string where = words[0] + ": " + kind + " " + std::to_string(n) +
                                    (stays ? " and all that follow" : "") + ": ";
          EXPECT_FALSE(e.slow) << where << "never ends";
          EXPECT_EQ(e.signal, 0) << where << e.err.substr(0, 300);
          EXPECT_TRUE(e.code == 0 || e.code == 1) << where << "code " << e.code << " " << e.err;
          EXPECT_FALSE(e.code == 1 && e.err.empty()) << where << "no word of what failed";
          EXPECT_EQ(wrong_files(before, whole, e.code == 0), "") << where << e.err;
          ++tried_;
          failed_ += e.code == 1 ? 1 : 0;
          if (HasFailure() && ++told_ > 20) FAIL() << "and so on";
          if (HasFailure()) clean();
          if (full() && n % 64 == 0) note(notes, next, key, n + 1);
          if (std::chrono::steady_clock::now() > end) {
            note(notes, next, key, n + 1);
            FAIL() << "stopped at " << where << "run it again to go on";
          }
        }
        if (full()) note(notes, next, key, calls + 1);
      }
    }
    if (full()) fs::remove(notes);
    printf("%s: %ld calls failed, %ld of them ended the command\n", test.c_str(), tried_, failed_);
    EXPECT_GT(failed_, 0);
  }

  static constexpr long kSample = 2;

 private:
  static void note(const std::string& file, std::map<std::string, long>& next,
                   const std::string& key, long n) {
    next[key] = n;
    std::ofstream out(file);
    for (const auto& [k, v] : next) out << k << " " << v << "\n";
  }
  // So that one failure is told once.
  static void clean() {
    for (const auto& entry : fs::directory_iterator(work())) {
      const std::string name = entry.path().filename().string();
      if (name.find(".tmp.") != std::string::npos || name.find(".lock") != std::string::npos)
        fs::remove(entry.path());
    }
  }
  long tried_ = 0, failed_ = 0;
  int told_ = 0;
};

TEST_F(Faults, Train) {
  each_fails({"train", "mlp", "--data", at("images"), "--epochs", "1", "--batch", "8", "--quiet",
              "-o", work("run")},
             {});
}
TEST_F(Faults, Resume) {
  fs::copy(at("run"), work("run"), fs::copy_options::recursive);
  each_fails({"train", "--resume", "-o", work("run"), "--quiet"}, {});
}
TEST_F(Faults, Export) {
  each_fails({"export", at("run"), "-o", work("e.onnx"), "-o", work("e.wick")},
             {"e.onnx", "e.wick"});
}
TEST_F(Faults, ConvertToAProgram) {
  each_fails({"convert", at("m.onnx"), "-o", work("c.wick")}, {"c.wick"});
}
TEST_F(Faults, ConvertWithDataBeside) {
  each_fails({"convert", at("m.onnx"), "-o", work("c.onnx"), "--external-data"},
             {"c.onnx", "c.onnx.data"});
}
TEST_F(Faults, Quantize) {
  each_fails({"quantize", at("m.onnx"), "--recipe", "weight-only", "-o", work("q.wick"),
              "--seconds", "0.01", "--threads", "1", "--quiet"},
             {"q.wick"});
}
TEST_F(Faults, Run) {
  each_fails({"run", at("m.wick"), "-i", "image=" + at("x.npy"), "-o", work("out")},
             {"out/logits.npy"}, false);
}
TEST_F(Faults, Inspect) { each_fails({"inspect", at("m.wick")}, {}); }
TEST_F(Faults, InspectAsJson) { each_fails({"inspect", at("m.onnx"), "--json"}, {}); }
TEST_F(Faults, InspectAsAPage) {
  each_fails({"inspect", at("m.wick"), "--html", work("page.html")}, {"page.html"});
}
TEST_F(Faults, Bench) {
  each_fails({"bench", at("m.wick"), "--seconds", "0.01", "--threads", "2"}, {});
}
TEST_F(Faults, Compare) { each_fails({"compare", at("m.onnx"), at("m.wick")}, {}); }
TEST_F(Faults, Report) {
  each_fails({"report", at("run"), "-o", work("report.html")}, {"report.html"});
}

}  // namespace
}  // namespace wick::test
