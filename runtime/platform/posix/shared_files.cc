// Files shared with other processes: locks, and leftovers of processes that have ended.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

#include <cerrno>
#include <csignal>

#include "runtime/platform/files.h"

namespace wick::platform {
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

// The kernel's layout; the C library has a type of this name on some systems only.
struct Entry {
  uint64_t inode;
  int64_t next;
  unsigned short bytes;
  unsigned char kind;
  char name[1];
};
#endif

// Removes the file unless a process holds its lock: the lock also works for processes of another
// machine, whose process ids mean nothing here.
void remove_unheld(int folder, const char* entry) {
  const int fd = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (try_lock(fd) != Lock::kHeld) unlinkat(folder, entry, 0);
  close(fd);
}

}  // namespace

bool is_local(int fd) {
#if defined(__linux__)
  struct statfs fs;
  if (fstatfs(fd, &fs) != 0) return false;
  for (uint32_t type : kLocalFileSystems) {
    if (static_cast<uint32_t>(fs.f_type) == type) return true;
  }
#else
  (void)fd;
#endif
  return false;
}

Lock try_lock(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return Lock::kTaken;
  return errno == EWOULDBLOCK ? Lock::kHeld : Lock::kNone;
}

long process_id() { return static_cast<long>(getpid()); }
bool process_ended(long id) { return kill(static_cast<pid_t>(id), 0) != 0 && errno == ESRCH; }

void remove_from_folder(const char* path, bool (*each)(void* context, const char* name),
                        void* context) {
#if defined(__linux__)
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  // Reads the entries by system call because opendir() allocates.
  alignas(Entry) char entries[8192];
  for (;;) {
    const long bytes = syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      if (each(context, entry->name)) remove_unheld(folder, entry->name);
      at += entry->bytes;
    }
  }
  close(folder);
#else
  DIR* folder = opendir(path);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (each(context, entry->d_name)) remove_unheld(dirfd(folder), entry->d_name);
  }
  closedir(folder);
#endif
}

}  // namespace wick::platform
