#include "tests/fuzz/scratch.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace wick::fuzz {
namespace {

namespace fs = std::filesystem;

// Reads a pipe that nobody writes to: its end is that of the last process that could.
[[noreturn]] void remove_at_the_end(int pipe, const std::string& path) {
  setsid();  // not a signal of the terminal's group
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  // Close inherited files: whoever waits for this program's output must not wait for this process.
  for (int fd = 0, most = static_cast<int>(sysconf(_SC_OPEN_MAX)); fd < most && fd < 1024; ++fd) {
    if (fd != pipe) close(fd);
  }
  char byte;
  while (read(pipe, &byte, 1) != 0) {
  }
  std::error_code none;
  fs::remove_all(path, none);
  _exit(0);
}

std::string make() {
  std::error_code none;
  fs::path folder = fs::temp_directory_path(none);  // TMPDIR's
  if (none) folder = "/tmp";
  std::string path = (folder / "wick-fuzz-XXXXXX").string();
  int ends[2];
  if (mkdtemp(path.data()) == nullptr || pipe(ends) != 0) _exit(3);
  const pid_t pid = fork();
  if (pid < 0) _exit(3);
  if (pid == 0) {
    close(ends[1]);
    remove_at_the_end(ends[0], path);
  }
  close(ends[0]);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return path;
}

}  // namespace

const std::string& scratch() {
  static const std::string path = make();
  return path;
}

void empty_scratch() {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(scratch(), none))
    fs::remove_all(entry.path(), none);
}

}  // namespace wick::fuzz
