#include "runtime/core/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/core/leftovers.h"

namespace wick {
namespace {

// Two threads may write the same path: each needs a temporary file of its own.
constinit std::atomic<unsigned> g_serial{0};

const char* name_in(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}
// The folder of `path` into `buffer`, which holds more than the path takes.
void folder_of(const char* path, char* buffer) {
  const size_t n = static_cast<size_t>(name_in(path) - path);
  memcpy(buffer, path, n);
  memcpy(buffer + n, n == 0 ? "." : "", n == 0 ? 2 : 1);
}

// The rename itself must survive a power cut. Some file systems refuse to sync a folder (EINVAL),
// and a folder that may be written need not be readable (EACCES): the file is complete either way.
int sync_folder(const char* folder) {
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : errno;
  const int cause = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return cause;
}

}  // namespace

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (temporary_[0] != '\0') unlink(temporary_);
  unfinished_.done();
  temporary_[0] = '\0';
}

Status AtomicFile::fail(const char* what, int cause) {
  discard();
  return error(Code::kIo, "cannot %s %s: %s; an older file of this name is unchanged", what, path_,
               strerror(cause));
}

Status AtomicFile::open(const char* path) {
  path_ = path;
  unsigned serial = g_serial.fetch_add(1, std::memory_order_relaxed);
  int n =
      snprintf(temporary_, kMaxPath, "%s.tmp.%ld.%u", path, static_cast<long>(getpid()), serial);
  if (n < 0 || static_cast<size_t>(n) >= kMaxPath) {
    temporary_[0] = '\0';
    return fail("create", ENAMETOOLONG);
  }
  char folder[kMaxPath];
  folder_of(path, folder);
  remove_leftovers(folder, name_in(path));
  // A file of this name is left from a killed process whose number we now have.
  unlink(temporary_);
  fd_ = ::open(temporary_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0 && errno == ENOENT) {  // there is no older file to speak of
    temporary_[0] = '\0';
    return error(Code::kIo, "cannot create %s: No such file or directory (its folder is missing)",
                 path);
  }
  if (fd_ < 0) return fail("create", errno);
  unfinished_.begin(temporary_);
  // Held until the rename, so that who clears up knows that it is not left behind; a file system
  // without locks goes by the process's number.
  (void)flock(fd_, LOCK_EX | LOCK_NB);
  return {};
}

Status AtomicFile::write(const void* bytes, size_t n) {
  constexpr size_t kMost = size_t{1} << 30;  // some systems refuse more in one call
  const char* p = static_cast<const char*>(bytes);
  while (n > 0) {
    ssize_t done = ::write(fd_, p, n < kMost ? n : kMost);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return fail("write", done < 0 ? errno : ENOSPC);
    p += done;
    n -= static_cast<size_t>(done);
  }
  return Status();
}

Status AtomicFile::flush() { return fsync(fd_) == 0 ? Status() : fail("flush", errno); }

Status AtomicFile::commit() {
  WICK_TRY(flush());
  // Open until it has its name, which says that it is still written. O_TMPFILE and linkat() would
  // leave nothing behind, but cannot replace a file that is there.
  if (rename(temporary_, path_) != 0) return fail("replace", errno);
  unfinished_.done();
  close(fd_);  // what it might still say, flush() has said
  fd_ = -1;
  folder_of(path_, temporary_);
  const int cause = sync_folder(temporary_);
  temporary_[0] = '\0';
  if (cause == 0) return {};
  return error(Code::kIo,
               "%.300s is written whole, but its folder cannot be flushed (%s): a power cut may "
               "bring an older file of this name back; write it again",
               path_, strerror(cause));
}

Status write_file_atomically(const char* path, const void* bytes, size_t n) {
  AtomicFile file;
  WICK_TRY(file.open(path));
  WICK_TRY(file.write(bytes, n));
  return file.commit();
}

}  // namespace wick
