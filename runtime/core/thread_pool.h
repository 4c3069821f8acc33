// A fixed set of threads that run numbered tasks. Determinism is the caller's: what a task
// computes depends on its number only, never on the worker or on how many there are.
#pragma once

#include <cstdint>

#include "runtime/core/allocator.h"
#include "runtime/core/function_ref.h"
#include "runtime/core/status.h"
#include "runtime/core/stop.h"

namespace wick {

class ThreadPool {
 public:
  // `threads` >= 1 counts the caller; 1 starts none. Fails (kOutOfMemory) if a thread cannot start.
  static Result<ThreadPool*> create(Allocator& allocator, int threads);
  static void destroy(ThreadPool* pool);  // null is fine; joins the workers

  int threads() const { return threads_; }

  // Runs f(task, worker) for task in [0, tasks), worker in [0, threads()). Returns when all are
  // done. One caller at a time: concurrent callers run their tasks inline (same results). Not
  // reentrant: a task that calls run() has it executed inline. Never allocates. When the caller's
  // Stop is reached, tasks that have not begun are skipped: then it is set.
  void run(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f);

 private:
  struct Impl;
  ThreadPool() = default;
  int threads_ = 1;
  Impl* impl_ = nullptr;
  Allocator* allocator_ = nullptr;
};

// ThreadPool::run() by the calling thread alone.
void run_inline(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f);

// For kernels: inline when pool is null.
inline void parallel_for(ThreadPool* pool, int64_t tasks, FunctionRef<void(int64_t, int)> f) {
  if (pool == nullptr || pool->threads() == 1 || tasks <= 1) return run_inline(tasks, f);
  pool->run(tasks, f);
}

// Round-to-nearest, no flush-to-zero, for as long as it lives; restores the caller's mode. The
// numeric contract needs it on every thread that runs kernels (the pool's workers hold one).
class FloatModeScope {
 public:
  FloatModeScope();
  ~FloatModeScope();
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace wick
