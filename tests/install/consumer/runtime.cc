// A program outside the tree: installed headers compile, the library links, a thread pool runs.
#include <atomic>
#include <cstdio>

#include "runtime/core/allocator.h"
#include "runtime/core/thread_pool.h"

int main() {
  auto pool = wick::ThreadPool::create(wick::default_allocator(), 2);
  if (!pool.ok()) {
    std::printf("%s: %s\n", wick::code_name(pool.status().code()), pool.status().message());
    return 1;
  }
  std::atomic<long> sum = 0;
  pool.value()->run(100, [&](int64_t task, int) { sum += task; });
  wick::ThreadPool::destroy(pool.value());
  return sum == 4950 ? 0 : 1;
}
