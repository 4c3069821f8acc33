// Before any header: where off_t has 32 bits, stat() fails for files over 2 GiB and large inodes.
#define _FILE_OFFSET_BITS 64

#include "runtime/core/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/vfs.h>
#endif

#include <cerrno>
#include <cstring>

namespace wick {
namespace {

#if defined(__linux__)
constexpr uint32_t kLocalFileSystems[] = {
    0x0000EF53,  // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683E,  // btrfs
    0xF2F52010,  // f2fs
    0x2FC12FC1,  // zfs
    0xCA451A4E,  // bcachefs
    0x01021994,  // tmpfs
    0x858458F6,  // ramfs
    0x794C7630,  // overlay
    0x73717368,  // squashfs
    0xE0F5E1E2,  // erofs
};
#endif

Status failed(int cause) {
  return error(cause == ENOENT ? Code::kNotFound : Code::kIo, "%s", strerror(cause));
}

Status check_kind(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return Status(Code::kIo, "it is a folder, not a regular file");
  return error(Code::kIo,
               "it is a %s, not a regular file: save what it gives as a file and name that",
               S_ISLNK(mode)    ? "symbolic link"
               : S_ISFIFO(mode) ? "pipe"
               : S_ISSOCK(mode) ? "socket"
                                : "device");
}

}  // namespace

RegularFile::~RegularFile() {
  if (fd_ >= 0) close(fd_);
}

Status RegularFile::open(const char* path) { return open_at(AT_FDCWD, path, true); }
Status RegularFile::open_in(int folder, const char* name) { return open_at(folder, name, false); }

Status RegularFile::open_at(int folder, const char* path, bool follow) {
  struct stat st;
  // Looked at first, as some devices act when they are opened; then once more, as another file may
  // have been put there since. Nor is that one waited for.
  if (fstatat(folder, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return failed(errno);
  WICK_TRY(check_kind(st.st_mode));
  fd_ = openat(folder, path,
               O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
  if (fd_ < 0) return failed(errno);
  if (fstat(fd_, &st) != 0) return failed(errno);
  size_ = static_cast<uint64_t>(st.st_size);
  return check_kind(st.st_mode);
}

Status RegularFile::read(uint64_t offset, void* to, size_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t n = pread(fd_, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    if (n == 0) return Status(Code::kIo, "it became shorter while it was read");
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

Status RegularFile::check_size() const {
  struct stat st;
  if (fstat(fd_, &st) != 0) return failed(errno);
  if (static_cast<uint64_t>(st.st_size) == size_) return {};
  return error(
      Code::kIo,
      "it had %llu bytes and has %llu now: it was written while it was read, load it again",
      static_cast<unsigned long long>(size_), static_cast<unsigned long long>(st.st_size));
}

bool RegularFile::is_local() const {
#if defined(__linux__)
  struct statfs fs;
  if (fstatfs(fd_, &fs) != 0) return false;
  for (uint32_t type : kLocalFileSystems) {
    if (static_cast<uint32_t>(fs.f_type) == type) return true;
  }
#endif
  return false;
}

}  // namespace wick
