// Preloaded into a program: the n-th call of one kind fails, counted from the start of main() (what
// libraries allocate before it does not count). LD_PRELOAD=libfail_nth.so and
//   WICK_FAULT_KIND   memory, open, read, write, fsync, rename, mmap or thread
//   WICK_FAULT_N      which call of that kind; 0: none, they are counted
//   WICK_FAULT_STAYS  1: so do all that follow it
//   WICK_FAULT_COUNT  where the number of calls is written when main() returns
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

enum { MEMORY, OPEN, READ, WRITE, FSYNC, RENAME, MMAP, THREAD, KINDS };
static const char* const kNames[KINDS] = {"memory", "open",   "read", "write",
                                          "fsync",  "rename", "mmap", "thread"};
static int kind = -1, stays;
static long nth;
static atomic_long calls;

static int fails(int of) {
  if (of != kind) return 0;
  const long n = atomic_fetch_add(&calls, 1) + 1;
  return nth > 0 && (n == nth || (stays && n > nth));
}

// Found without dlsym() where that may allocate: each is looked up before main() begins, or at the
// first call of a library that is initialised earlier.
#define REAL(result, name, ...) static result (*real_##name)(__VA_ARGS__)
REAL(FILE*, fopen, const char*, const char*);
REAL(FILE*, fopen64, const char*, const char*);
REAL(size_t, fread, void*, size_t, size_t, FILE*);
REAL(size_t, fwrite, const void*, size_t, size_t, FILE*);
REAL(int, fflush, FILE*);
REAL(int, rename, const char*, const char*);
REAL(int, thread, pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

static void find_all(void) {
  *(void**)&real_fopen = dlsym(RTLD_NEXT, "fopen");
  *(void**)&real_fopen64 = dlsym(RTLD_NEXT, "fopen64");
  *(void**)&real_fread = dlsym(RTLD_NEXT, "fread");
  *(void**)&real_fwrite = dlsym(RTLD_NEXT, "fwrite");
  *(void**)&real_fflush = dlsym(RTLD_NEXT, "fflush");
  *(void**)&real_rename = dlsym(RTLD_NEXT, "rename");
  *(void**)&real_thread = dlsym(RTLD_NEXT, "pthread_create");
}
#define CALL(name) (real_##name == NULL ? (find_all(), real_##name) : real_##name)

void* malloc(size_t n) {
  if (!fails(MEMORY)) return __libc_malloc(n);
  errno = ENOMEM;
  return NULL;
}
void* calloc(size_t n, size_t m) {
  if (!fails(MEMORY)) return __libc_calloc(n, m);
  errno = ENOMEM;
  return NULL;
}
void* realloc(void* p, size_t n) {
  if (!fails(MEMORY)) return __libc_realloc(p, n);
  errno = ENOMEM;
  return NULL;
}
void* aligned_alloc(size_t align, size_t n) {
  if (!fails(MEMORY)) return __libc_memalign(align, n);
  errno = ENOMEM;
  return NULL;
}
int posix_memalign(void** p, size_t align, size_t n) {
  if (fails(MEMORY)) return ENOMEM;
  *p = __libc_memalign(align, n);
  return *p == NULL ? ENOMEM : 0;
}

static int open_at(int folder, const char* path, int flags, mode_t mode) {
  if (!fails(OPEN)) return (int)syscall(SYS_openat, folder, path, flags, mode);
  errno = EMFILE;
  return -1;
}
#define MODE_OF(flags)                          \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list more;                               \
    va_start(more, flags);                      \
    mode = (mode_t)va_arg(more, int);           \
    va_end(more);                               \
  }
int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(folder, path, flags | O_LARGEFILE, mode);
}
FILE* fopen(const char* path, const char* mode) {
  if (!fails(OPEN)) return CALL(fopen)(path, mode);
  errno = EMFILE;
  return NULL;
}
FILE* fopen64(const char* path, const char* mode) {
  if (!fails(OPEN)) return CALL(fopen64)(path, mode);
  errno = EMFILE;
  return NULL;
}

static int io_fails(int of, int cause) {
  if (!fails(of)) return 0;
  errno = cause;
  return 1;
}
ssize_t read(int fd, void* to, size_t n) {
  return io_fails(READ, EIO) ? -1 : syscall(SYS_read, fd, to, n);
}
ssize_t pread(int fd, void* to, size_t n, off_t at) {
  return io_fails(READ, EIO) ? -1 : syscall(SYS_pread64, fd, to, n, at);
}
ssize_t pread64(int fd, void* to, size_t n, off64_t at) {
  return io_fails(READ, EIO) ? -1 : syscall(SYS_pread64, fd, to, n, at);
}
size_t fread(void* to, size_t size, size_t n, FILE* file) {
  return io_fails(READ, EIO) ? 0 : CALL(fread)(to, size, n, file);
}
ssize_t write(int fd, const void* from, size_t n) {
  // stderr keeps what is said of the failures
  return fd != 2 && io_fails(WRITE, ENOSPC) ? -1 : syscall(SYS_write, fd, from, n);
}
ssize_t pwrite(int fd, const void* from, size_t n, off_t at) {
  return io_fails(WRITE, ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, from, n, at);
}
size_t fwrite(const void* from, size_t size, size_t n, FILE* file) {
  // Messages on stderr about a failure do not fail as well: nobody could see them.
  if (file != stderr && io_fails(WRITE, ENOSPC)) return 0;
  return CALL(fwrite)(from, size, n, file);
}
int fflush(FILE* file) {
  return file != stderr && io_fails(WRITE, ENOSPC) ? EOF : CALL(fflush)(file);
}
int fsync(int fd) { return io_fails(FSYNC, EIO) ? -1 : (int)syscall(SYS_fsync, fd); }
int rename(const char* from, const char* to) {
  return io_fails(RENAME, EIO) ? -1 : CALL(rename)(from, to);
}
static void* map(void* at, size_t n, int prot, int flags, int fd, off_t offset) {
  if (io_fails(MMAP, ENOMEM)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}
void* mmap(void* at, size_t n, int prot, int flags, int fd, off_t offset) {
  return map(at, n, prot, flags, fd, offset);
}
void* mmap64(void* at, size_t n, int prot, int flags, int fd, off64_t offset) {
  return map(at, n, prot, flags, fd, offset);
}
int pthread_create(pthread_t* t, const pthread_attr_t* a, void* (*run)(void*), void* with) {
  return fails(THREAD) ? EAGAIN : CALL(thread)(t, a, run, with);
}

static int (*real_main)(int, char**, char**);

static int counted_main(int argc, char** argv, char** env) {
  const char* name = getenv("WICK_FAULT_KIND");
  const char* n = getenv("WICK_FAULT_N");
  const char* count = getenv("WICK_FAULT_COUNT");
  stays = getenv("WICK_FAULT_STAYS") != NULL;
  nth = n != NULL ? atol(n) : 0;
  unsetenv("LD_PRELOAD");  // programs that this one starts are not affected
  int chosen = -1;
  for (int k = 0; name != NULL && k < KINDS; ++k)
    if (strcmp(name, kNames[k]) == 0) chosen = k;
  kind = chosen;
  const int code = real_main(argc, argv, env);
  kind = -1;
  if (count != NULL) {
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", (long)atomic_load(&calls));
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0) (void)!syscall(SYS_write, fd, text, length);
  }
  return code;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
  int (*start)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
               void (*)(void), void*);
  *(void**)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  find_all();
  real_main = main;
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
