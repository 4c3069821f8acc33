#include "tools/wick/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace wick::tool {
namespace {

// A character that begins at text[0]: its bytes and its number; 0 bytes where a whole one may still
// come, one byte and -1 where none ever will.
struct Character {
  size_t bytes = 1;
  int32_t number = -1;
};
Character first_of(const char* text, size_t size) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, lead};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {};
  int32_t number = lead & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if (i == size) return {0, -1};
    if ((at(i) & 0xC0) != 0x80) return {};
    number = number << 6 | (at(i) & 0x3F);
  }
  const int32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  if (number < least || number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) return {};
  return {bytes, number};
}

bool harmless(int32_t c) {
  if (c < 0x20) return c == '\n' || c == '\t';
  if (c < 0xA0) return c < 0x7F;
  const bool turns = c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                     (c >= 0x2066 && c <= 0x2069);
  return !turns && c != 0x2028 && c != 0x2029;
}

// Escapes what is whole; gives how many bytes that was.
size_t escape(const char* text, size_t size, std::string* to) {
  size_t i = 0;
  while (i < size) {
    const Character c = first_of(text + i, size - i);
    if (c.bytes == 0) return i;
    if (c.number >= 0 && harmless(c.number)) {
      to->append(text + i, c.bytes);
    } else if (c.number < 0) {
      *to += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else {
      *to += fmt::format("\\u{:04x}", c.number);
    }
    i += c.bytes;
  }
  return i;
}

class Guarded {
 public:
  // Only one object for each descriptor; it lives as long as the process.
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
  // The beginning of a character that never came.
  void end() {
    std::string out;
    for (char c : begun_) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    begun_.clear();
    put(out);
  }
  int failure() const { return failure_; }

 private:
  ssize_t write(const char* text, size_t size) {
    std::string out;
    begun_.append(text, size);
    begun_.erase(0, escape(begun_.data(), begun_.size(), &out));
    return put(out) ? static_cast<ssize_t>(size) : 0;
  }
  bool put(const std::string& out) {
    for (size_t at = 0; at < out.size();) {
      const ssize_t n = ::write(fd_, out.data() + at, out.size() - at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        if (failure_ == 0) failure_ = n < 0 ? errno : ENOSPC;
        return false;
      }
      at += static_cast<size_t>(n);
    }
    return true;
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

std::string escaped(const std::string& text) {
  std::string out;
  const size_t done = escape(text.data(), text.size(), &out);
  for (size_t i = done; i < text.size(); ++i)
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
  return out;
}

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
  if (failure != 0) fmt::print(stderr, "wick: cannot write to stdout: {}\n", strerror(failure));
  return failure == 0;
}

}  // namespace wick::tool
