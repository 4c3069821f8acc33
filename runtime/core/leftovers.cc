#include "runtime/core/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace wick {
namespace {

// Digits alone, from `at` up to `end`; -1: something else.
long digits(const char* at, const char* end) {
  if (at == end || end - at > 9) return -1;
  long n = 0;
  for (; at != end; ++at) {
    if (*at < '0' || *at > '9') return -1;
    n = n * 10 + (*at - '0');
  }
  return n;
}

// A process of another machine has a number that means nothing here; its lock does.
void remove_unheld(int folder, const char* entry) {
  const int fd = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) unlinkat(folder, entry, 0);
  close(fd);
}

}  // namespace

bool left_behind(const char* entry, const char* name, const char* kind) {
  const char* end = entry + strlen(entry);
  const char* dots[3] = {end, end, end};  // of KIND, PID and N, from the back
  const char* at = end;
  for (int k = 2; k >= 0; --k) {
    do {
      if (at == entry) return false;
      --at;
    } while (*at != '.');
    dots[k] = at;
  }
  const size_t stem = static_cast<size_t>(dots[0] - entry), length = strlen(kind);
  if (stem == 0 || (name != nullptr && (strlen(name) != stem || memcmp(entry, name, stem) != 0)))
    return false;
  if (static_cast<size_t>(dots[1] - dots[0]) != length + 1 ||
      memcmp(dots[0] + 1, kind, length) != 0)
    return false;
  const long pid = digits(dots[1] + 1, dots[2]);
  if (pid <= 0 || digits(dots[2] + 1, end) < 0) return false;
  return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

void remove_leftovers(const char* path, const char* name) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  // By hand: opendir() allocates.
  alignas(dirent64) char entries[8192];
  for (;;) {
    const long bytes = syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      if (left_behind(entry->d_name, name, "tmp")) remove_unheld(folder, entry->d_name);
      at += entry->d_reclen;
    }
  }
  close(folder);
}

}  // namespace wick
