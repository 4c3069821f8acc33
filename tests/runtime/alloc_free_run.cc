// Counts every malloc, calloc, realloc, aligned_alloc and mmap of the process while sessions run:
// there must be none. A program of its own, because it replaces them.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>

#include <atomic>

#include "tests/runtime/programs.h"

static std::atomic<long> g_calls{0};

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t n) { return ++g_calls, __libc_malloc(n); }
void* calloc(size_t n, size_t m) { return ++g_calls, __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { return ++g_calls, __libc_realloc(p, n); }
void* aligned_alloc(size_t align, size_t n) { return ++g_calls, __libc_memalign(align, n); }
int posix_memalign(void** p, size_t align, size_t n) {
  ++g_calls;
  *p = __libc_memalign(align, n);
  return *p == nullptr ? ENOMEM : 0;
}
void* mmap(void* at, size_t n, int prot, int flags, int fd, off_t offset) {
  ++g_calls;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n, prot, flags, fd, offset));
}
}

int main() {
  auto l = wick::test::load(wick::test::mlp());
  int failed = 0, passed = 0;
  for (int threads : {1, 2}) {
    wick::SessionOptions options;
    options.threads = threads;
    long before_open = g_calls;
    auto session = wick::test::open(*l.program, options);
    float x[192] = {};
    wick::TensorView in(x, wick::DType::kF32, {64, 3}), out[2];
    bool ok = session->bind(wick::Span<const wick::Shape>(&in.shape, 1)).ok();
    long before = g_calls;
    for (int i = 0; ok && i < 1000; ++i) {
      out[0] = out[1] = wick::TensorView();
      ok = session->run(wick::Span<const wick::TensorView>(&in, 1), out).ok();
    }
    long during = g_calls - before;
    printf("%d threads: %ld allocations to open, %ld in 1000 runs\n", threads, before - before_open,
           during);
    // the first figure shows that the counter counts
    (ok && during == 0 && before > before_open ? passed : failed)++;
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed;
}
