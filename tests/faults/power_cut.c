// Preloaded into a program: cuts the power at the n-th call that changes a file, counted from the
// start of main(). What the disk was not told to keep may then be lost, each piece of it by chance:
// bytes after a file's last fsync, and names added or removed since the folder's last fsync.
//   WICK_CUT_AT     the call; 0: never, they are counted
//   WICK_CUT_SEED   of chance
//   WICK_CUT_SIDE   a folder of the same file system, for the files that names pointed to before
//   WICK_CUT_COUNT  where the number of calls is written when main() returns
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 4096, LONG = 1024 };
// A file with bytes that no fsync has followed: an open descriptor of ours, and what was kept.
static struct {
  int fd;
  dev_t device;
  ino_t inode;
  off_t kept;
} files[MOST];
// A name that was given ("to" from "from"), or taken (no "from"), and the file that it was of
// before.
static struct {
  char from[LONG], to[LONG], before[LONG];
} names[MOST];
static int file_count, name_count, armed;
static long nth, calls;
static unsigned long chance;
static char side[LONG - 64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int lost(void) {
  chance = chance * 6364136223846793005ul + 1442695040888963407ul;
  return (chance >> 40) % 4 != 0;
}
static int real_open(const char* path, int flags, int mode) {
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
static void real_rename(const char* from, const char* to) {
  (void)!syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
static void real_unlink(const char* path) { (void)!syscall(SYS_unlinkat, AT_FDCWD, path, 0); }

static void cut(void) {
  // The order within one folder is kept, as journals keep it: a name survives only if earlier ones
  // do.
  int keep = 0;
  while (keep < name_count && !lost()) ++keep;
  for (int i = name_count - 1; i >= keep; --i) {
    if (names[i].from[0] != '\0') real_rename(names[i].to, names[i].from);
    if (names[i].before[0] != '\0') real_rename(names[i].before, names[i].to);
  }
  for (int i = 0; i < file_count; ++i) {
    struct stat st;
    if (!lost() || fstat(files[i].fd, &st) != 0 || st.st_size <= files[i].kept) continue;
    chance = chance * 6364136223846793005ul + 1442695040888963407ul;
    const off_t more = (off_t)((chance >> 33) % (unsigned long)(st.st_size - files[i].kept));
    (void)!ftruncate(files[i].fd, files[i].kept + (lost() ? 0 : more));
  }
  _exit(137);
}
static void change(void) {
  if (++calls == nth) cut();
}

static void note_write(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return;
  for (int i = 0; i < file_count; ++i)
    if (files[i].device == st.st_dev && files[i].inode == st.st_ino) return;
  if (file_count == MOST) return;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int own = real_open(path, O_WRONLY | O_CLOEXEC, 0);
  if (own < 0) return;
  files[file_count].fd = own;
  files[file_count].device = st.st_dev;
  files[file_count].inode = st.st_ino;
  files[file_count++].kept = st.st_size;
}

ssize_t write(int fd, const void* from, size_t n) {
  if (armed && fd > 2) {
    pthread_mutex_lock(&lock);
    note_write(fd);
    change();
    pthread_mutex_unlock(&lock);
  }
  return syscall(SYS_write, fd, from, n);
}

int fsync(int fd) {
  if (!armed) return (int)syscall(SYS_fsync, fd);
  pthread_mutex_lock(&lock);
  change();
  struct stat st;
  const int known = fstat(fd, &st) == 0;
  if (known && S_ISDIR(st.st_mode)) {
    // All folders: a run has one, and a cut keeps the order of names over all.
    for (int i = 0; i < name_count; ++i)
      if (names[i].before[0] != '\0') real_unlink(names[i].before);
    name_count = 0;
  }
  for (int i = 0; known && i < file_count; ++i) {
    if (files[i].device != st.st_dev || files[i].inode != st.st_ino) continue;
    close(files[i].fd);
    files[i] = files[--file_count];
    break;
  }
  pthread_mutex_unlock(&lock);
  return 0;
}

static void note_name(const char* from, const char* to) {
  static long serial;
  if (name_count == MOST) return;
  snprintf(names[name_count].from, LONG, "%s", from);
  snprintf(names[name_count].to, LONG, "%s", to);
  snprintf(names[name_count].before, LONG, "%s/%ld", side, ++serial);
  if (syscall(SYS_linkat, AT_FDCWD, to, AT_FDCWD, names[name_count].before, 0) != 0)
    names[name_count].before[0] = '\0';
  ++name_count;
}

int rename(const char* from, const char* to) {
  if (armed) {
    pthread_mutex_lock(&lock);
    change();
    note_name(from, to);
    pthread_mutex_unlock(&lock);
  }
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char* path) {
  if (armed) {
    pthread_mutex_lock(&lock);
    change();
    note_name("", path);
    pthread_mutex_unlock(&lock);
  }
  return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int remove(const char* path) { return rmdir(path) == 0 ? 0 : unlink(path); }

static int (*real_main)(int, char**, char**);

static int cut_main(int argc, char** argv, char** env) {
  const char* at = getenv("WICK_CUT_AT");
  const char* seed = getenv("WICK_CUT_SEED");
  const char* beside = getenv("WICK_CUT_SIDE");
  const char* count = getenv("WICK_CUT_COUNT");
  nth = at != NULL ? atol(at) : 0;
  chance = seed != NULL ? strtoul(seed, NULL, 10) : 0;
  snprintf(side, sizeof side, "%s", beside != NULL ? beside : ".");
  unsetenv("LD_PRELOAD");
  armed = 1;
  const int code = real_main(argc, argv, env);
  armed = 0;
  if (count != NULL) {
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", calls);
    const int fd = real_open(count, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0) (void)!syscall(SYS_write, fd, text, length);
  }
  return code;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
  int (*start)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
               void (*)(void), void*);
  *(void**)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return start(cut_main, argc, argv, init, fini, rtld_fini, stack_end);
}
