#include "tools/lib/print.h"

#include <cerrno>
#include <cstring>

#include "runtime/core/printable.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

int g_cause = 0;  // why something was not written to stdout

void note(std::FILE* out, bool written) {
  if (out == stdout && !written && g_cause == 0) g_cause = errno != 0 ? errno : EIO;
}

}  // namespace

void print_text(std::FILE* out, const std::string& text) {
  const std::string shown = printable(text);
  errno = 0;
  note(out, std::fwrite(shown.data(), 1, shown.size(), out) == shown.size());
}

void finish_output() {
  errno = 0;
  note(stdout, std::fflush(stdout) == 0);
  if (g_cause == 0) return;
  throw Error(std::string("standard output cannot be written: ") + std::strerror(g_cause) +
                  "; what is missing of it was computed all the same",
              Code::kIo);
}

}  // namespace wick::tool
