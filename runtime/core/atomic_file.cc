#include "runtime/core/atomic_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace wick {
namespace {

constexpr int kMaxWriters = 64;  // of one path at one time

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
AtomicFile* g_open = nullptr;  // those with a temporary file, under g_mutex

// The rename itself must survive a power cut: 0, or why it may not. Some file systems refuse to
// sync a folder, and keep the file complete either way.
int sync_folder_of(const char* path) {
  char folder_path[4096];
  const char* slash = strrchr(path, '/');
  const size_t n = slash == nullptr ? 0 : static_cast<size_t>(slash - path) + 1;
  if (n >= sizeof(folder_path)) return 0;
  memcpy(folder_path, path, n);
  memcpy(folder_path + n, n == 0 ? "." : "", n == 0 ? 2 : 1);
  const int folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  const int failed = fsync(folder) == 0 ? 0 : errno;
  close(folder);
  return failed == EINVAL || failed == ENOTSUP || failed == EROFS ? 0 : failed;
}

// Opens a temporary file that nobody else writes, as the lock on it says (locks end with their
// process). What a process that was killed has left under the name is removed. -1: errno says why;
// EBUSY: somebody writes it.
int open_temporary(const char* name) {
  for (int tries = 0; tries < 16; ++tries) {
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    const bool made = fd >= 0;
    if (!made) {
      if (errno != EEXIST) return -1;
      fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
      if (fd < 0 && errno == ENOENT) continue;  // it was renamed meanwhile
      struct stat st = {};
      if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
        if (fd >= 0) close(fd);
        return errno = EBUSY, -1;
      }
    }
    // Where a file system knows no locks, a file that is there counts as somebody's.
    const int locked = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    struct stat held = {}, named = {};
    const bool ours = fstat(fd, &held) == 0 && lstat(name, &named) == 0 &&
                      held.st_dev == named.st_dev && held.st_ino == named.st_ino;
    if (made && ours && locked != EWOULDBLOCK) return fd;
    if (!made && ours && locked == 0) unlink(name);  // and again, for one of our own making
    close(fd);
    if (locked != 0 && ours) return errno = EBUSY, -1;
  }
  return errno = EBUSY, -1;
}

}  // namespace

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (temporary_[0] != '\0') unlink(temporary_);
  forget();
}

void AtomicFile::enlist() {
  pthread_mutex_lock(&g_mutex);
  behind_ = g_open;
  if (g_open != nullptr) g_open->before_ = this;
  g_open = this;
  pthread_mutex_unlock(&g_mutex);
}

// There is no temporary file any more.
void AtomicFile::forget() {
  pthread_mutex_lock(&g_mutex);
  temporary_[0] = '\0';
  if (before_ != nullptr) before_->behind_ = behind_;
  if (behind_ != nullptr) behind_->before_ = before_;
  if (g_open == this) g_open = behind_;
  before_ = behind_ = nullptr;
  pthread_mutex_unlock(&g_mutex);
}

void AtomicFile::abandon_all() {
  pthread_mutex_lock(&g_mutex);
  for (const AtomicFile* file = g_open; file != nullptr; file = file->behind_)
    unlink(file->temporary_);
  pthread_mutex_unlock(&g_mutex);
}

Status AtomicFile::fail(const char* what, int cause) {
  discard();
  return error(Code::kIo, "cannot %s %s: %s; an older file of this name is unchanged", what, path_,
               strerror(cause));
}

Status AtomicFile::open(const char* path) {
  path_ = path;
  for (int i = 0; i < kMaxWriters && fd_ < 0; ++i) {
    const int n = snprintf(temporary_, kMaxPath, "%s.tmp.%d", path, i);
    if (n < 0 || static_cast<size_t>(n) >= kMaxPath) {
      temporary_[0] = '\0';
      return fail("create", ENAMETOOLONG);
    }
    fd_ = open_temporary(temporary_);
    if (fd_ < 0 && errno != EBUSY) break;
  }
  if (fd_ < 0 && errno == ENOENT) {  // there is no older file to speak of
    temporary_[0] = '\0';
    return error(Code::kIo, "cannot create %s: No such file or directory (its folder is missing)",
                 path);
  }
  if (fd_ < 0) {
    temporary_[0] = '\0';  // it is nobody's, or another's
    return fail("create", errno);
  }
  enlist();
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
  // Its lock is held until it has its name: nobody takes it for a leftover.
  if (rename(temporary_, path_) != 0) return fail("replace", errno);
  forget();
  close(std::exchange(fd_, -1));
  if (const int failed = sync_folder_of(path_); failed != 0) {
    return error(Code::kIo, "%s is written, but its name may not outlast a power cut: %s", path_,
                 strerror(failed));
  }
  return {};
}

Status write_file_atomically(const char* path, const void* bytes, size_t n) {
  AtomicFile file;
  WICK_TRY(file.open(path));
  WICK_TRY(file.write(bytes, n));
  return file.commit();
}

}  // namespace wick
