// ThreadPool: a fixed set of threads that run numbered tasks. The caller makes it deterministic: a
// task's result must depend only on its number, never on the worker or the number of workers.
#pragma once

#include <cstdint>

#include "runtime/core/allocator.h"
#include "runtime/core/function_ref.h"
#include "runtime/core/status.h"
#include "runtime/core/stop.h"

namespace wick {

// Threads that the host of Wick has already, for a ThreadPool that starts none of its own.
struct ThreadHooks {
  // How many calls of work() may run at once, that of the calling thread included: 1 or more.
  int threads = 1;
  void* user = nullptr;  // is passed to run
  // Calls work(job) `count` times, on any threads, at once or one after the other, and returns when
  // all of these calls have returned. What it leaves out, the calling thread does afterwards. It
  // may be called from several threads at once, but not from within work().
  void (*run)(void* user, int count, void (*work)(void* job), void* job) = nullptr;
};

// Threads that run numbered tasks for sessions, of Wick's own or of the host's.
class ThreadPool {
 public:
  // `threads` >= 1 counts the caller; 1 starts none. Fails (kOutOfMemory) if a thread cannot start.
  static Result<ThreadPool*> create(Allocator& allocator, int threads);
  // Uses the host's threads. kInvalidArgument: no run, or threads out of range.
  static Result<ThreadPool*> create(Allocator& allocator, const ThreadHooks& hooks);
  static void destroy(ThreadPool* pool);  // null is fine; joins the workers

  // Returns how many tasks may run at once.
  int threads() const { return threads_; }

  // Runs f(task, worker) for task in [0, tasks), worker in [0, threads()). Returns when all are
  // done. It serves one caller at a time: concurrent callers run their tasks inline (same results);
  // with hooks the host serves each caller. It is not reentrant: a task that calls run() has it
  // executed inline. Never allocates. When the caller's Stop is reached, tasks that have not begun
  // are skipped, and the Stop is set.
  void run(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f);

 private:
  struct Impl;
  struct HostJob;
  ThreadPool() = default;
  static Result<ThreadPool*> make(Allocator& allocator, int threads);
  int threads_ = 1;
  Impl* impl_ = nullptr;
  ThreadHooks hooks_;  // run is null where the pool has threads of its own
  Allocator* allocator_ = nullptr;
};

// Does what ThreadPool::run() does on the calling thread alone.
void run_inline(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f);

// Runs tasks for kernels; inline when pool is null.
inline void parallel_for(ThreadPool* pool, int64_t tasks, FunctionRef<void(int64_t, int)> f) {
  if (pool == nullptr || pool->threads() == 1 || tasks <= 1) return run_inline(tasks, f);
  pool->run(tasks, f);
}

// Sets round-to-nearest without flush-to-zero for its lifetime and then restores the caller's mode.
// The numeric contract needs it on every thread that runs kernels (the pool's workers hold one).
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
