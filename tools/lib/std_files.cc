#include "tools/lib/std_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "tools/lib/scratch_folder.h"
#include "tools/lib/usage.h"

namespace wick::tool {
namespace {

struct StdFileState {
  std::optional<ScratchFolder> folder;
  std::string in, out;           // paths; "" before they are asked for
  std::FILE* printed = nullptr;  // stdout as it was before stdout_file()

  std::string path(const std::string& name) {
    if (!folder) folder.emplace();
    return folder->file(name);
  }
};
StdFileState*& std_state() {
  static StdFileState* current = nullptr;
  return current;
}
StdFileState& std_now() {
  if (std_state() == nullptr) throw Error("there is no command line that '-' belongs to");
  return *std_state();
}

struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

bool write_bytes(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// Copies to the end of `from`. Returns its first bytes.
std::string copy_bytes(int from, int to, const char* read_what, const char* written_what) {
  std::array<char, 1 << 16> buffer;
  std::string head;
  for (;;) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw Error(fmt::format("cannot read {}: {}", read_what, strerror(errno)), Code::kIo);
    if (n == 0) return head;
    if (head.size() < 8)
      head.append(buffer.data(), std::min<size_t>(static_cast<size_t>(n), 8 - head.size()));
    if (!write_bytes(to, buffer.data(), static_cast<size_t>(n)))
      throw Error(fmt::format("cannot write {}: {}", written_what, strerror(errno)), Code::kIo);
  }
}

// Arrays are told apart by the endings of their files: JSON begins with a bracket, and a message of
// ONNX's with one of three of its fields. Models are told apart by their bytes.
const char* ending_of(const std::string& head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (head[first] == '[' || head[first] == '{')) return ".json";
  return head[0] == 0x08 || head[0] == 0x0a || head[0] == 0x10 ? ".pb" : "";
}

void put_for(std::string* text, const std::string& what, const char* by) {
  if (what.empty()) return;
  for (size_t at = 0; (at = text->find(what, at)) != std::string::npos;)
    text->replace(at, what.size(), by);
}

}  // namespace

bool is_std_file(const std::string& value) { return value == "-" || value.starts_with("-."); }

std::string stdin_file() {
  StdFileState& f = std_now();
  if (!f.in.empty())
    wrong_usage("-", "standard input is read twice; name a file for one of the two");
  f.in = f.path("stdin");
  std::string head;
  {
    const OpenFile to{open(f.in.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (to.fd < 0)
      throw Error(fmt::format("cannot create {}: {}", f.in, strerror(errno)), Code::kIo);
    head = copy_bytes(STDIN_FILENO, to.fd, "standard input", f.in.c_str());
  }
  if (head.empty())
    throw Error("standard input is empty; '-' reads a file from it: wick COMMAND - < FILE",
                Code::kIo);
  const std::string named = f.in + ending_of(head);
  std::filesystem::rename(f.in, named);
  return f.in = named;
}

std::string stdout_file(const std::string& ending) {
  StdFileState& f = std_now();
  if (!f.out.empty())
    wrong_usage("-", "standard output is written twice; name a file for one of the two");
  if (isatty(STDOUT_FILENO) != 0)
    wrong_usage("-", "standard output is a terminal, which takes no file; redirect it: > FILE");
  f.out = f.path("stdout" + ending);
  std::fflush(stdout);
  f.printed = stdout;
  stdout = stderr;
  return f.out;
}

std::string shown(const std::string& text) {
  if (std_state() == nullptr || !std_state()->folder) return text;
  std::string all = text;
  put_for(&all, std_state()->in, "-");
  put_for(&all, std_state()->out, "-");
  return all;
}

StdFiles::StdFiles() { std_state() = new StdFileState; }
StdFiles::~StdFiles() {
  std::fflush(stdout);  // what waits there may name the files
  if (std_state()->printed != nullptr) stdout = std_state()->printed;
  delete std_state();
  std_state() = nullptr;
}

void StdFiles::send() {
  StdFileState& f = *std_state();
  if (f.out.empty()) return;
  const OpenFile from{open(f.out.c_str(), O_RDONLY | O_CLOEXEC)};
  if (from.fd < 0) return;  // the command ended without it
  copy_bytes(from.fd, STDOUT_FILENO, f.out.c_str(), "standard output");
}

}  // namespace wick::tool
