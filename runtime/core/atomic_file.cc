#include "runtime/core/atomic_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wick {
namespace {

// Two threads may write the same path: each needs a temporary file of its own.
constinit std::atomic<unsigned> g_serial{0};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
AtomicFile* g_open = nullptr;  // those with a temporary file, under g_mutex

// The rename itself must survive a power cut. Some file systems refuse to sync a folder: the file
// is complete either way.
void sync_folder_of(const char* path, char* buffer, size_t room) {
  const char* slash = strrchr(path, '/');
  size_t n = slash == nullptr ? 0 : static_cast<size_t>(slash - path) + 1;
  if (n >= room) return;
  memcpy(buffer, path, n);
  memcpy(buffer + n, n == 0 ? "." : "", n == 0 ? 2 : 1);
  int folder = open(buffer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  (void)fsync(folder);
  close(folder);
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
  unsigned serial = g_serial.fetch_add(1, std::memory_order_relaxed);
  int n =
      snprintf(temporary_, kMaxPath, "%s.tmp.%ld.%u", path, static_cast<long>(getpid()), serial);
  if (n < 0 || static_cast<size_t>(n) >= kMaxPath) {
    temporary_[0] = '\0';
    return fail("create", ENAMETOOLONG);
  }
  // A file of this name is left from a killed process whose number we now have.
  unlink(temporary_);
  fd_ = ::open(temporary_, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0 && errno == ENOENT) {  // there is no older file to speak of
    temporary_[0] = '\0';
    return error(Code::kIo, "cannot create %s: No such file or directory (its folder is missing)",
                 path);
  }
  if (fd_ < 0) return fail("create", errno);
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
  int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) return fail("close", errno);
  if (rename(temporary_, path_) != 0) return fail("replace", errno);
  char folder[kMaxPath];
  sync_folder_of(path_, folder, kMaxPath);
  forget();
  return Status();
}

Status write_file_atomically(const char* path, const void* bytes, size_t n) {
  AtomicFile file;
  WICK_TRY(file.open(path));
  WICK_TRY(file.write(bytes, n));
  return file.commit();
}

}  // namespace wick
