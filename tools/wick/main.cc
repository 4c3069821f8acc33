#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "runtime/core/unfinished.h"
#include "tools/lib/print.h"
#include "tools/wick/command.h"

namespace {

// A library's user wants the line that made the mistake; the lines behind a command are our own.
std::string without_source_line(std::string text) {
  size_t open = text.rfind(" (");
  if (open == std::string::npos || !text.ends_with(")")) return text;
  std::string inside = text.substr(open + 2, text.size() - open - 3);
  size_t colon = inside.rfind(':');
  if (colon == std::string::npos || colon + 1 == inside.size()) return text;
  std::string file = inside.substr(0, colon), line = inside.substr(colon + 1);
  bool source = file.ends_with(".cc") || file.ends_with(".h");
  if (source && line.find_first_not_of("0123456789") == std::string::npos) text.resize(open);
  return text;
}

// A file that is opened where a standard stream is closed would take its number, and what is
// printed would go into the file. Neither can this one be written.
void open_standard_streams() {
  int fd = open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDONLY);
  if (fd >= 0) close(fd);
}

// Without memory no text can be made of the error, and what unwinds may need some: nlohmann's trees
// allocate where they are destroyed. The old files are there, since new ones are written beside
// them.
void say_out_of_memory() {
  constexpr char kText[] = "wick: out of memory\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
}
[[noreturn]] void end_without_memory() {
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    wick::remove_unfinished();
    _exit(wick::tool::kFailed);
  } catch (...) {
  }
  std::abort();  // a bug
}

int run(int argc, char** argv) {
  using namespace wick::tool;  // NOLINT: every command is named once below
  CommandLine app("wick", "Wick: train a model, export it, run it anywhere, with the same bits.",
                  WICK_VERSION);
  add_train(app);
  add_explain(app);
  add_export(app);
  add_convert(app);
  add_run(app);
  add_compare(app);
  add_bench(app);
  add_inspect(app);
  add_ops(app);
  add_devices(app);
  add_selftest(app);
  add_conformance(app);
  add_prove(app);
  add_report(app);
  add_quantize(app);
  add_data(app);
  int code = 0;
  try {
    code = app.run(argc, argv);
  } catch (const Differs&) {
    code = kDiffers;
  } catch (const Interrupted&) {
    code = kInterrupted;
  }
  finish_output();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end_without_memory);
  // glibc loads what it unwinds pthread_once() by when that is needed first: while there is memory.
  void* frame = nullptr;
  (void)backtrace(&frame, 1);
  open_standard_streams();
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
  } catch (const std::exception& failed) {
    wick::tool::say(stderr, "wick: {}\n", without_source_line(failed.what()));
  }
  return wick::tool::kFailed;
}
