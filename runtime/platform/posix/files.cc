// Must precede every header: with a 32-bit off_t, stat() fails for files over 2 GiB and large
// inodes.
#define _FILE_OFFSET_BITS 64

#include "runtime/platform/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace wick::platform {
namespace {

int info_of(const struct stat& st, FileInfo* info) {
  const mode_t mode = st.st_mode;
  info->kind = S_ISREG(mode)    ? FileKind::kRegular
               : S_ISDIR(mode)  ? FileKind::kFolder
               : S_ISLNK(mode)  ? FileKind::kLink
               : S_ISFIFO(mode) ? FileKind::kPipe
               : S_ISSOCK(mode) ? FileKind::kSocket
                                : FileKind::kDevice;
  info->size = static_cast<uint64_t>(st.st_size);
  info->device = static_cast<uint64_t>(st.st_dev);
  info->inode = static_cast<uint64_t>(st.st_ino);
  return 0;
}

int opened(int result, int* fd) {
  if (result < 0) return errno;
  *fd = result;
  return 0;
}

constexpr int folder_of(int folder) { return folder == kNoFolder ? AT_FDCWD : folder; }

// Returns the length of the folder in a path, with its slash.
size_t folder_length(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? 0 : static_cast<size_t>(slash + 1 - path);
}

#if defined(__wasi__)
// WASI has no users: everything is this process's own.
bool is_strangers(const char*, const struct stat&) { return false; }
void keep_owner(int, const struct stat&) {}
#else
// Returns whether a link stands where everybody may put one, such as /tmp, and was put there by
// neither this user nor the folder's owner. Only these can replace one of their own, so the answer
// holds while the link is read. (Linux has the same rule, protected_symlinks, for a link that it
// follows itself: another one may stand there when this process reads it.)
bool is_strangers(const char* link, const struct stat& st) {
  char path[4096] = ".";
  const size_t length = folder_length(link);
  if (length >= sizeof path) return true;
  if (length > 0) {
    memcpy(path, link, length);
    path[length] = '\0';
  }
  struct stat folder;
  if (stat(path, &folder) != 0) return true;
  const mode_t everybody = S_ISVTX | S_IWOTH;
  return (folder.st_mode & everybody) == everybody && st.st_uid != geteuid() &&
         st.st_uid != folder.st_uid;
}

// Only root may give a file away; a group that the user is in is possible for all.
void keep_owner(int fd, const struct stat& st) {
  if (fchown(fd, st.st_uid, st.st_gid) != 0) (void)!fchown(fd, uid_t(-1), st.st_gid);
}
#endif

}  // namespace

int file_info(int folder, const char* name, bool follow, FileInfo* info) {
  struct stat st;
  if (fstatat(folder_of(folder), name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return errno;
  return info_of(st, info);
}

int file_info(int fd, FileInfo* info) {
  struct stat st;
  return fstat(fd, &st) != 0 ? errno : info_of(st, info);
}

int open_to_read(int folder, const char* name, bool follow, int* fd) {
  return opened(openat(folder_of(folder), name,
                       O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW)),
                fd);
}

int follow_links(const char* path, char* target, size_t size) {
  const size_t length = strlen(path);
  if (length >= size) return ENAMETOOLONG;
  memcpy(target, path, length + 1);
  constexpr int kMostLinks = 40;  // as Linux follows
  char link[4096];
  struct stat st;
  for (int i = 0; i < kMostLinks; ++i) {
    if (lstat(target, &st) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISLNK(st.st_mode)) return 0;
    if (is_strangers(target, st)) return EACCES;
    const ssize_t n = readlink(target, link, sizeof(link));
    if (n < 0) return errno;
    const size_t folder = link[0] == '/' ? 0 : folder_length(target);
    if (folder + static_cast<size_t>(n) >= size || static_cast<size_t>(n) == sizeof(link))
      return ENAMETOOLONG;
    memcpy(target + folder, link, static_cast<size_t>(n));
    target[folder + static_cast<size_t>(n)] = '\0';
  }
  return ELOOP;
}

int open_replacement(const char* path, const char* old, int* fd) {
  struct stat st;
  // Links were followed before: what one that stands there now leads to is another's.
  const bool replaces = lstat(old, &st) == 0 && S_ISREG(st.st_mode);
  const mode_t mode = replaces ? st.st_mode & 0777 : 0666;
  const int cause = opened(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), fd);
  if (cause != 0 || !replaces) return cause;
  keep_owner(*fd, st);
  (void)!fchmod(*fd, mode);  // the umask took some of it away
  return 0;
}

int open_lock_file(const char* path, int* fd) {
  return opened(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644), fd);
}

void close_file(int fd) { close(fd); }

int read_at(int fd, uint64_t offset, void* to, size_t bytes, size_t* done) {
  ssize_t n;
  do {
    n = pread(fd, to, bytes, static_cast<off_t>(offset));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno;
  *done = static_cast<size_t>(n);
  return 0;
}

int write_some(int fd, const void* from, size_t bytes, size_t* done) {
  constexpr size_t kMost = size_t{1} << 30;  // some systems refuse more per call
  ssize_t n;
  do {
    n = write(fd, from, bytes < kMost ? bytes : kMost);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno;
  *done = static_cast<size_t>(n);
  return 0;
}

void replace_content(int fd, const char* text, size_t bytes) {
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, text, bytes, 0);
}

int flush_file(int fd) { return fsync(fd) == 0 ? 0 : errno; }

// Some file systems refuse to sync a folder (EINVAL), and a writable folder may not be readable
// (EACCES): the file is complete either way.
int flush_folder(const char* path) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? 0 : errno;
  const int cause = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return cause;
}

int rename_file(const char* from, const char* to) { return rename(from, to) == 0 ? 0 : errno; }
void remove_file(const char* path) { unlink(path); }
void make_folder(const char* path) { mkdir(path, 0700); }

}  // namespace wick::platform
