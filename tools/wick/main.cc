#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "runtime/core/unfinished.h"
#include "tools/wick/command.h"
#include "tools/wick/terminal.h"

namespace {

// If a standard stream is closed, a file opened later would get its number, and printed text would
// go into the file. So each gets a descriptor here that cannot be written either.
void open_standard_streams() {
  int fd = open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDONLY);
  if (fd >= 0) close(fd);
}

// Without memory no text can be made from the error, and unwinding may need some, too: nlohmann's
// trees allocate in their destructors. The old files are intact, since new ones are written next to
// them.
[[noreturn]] void end_without_memory() {
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    constexpr char kText[] = "wick: out of memory\n";
    (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
    wick::remove_unfinished();
    _exit(wick::tool::kFailed);
  } catch (...) {
  }
  std::abort();  // a bug
}

}  // namespace

int main(int argc, char** argv) {
  using namespace wick::tool;  // NOLINT: it is the program that this room makes
  std::set_terminate(end_without_memory);
  // glibc loads the library by which it unwinds pthread_once() when it first needs it: do it now,
  // while there is memory.
  void* frame = nullptr;
  (void)backtrace(&frame, 1);
  open_standard_streams();
  std::signal(SIGXFSZ,
              SIG_IGN);  // exceeding the file size limit is an error of write(), which cleans up
  guard_output();
  const int code = run_wick(argc, argv);
  return end_output() ? code : std::max(code, kFailed);
}
