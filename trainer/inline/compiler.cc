#include "trainer/inline/compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Words words_of(const std::string& text) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Returns the folders that a source's includes need below `root`, an installed package's folder or
// a tree's; none if Wick is not there.
Words headers_in(const fs::path& root) {
  std::error_code unknown;
  if (fs::exists(root / "wick/custom_op.h", unknown)) return {root.string()};
  if (fs::exists(root / "runtime/include/wick/custom_op.h", unknown))
    return {root.string(), (root / "runtime/include").string()};
  return {};
}

Words include_folders(const std::string& asked, const Where& where) {
  std::string given = asked.empty() ? variable("WICK_INCLUDE") : asked;
  if (!given.empty()) {
    Words found = headers_in(given);
    if (found.empty()) {
      throw_error("load_inline",
                  given +
                      " has no wick/custom_op.h: name the folder that has it, as in "
                      "PREFIX/include/wick",
                  where, Code::kNotFound);
    }
    return found;
  }
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path beside = program.parent_path().parent_path() / "include/wick";
  for (const fs::path& root : {beside, fs::path(WICK_SOURCE_TREE), fs::path(WICK_INSTALLED)}) {
    if (Words found = headers_in(root); !found.empty()) return found;
  }
  throw_error("load_inline",
              "Wick's headers are not beside this program, nor in " WICK_SOURCE_TREE
              " or " WICK_INSTALLED ": set WICK_INCLUDE to the folder that has wick/custom_op.h",
              where, Code::kNotFound);
}

}  // namespace

Words compiler_command(const InlineOptions& options, const std::string& beside,
                       const Where& where) {
  std::string compiler = options.compiler.empty() ? variable("CXX") : options.compiler;
  Words command = words_of(compiler);
  if (command.empty()) command = {"c++"};
  // As runtime/registry/CMakeLists.txt has it for Wick::ops; the definitions change the headers.
  for (const char* word : {"-std=c++20", "-O3", "-fPIC", "-shared", "-ffp-contract=off",
                           "-fvisibility=hidden", "-Wall"})
    command.emplace_back(word);
  command.push_back("-DWICK_SMALL=" + std::to_string(WICK_SMALL));
  command.push_back("-DWICK_ERROR_TEXTS=" + std::to_string(WICK_ERROR_TEXTS));
  // Highway 1.0.3 refuses -march=native on a processor with AVX3_DL unless that is asked for.
  command.emplace_back("-DHWY_WANT_AVX3_DL");
  for (const std::string& folder : include_folders(options.include, where))
    command.push_back("-I" + folder);
  if (!beside.empty()) command.push_back("-I" + beside);
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  return command;
}

CompilerRun run_compiler(const Words& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  CompilerRun run;
  std::array<char, 4096> buffer;
  for (ssize_t n; failed == 0 && (n = read(ends[0], buffer.data(), buffer.size())) != 0;) {
    if (n > 0) run.said.append(buffer.data(), static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (failed != 0) return {};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  run.started = run.code != 127;  // where the child finds out that there is no such program
  return run;
}

}  // namespace wick
