// alloc_free_run [MODEL.wick...]: counts the allocations of running a session, through the
// session's Allocator and as every malloc, calloc, realloc, aligned_alloc and mmap of the process:
// there must be none. It is a program of its own, because it replaces those functions.
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

namespace {

using wick::Shape;
using wick::Span;
using wick::TensorView;

// Every allocation since the last call: of the session through its Allocator, and of the process.
struct Counts {
  long own, process;
};
struct Counter {
  wick::test::CountingAllocator allocator;
  long calls = 0, process = 0;
  Counts take() {
    Counts c{static_cast<long>(allocator.calls) - calls, g_calls - process};
    calls = static_cast<long>(allocator.calls);
    process = g_calls;
    return c;
  }
};

int g_passed = 0, g_failed = 0;
void expect(bool ok, const char* what, int threads, Counts c) {
  ++(ok ? g_passed : g_failed);
  printf("%-6s %s, %d threads: %ld by the allocator, %ld by malloc and mmap\n",
         ok ? "ok" : "FAILED", what, threads, c.own, c.process);
}

Shape shape_of(const wick::PortInfo& port, int64_t batch) {
  Shape s;
  for (const wick::DimDef& d : port.dims) s.push_back(d.symbol >= 0 ? batch : d.value);
  return s;
}

// Opens, binds for the larger batch, then runs: nothing may be allocated at either size. Opening
// must count on both sides, and so must a batch beyond the binding: else the counters would prove
// nothing.
void count(const wick::Program& program, int threads) {
  constexpr int kRuns = 200;
  Counter counter;
  counter.take();
  wick::SessionOptions options;
  options.threads = threads;
  options.allocator = &counter.allocator;
  auto session = wick::test::open(program, options);
  const Shape small = shape_of(session->input(0), 3), large = shape_of(session->input(0), 8);
  const Shape beyond = shape_of(session->input(0), 32);
  void* data = calloc(static_cast<size_t>(wick::numel(beyond)), 8);
  const wick::DType dtype = session->input(0).dtype;
  TensorView outputs[4];
  auto run = [&](const Shape& shape, int n) {
    TensorView in(data, dtype, shape);
    for (int i = 0; i < n; ++i) {
      for (TensorView& v : outputs) v = TensorView();
      if (!session->run(Span<const TensorView>(&in, 1), {outputs, session->output_count()}).ok()) {
        return false;
      }
    }
    return true;
  };
  bool ok = session->bind(Span<const Shape>(&large, 1)).ok();
  Counts c = counter.take();
  expect(ok && c.own > 0 && c.process > 0, "opening allocates", threads, c);

  ok = run(large, kRuns);
  c = counter.take();
  expect(ok && c.own == 0 && c.process == 0, "runs at the bound size", threads, c);
  ok = run(small, 1);  // binds again, within what it holds
  counter.take();
  ok = ok && run(small, kRuns);
  c = counter.take();
  expect(ok && c.own == 0 && c.process == 0, "runs at a smaller size", threads, c);

  ok = run(beyond, 1);
  c = counter.take();
  expect(ok && c.own > 0 && c.process > 0, "a size beyond the binding allocates", threads, c);
  free(data);
}

}  // namespace

int main(int argc, char** argv) {
  static char text[1 << 14];
  setvbuf(stdout, text, _IOFBF, sizeof(text));  // printf would count too
  auto mlp = wick::test::load(wick::test::mlp());
  for (int threads : {1, 2}) count(*mlp.program, threads);
  for (int i = 1; i < argc; ++i) {
    auto program = wick::Program::load(argv[i]);
    if (!program.ok()) {
      ++g_failed;
      printf("FAILED %s\n", program.status().message());
      continue;
    }
    for (int threads : {1, 2}) count(**program, threads);
  }
  printf("%d passed, %d failed\n", g_passed, g_failed);
  return g_failed;
}
