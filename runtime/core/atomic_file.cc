#include "runtime/core/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/core/file_error.h"
#include "runtime/core/leftovers.h"

namespace wick {
namespace {

// Two threads may write the same path: each needs a temporary file of its own.
constinit std::atomic<unsigned> g_serial{0};

const char* name_in(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}
// Writes the folder of `path` to `buffer`, which is larger than the path.
void folder_of(const char* path, char* buffer) {
  const size_t n = static_cast<size_t>(name_in(path) - path);
  memcpy(buffer, path, n);
  memcpy(buffer + n, n == 0 ? "." : "", n == 0 ? 2 : 1);
}
// Cuts .tmp.PID.SERIAL off a temporary file's path.
void cut_to_target(char* temporary) {
  for (int k = 0; k < 3; ++k) *strrchr(temporary, '.') = '\0';
}

}  // namespace

Status find_replaced(const char* path, char* target, size_t size) {
  const int cause = platform::follow_links(path, target, size);
  if (cause == 0) return {};
  return error(file_code(), "cannot write %.300s: %s", path, file_words(cause));
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ >= 0) platform::close_file(fd_);
  fd_ = -1;
  if (temporary_[0] != '\0') platform::remove_file(temporary_);
  unfinished_.done();
  temporary_[0] = '\0';
}

Status AtomicFile::fail(const char* what, int cause) {
  discard();
  return error(file_code(), "cannot %s %s: %s; an older file of this name is unchanged", what,
               path_, file_words(cause));
}

Status AtomicFile::open(const char* path) {
  path_ = path;
  // The rename would put a file in the place of a device such as /dev/null or /dev/stdout, if
  // permissions allow it.
  platform::FileInfo there;
  if (platform::file_info(platform::kNoFolder, path, true, &there) == 0 &&
      there.kind != platform::FileKind::kRegular && there.kind != platform::FileKind::kFolder)
    return error(Code::kIo, "cannot write %s: it is a device or a pipe, not a regular file", path);
  char target[kMaxPath];
  int cause = platform::follow_links(path, target, kMaxPath);
  if (cause != 0) return fail("create", cause);
  unsigned serial = g_serial.fetch_add(1, std::memory_order_relaxed);
  int n = snprintf(temporary_, kMaxPath, "%s.tmp.%ld.%u", target, platform::process_id(), serial);
  if (n < 0 || static_cast<size_t>(n) >= kMaxPath) {
    temporary_[0] = '\0';
    return fail("create", ENAMETOOLONG);
  }
  char folder[kMaxPath];
  folder_of(target, folder);
  remove_leftovers(folder, name_in(target));
  // A file of this name was left by a killed process that had our process id.
  platform::remove_file(temporary_);
  cause = platform::open_replacement(temporary_, target, &fd_);
  if (cause == ENOENT) {  // there is no older file to mention
    temporary_[0] = '\0';
    return error(Code::kIo, "cannot create %s: No such file or directory (its folder is missing)",
                 path);
  }
  if (cause != 0) return fail("create", cause);
  unfinished_.begin(temporary_);
  // The lock is held until the rename: it tells remove_leftovers() that the file is in use. Where a
  // file system has no locks, the process id in the name does.
  (void)platform::try_lock(fd_);
  return {};
}

Status AtomicFile::write(const void* bytes, size_t n) {
  const char* p = static_cast<const char*>(bytes);
  while (n > 0) {
    size_t done = 0;
    const int cause = platform::write_some(fd_, p, n, &done);
    if (cause != 0 || done == 0) return fail("write", cause != 0 ? cause : ENOSPC);
    p += done;
    n -= done;
  }
  return Status();
}

Status AtomicFile::flush() {
  const int cause = platform::flush_file(fd_);
  return cause == 0 ? Status() : fail("flush", cause);
}

Status AtomicFile::commit() {
  WICK_TRY(flush());
  // The file stays open, and so locked, until it has its name. O_TMPFILE and linkat() would leave
  // nothing behind, but cannot replace an existing file.
  char target[kMaxPath];
  memcpy(target, temporary_, kMaxPath);
  cut_to_target(target);
  int cause = platform::rename_file(temporary_, target);
  if (cause != 0) return fail("replace", cause);
  unfinished_.done();
  platform::close_file(fd_);  // flush() has already reported any error
  fd_ = -1;
  folder_of(target, temporary_);
  cause = platform::flush_folder(temporary_);  // the rename itself must survive a power cut
  temporary_[0] = '\0';
  if (cause == 0) return {};
  return error(Code::kIo,
               "%.300s is written whole, but its folder cannot be flushed (%s): a power cut may "
               "bring an older file of this name back; write it again",
               path_, file_words(cause));
}

Status write_file_atomically(const char* path, const void* bytes, size_t n) {
  AtomicFile file;
  WICK_TRY(file.open(path));
  WICK_TRY(file.write(bytes, n));
  return file.commit();
}

}  // namespace wick
