#include "runtime/core/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wick {
namespace {

constinit thread_local FileLock* g_held = nullptr;

Status held_by_another(int fd, const char* lock, const char* what) {
  char pid[16] = "";
  const ssize_t n = pread(fd, pid, sizeof pid - 1, 0);
  pid[n > 0 ? n : 0] = '\0';
  const long number = strtol(pid, nullptr, 10);
  char who[40] = "another process";
  if (number > 0) snprintf(who, sizeof who, "process %ld", number);
  return error(Code::kIo,
               "%s writes %.300s (it holds %.300s): wait until it has ended, or write elsewhere",
               who, what, lock);
}

}  // namespace

FileLock::~FileLock() {
  if (fd_ < 0) return;
  FileLock** at = &g_held;
  while (*at != nullptr && *at != this) at = &(*at)->outer_;
  if (*at != nullptr) *at = outer_;
  unfinished_.done();
  unlink(path_);  // before it is let go: nobody waits for a file that has no name any more
  close(fd_);
}

Status FileLock::take(const char* lock, const char* what) {
  const int n = snprintf(path_, kMaxPath, "%s", lock);
  if (n < 0 || static_cast<size_t>(n) >= kMaxPath)
    return error(Code::kIo, "cannot lock %.300s: %s", what, strerror(ENAMETOOLONG));
  // Between its opening and its locking the holder may have removed it: then it guards nothing.
  for (int tries = 0; tries < 100; ++tries) {
    const int fd = open(path_, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    struct stat st, now;
    if (fd < 0) return error(Code::kIo, "cannot lock %.300s: %s", what, strerror(errno));
    if (fstat(fd, &st) != 0) st = {};
    for (const FileLock* held = g_held; held != nullptr; held = held->outer_) {
      if (held->device_ == st.st_dev && held->inode_ == st.st_ino) {
        close(fd);
        return {};
      }
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      const Status busy = held_by_another(fd, path_, what);
      close(fd);
      return busy;
    }
    if (stat(path_, &now) != 0 || now.st_ino != st.st_ino || now.st_dev != st.st_dev) {
      close(fd);
      continue;
    }
    char pid[24];
    const int length = snprintf(pid, sizeof pid, "%ld\n", static_cast<long>(getpid()));
    // Its number is told where it can be written: the lock holds without.
    if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, pid, static_cast<size_t>(length), 0);
    fd_ = fd;
    unfinished_.begin(path_);
    device_ = st.st_dev;
    inode_ = st.st_ino;
    outer_ = g_held;
    g_held = this;
    return {};
  }
  return error(Code::kIo, "cannot lock %.300s: its lock comes and goes", what);
}

}  // namespace wick
