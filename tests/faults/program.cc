#include "tests/faults/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace wick::test {
namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Ended run_wick_with(const std::vector<std::string>& arguments, const std::vector<std::string>& more,
                    const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::string out = folder + "/out", err = folder + "/err", count = folder + "/count";
  std::filesystem::remove(count);
  std::vector<std::string> words = {WICK_PROGRAM}, settings;
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (char** e = environ; *e != nullptr; ++e) settings.emplace_back(*e);
  settings.insert(settings.end(), more.begin(), more.end());
  std::vector<char*> argv, env;
  for (std::string& w : words) argv.push_back(w.data());
  for (std::string& s : settings) env.push_back(s.data());
  argv.push_back(nullptr), env.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = -1;
  const int failed = posix_spawn(&child, WICK_PROGRAM, &files, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " WICK_PROGRAM);

  Ended e;
  int status = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (auto pause = std::chrono::milliseconds(1); waitpid(child, &status, WNOHANG) == 0;
       pause = std::min(2 * pause, std::chrono::milliseconds(8))) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(2)) {
      e.slow = true;
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(pause);
  }
  e.code = WIFEXITED(status) && !e.slow ? WEXITSTATUS(status) : -1;
  e.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  e.out = contents(out);
  e.err = contents(err);
  std::ifstream(count) >> e.calls;
  return e;
}

Ended run_wick(const std::vector<std::string>& arguments, const Fault& fault,
               const std::string& folder) {
  std::vector<std::string> settings = {"LD_PRELOAD=" WICK_FAIL_NTH, "WICK_FAULT_KIND=" + fault.kind,
                                       "WICK_FAULT_N=" + std::to_string(fault.n),
                                       "WICK_FAULT_COUNT=" + folder + "/count"};
  if (fault.stays) settings.emplace_back("WICK_FAULT_STAYS=1");
  return run_wick_with(arguments, settings, folder);
}

}  // namespace wick::test
