// The same files given to the command, in a child process whose memory the system counts. Seconds
// are asserted only in the part `timing` of the full run, where nothing else runs at the same time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/bombs/bomb.h"
#include "tests/runtime/programs.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

using bombs::Bomb;

constexpr long kMemory = 256 << 10;  // KiB
constexpr double kSeconds = 1, kSecondsWithTimeout = 2, kSecondsUnasked = 8;

bool full() { return getenv("WICK_TEST_FULL") != nullptr; }

struct Ended {
  int status = 0;
  double seconds = 0;
  long kib = 0;
  std::string text;
};

// Runs `run` in a child; returns its output.
Ended in_child(const std::string& folder, const std::function<void()>& run) {
  const std::string log = folder + "log";
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    const int to = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(to, 1), dup2(to, 2);
    run();
    _exit(0);
  }
  Ended e;
  rusage used = {};
  EXPECT_EQ(wait4(child, &e.status, 0, &used), child);
  e.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  e.kib = used.ru_maxrss;
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  e.text = text.str().substr(0, 2000);
  return e;
}

Ended command(const std::string& folder, std::vector<std::string> words) {
  words.insert(words.begin(), WICK_COMMAND);
  return in_child(folder, [&] {
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(126);
  });
}

// It ended by itself, with a word where it failed.
void check(const Ended& e, const std::string& what, double seconds) {
  ASSERT_TRUE(WIFEXITED(e.status)) << what << ": signal " << WTERMSIG(e.status) << "\n" << e.text;
  ASSERT_NE(WEXITSTATUS(e.status), 126) << what;
  if (WEXITSTATUS(e.status) != 0) {
    EXPECT_NE(e.text, "") << what;
  }
#if !defined(__SANITIZE_ADDRESS__)  // shadow memory counts there
  EXPECT_LT(e.kib, kMemory) << what << "\n" << e.text;
#endif
  if (full()) {
    EXPECT_LT(e.seconds, seconds) << what << "\n" << e.text;
  }
}

std::vector<Bomb> some(std::vector<Bomb> list) {
  if (full()) return list;
  std::vector<Bomb> few;  // `make test` looks at one in twelve
  for (size_t k = 0; k < list.size(); k += 12) few.push_back(std::move(list[k]));
  return few;
}

std::vector<Bomb> models() {
  std::vector<Bomb> list = bombs::onnx_bombs();
  for (Bomb& b : bombs::tflite_bombs()) list.push_back(std::move(b));
  return list;
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void open_program(const std::string& path) {
  auto program = Program::load(path.c_str());
  if (!program.ok()) {
    std::printf("%s\n", program.status().message());
    return;
  }
  const auto session = Session::create(**program);
  if (!session.ok()) std::printf("%s\n", session.status().message());
  std::fflush(stdout);
}

TEST(BombCommands, InspectConvertAndOpen) {
  const std::string folder = test::temp_folder();
  for (const Bomb& b : some(models())) {
    const std::string onnx = folder + "m.onnx", wick = folder + "m.wick";
    std::filesystem::remove(wick);
    write(onnx, b.bytes);
    check(command(folder, {"inspect", onnx}), b.name + ": inspect", kSeconds);
    check(command(folder, {"convert", onnx, "-o", wick}), b.name + ": convert", kSeconds);
    if (!std::filesystem::exists(wick)) continue;
    check(in_child(folder, [&] { open_program(wick); }), b.name + ": open", kSeconds);
  }
  for (const Bomb& b : some(bombs::wick_bombs())) {
    const std::string wick = folder + "m.wick";
    write(wick, b.bytes);
    check(command(folder, {"inspect", wick}), b.name + ": inspect", kSeconds);
    check(in_child(folder, [&] { open_program(wick); }), b.name + ": open", kSeconds);
  }
}

// What these commands do by themselves, without being asked to run anything, is bounded: passes are
// checked on a sample, the file is verified, a page has sizes. All of the files, by their memory.
TEST(BombCommands, NothingRunsUnasked) {
  const std::string folder = test::temp_folder();
  const std::string model = folder + "unasked.onnx", wick = folder + "unasked.wick",
                    page = folder + "unasked.html";
  for (const Bomb& b : models()) {
    write(model, b.bytes);
    check(command(folder, {"convert", model, "-o", wick}), b.name + ": convert", kSecondsUnasked);
    check(command(folder, {"inspect", model, "--html", page}), b.name + ": page", kSecondsUnasked);
  }
  for (const Bomb& b : bombs::wick_bombs()) {
    write(wick, b.bytes);
    check(command(folder, {"inspect", wick, "--html", page}), b.name + ": page", kSecondsUnasked);
  }
}

TEST(BombCommands, RunEndsInTime) {
  const std::string folder = test::temp_folder();
  for (const Bomb& b : some(models())) {
    const std::string onnx = folder + "m.onnx";
    write(onnx, b.bytes);
    check(command(folder, {"run", onnx, "--timeout", "1", "--max-ram", "256M"}), b.name + ": run",
          kSecondsWithTimeout);
  }
}

}  // namespace
}  // namespace wick
