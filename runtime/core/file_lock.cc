#include "runtime/core/file_lock.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "runtime/core/file_error.h"

namespace wick {
namespace {

constinit WICK_THREAD_LOCAL FileLock* g_held = nullptr;

Status held_by_another(int fd, const char* lock, const char* what) {
  char pid[16] = "";
  size_t n = 0;
  if (platform::read_at(fd, 0, pid, sizeof pid - 1, &n) == 0) pid[n] = '\0';
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
  // The file is removed before the lock is released: nobody waits for a file that has no name any
  // more.
  platform::remove_file(path_);
  platform::close_file(fd_);
}

Status FileLock::take(const char* lock, const char* what) {
  const int n = snprintf(path_, kMaxPath, "%s", lock);
  if (n < 0 || static_cast<size_t>(n) >= kMaxPath)
    return error(Code::kIo, "cannot lock %.300s: %s", what, file_words(ENAMETOOLONG));
  // The holder may remove the file after we opened and before we locked it; our lock would then
  // protect nothing, so we try again.
  for (int tries = 0; tries < 100; ++tries) {
    int fd = -1;
    const int cause = platform::open_lock_file(path_, &fd);
    if (cause != 0) return error(file_code(), "cannot lock %.300s: %s", what, file_words(cause));
    platform::FileInfo file, now;
    if (platform::file_info(fd, &file) != 0) file = {};
    for (const FileLock* held = g_held; held != nullptr; held = held->outer_) {
      if (held->device_ == file.device && held->inode_ == file.inode) {
        platform::close_file(fd);
        return {};
      }
    }
    if (platform::try_lock(fd) == platform::Lock::kHeld) {
      const Status busy = held_by_another(fd, path_, what);
      platform::close_file(fd);
      return busy;
    }
    if (platform::file_info(platform::kNoFolder, path_, true, &now) != 0 ||
        now.inode != file.inode || now.device != file.device) {
      platform::close_file(fd);
      continue;
    }
    char pid[24];
    const int length = snprintf(pid, sizeof pid, "%ld\n", platform::process_id());
    // Writes the process id into the file where that is possible; the lock holds without it.
    platform::replace_content(fd, pid, static_cast<size_t>(length));
    fd_ = fd;
    unfinished_.begin(path_);
    device_ = file.device;
    inode_ = file.inode;
    outer_ = g_held;
    g_held = this;
    return {};
  }
  return error(Code::kIo, "cannot lock %.300s: its lock comes and goes", what);
}

}  // namespace wick
