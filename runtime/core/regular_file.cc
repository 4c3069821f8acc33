#include "runtime/core/regular_file.h"

#include <cerrno>

#include "runtime/core/file_error.h"

namespace wick {
namespace {

using platform::FileInfo;
using platform::FileKind;

Status failed(int cause) {
  return error(cause == ENOENT ? Code::kNotFound : file_code(), "%s", file_words(cause));
}

Status check_kind(FileKind kind) {
  if (kind == FileKind::kRegular) return {};
  if (kind == FileKind::kFolder) return Status(Code::kIo, "it is a folder, not a regular file");
  return error(Code::kIo,
               "it is a %s, not a regular file: save what it gives as a file and name that",
               kind == FileKind::kLink     ? "symbolic link"
               : kind == FileKind::kPipe   ? "pipe"
               : kind == FileKind::kSocket ? "socket"
                                           : "device");
}

}  // namespace

RegularFile::~RegularFile() {
  if (fd_ >= 0) platform::close_file(fd_);
}

Status RegularFile::open(const char* path) { return open_at(platform::kNoFolder, path, true); }
Status RegularFile::open_in(int folder, const char* name) { return open_at(folder, name, false); }

Status RegularFile::open_at(int folder, const char* path, bool follow) {
  FileInfo info;
  // The kind is checked before opening, as some devices act when they are opened, and again
  // afterwards, as the file may have been replaced in between. Opening does not wait even then.
  int cause = platform::file_info(folder, path, follow, &info);
  if (cause != 0) return failed(cause);
  WICK_TRY(check_kind(info.kind));
  cause = platform::open_to_read(folder, path, follow, &fd_);
  if (cause == 0) cause = platform::file_info(fd_, &info);
  if (cause != 0) return failed(cause);
  size_ = info.size;
  return check_kind(info.kind);
}

Status RegularFile::read(uint64_t offset, void* to, size_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes != 0) {
    size_t n = 0;
    const int cause = platform::read_at(fd_, offset, at, bytes, &n);
    if (cause != 0) return failed(cause);
    if (n == 0) return Status(Code::kIo, "it became shorter while it was read");
    at += n;
    offset += n;
    bytes -= n;
  }
  return {};
}

Status RegularFile::check_size() const {
  FileInfo info;
  const int cause = platform::file_info(fd_, &info);
  if (cause != 0) return failed(cause);
  if (info.size == size_) return {};
  return error(
      Code::kIo,
      "it had %llu bytes and has %llu now: it was written while it was read, load it again",
      static_cast<unsigned long long>(size_), static_cast<unsigned long long>(info.size));
}

bool RegularFile::is_local() const { return platform::is_local(fd_); }

}  // namespace wick
