#include "tools/wick/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "runtime/core/printable.h"
#include "tools/lib/std_files.h"

namespace wick::tool {
namespace {

// Returns how many bytes at the end of `text` begin a UTF-8 character whose rest may still come.
size_t begun_at_end(const std::string& text) {
  const size_t size = text.size();
  for (size_t back = 1; back <= 3 && back <= size; ++back) {
    const auto lead = static_cast<unsigned char>(text[size - back]);
    if (lead < 0x80) return 0;
    if (lead < 0xC0) continue;
    const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    return bytes > back ? back : 0;
  }
  return 0;
}

class Guarded {
 public:
  // There is only one object for each descriptor; it lives as long as the process.
  std::FILE* open(int fd) {
    fd_ = fd;
    cookie_io_functions_t calls = {};
    calls.write = [](void* self, const char* text, size_t size) {
      return static_cast<Guarded*>(self)->write(text, size);
    };
    std::FILE* file = fopencookie(this, "w", calls);
    if (file != nullptr)
      setvbuf(file, nullptr,
              fd == STDERR_FILENO ? _IONBF
              : isatty(fd) != 0   ? _IOLBF
                                  : _IOFBF,
              BUFSIZ);
    return file;
  }
  // Prints the beginning of a character that was never completed.
  void end() {
    put(printable(begun_));
    begun_.clear();
  }
  int failure() const { return failure_; }

 private:
  // The C library calls this, so no exception may leave it. A failed write is reported at the end
  // and not to the caller: in the middle of a message it would become an exception of fmt's.
  ssize_t write(const char* text, size_t size) noexcept try {
    begun_.append(text, size);
    const size_t whole = begun_.size() - begun_at_end(begun_);
    const std::string out = printable(shown(begun_.substr(0, whole)));
    begun_.erase(0, whole);
    put(out);
    return static_cast<ssize_t>(size);
  } catch (const std::bad_alloc&) {
    failure_ = ENOMEM;
    return static_cast<ssize_t>(size);
  }
  void put(const std::string& out) {
    for (size_t at = 0; at < out.size();) {
      const ssize_t n = ::write(fd_, out.data() + at, out.size() - at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        if (failure_ == 0) failure_ = n < 0 ? errno : ENOSPC;
        return;
      }
      at += static_cast<size_t>(n);
    }
  }

  int fd_ = -1, failure_ = 0;
  std::string begun_;
};

struct Outputs {
  Guarded out, err;
  std::FILE* plain_err = stderr;
};
Outputs& outputs() {
  static auto* const all = new Outputs;  // printing may go on while the process ends
  return *all;
}

}  // namespace

void guard_output() {
  Outputs& all = outputs();
  std::FILE *out = all.out.open(STDOUT_FILENO), *err = all.err.open(STDERR_FILENO);
  if (out != nullptr) stdout = out;
  if (err != nullptr) stderr = err;
}

std::FILE* plain_stderr() { return outputs().plain_err; }

bool end_output() {
  std::fflush(stdout);
  outputs().out.end();
  std::fflush(stderr);
  outputs().err.end();
  const int failure = outputs().out.failure();
  if (failure != 0) {
    fmt::print(
        stderr,
        "wick: standard output cannot be written: {}; what is missing of it was computed all "
        "the same\n",
        strerror(failure));
  }
  return failure == 0;
}

}  // namespace wick::tool
