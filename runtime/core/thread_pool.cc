#include "runtime/core/thread_pool.h"

#include <atomic>
#include <new>

#include "runtime/platform/clock.h"
#include "runtime/platform/cpu.h"
#include "runtime/platform/system.h"
#include "runtime/platform/threads.h"

namespace wick {
namespace {

// Whether this thread is in a task of a host's threads: then it starts no more of them.
constinit WICK_THREAD_LOCAL bool t_in_host_job = false;

constexpr int kMaxThreads = 1024;
constexpr size_t kStackBytes = size_t{1} << 20;
constexpr uint64_t kSpinNs = 40'000;  // a wake-up through the kernel costs about this much

// Spins until done() or for kSpinNs; true when done.
template <class Done>
bool spin(Done done) {
  uint64_t begin = platform::clock_ns();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      platform::cpu_relax();
    }
  } while (platform::clock_ns() - begin < kSpinNs);
  return done();
}

}  // namespace

// A job is open from the moment its fields are written until the caller finds no task left. A
// worker increments `inside` before it reads `open`, and the caller leaves only when the job is
// closed and no worker is inside. So no worker can touch a job that has ended, and a worker that
// wakes late costs the caller nothing.
//
// Each thread begins with tasks of its own, the same part of every job, and then takes what the
// others have not begun. So what it reads is often what it wrote in the job before: lines in
// another core's cache take several times as long.
struct ThreadPool::Impl {
  struct Worker {
    Impl* impl;
    int index;                // 0 is the caller
    platform::Thread thread;  // not the caller's
    alignas(64) std::atomic<intptr_t> next{0};
    intptr_t end = 0;
  };

  platform::Mutex mutex;
  platform::Condition work_cond;
  platform::Condition done_cond;
  Worker* workers = nullptr;  // the caller first
  int count = 1;              // of them
  bool spins = false;         // true where each thread has a CPU
  const FunctionRef<void(int64_t, int)>* job = nullptr;
  Stop* caller_stop = nullptr;

  alignas(64) std::atomic<uint32_t> busy{0};
  std::atomic<bool> stop{false};
  std::atomic<int> sleepers{0};
  // Words, since RISC-V exchanges bytes by libatomic.
  std::atomic<uint32_t> caller_sleeps{0};
  // Counters of pointer width: with 64 bits they would be calls of libatomic on small machines.
  alignas(64) std::atomic<uintptr_t> epoch{0};
  std::atomic<uint32_t> open{0};
  alignas(64) std::atomic<int> inside{0};

  void share(intptr_t tasks) {
    const intptr_t each = tasks / count, more = tasks % count;
    intptr_t begin = 0;
    for (int w = 0; w < count; ++w) {
      workers[w].next.store(begin, std::memory_order_relaxed);
      workers[w].end = begin += each + (w < more ? 1 : 0);
    }
  }

  void work(int worker) {
    const FunctionRef<void(int64_t, int)>& f = *job;
    const StopScope scope(caller_stop);
    TaskPoll poll(caller_stop);
    for (int turn = 0; turn < count; ++turn) {
      Worker& of = workers[(worker + turn) % count];
      if (of.next.load(std::memory_order_relaxed) >= of.end) continue;
      for (intptr_t i; (i = of.next.fetch_add(1, std::memory_order_relaxed)) < of.end;) {
        if (poll()) return;
        f(i, worker);
      }
    }
  }

  void leave() {
    if (inside.fetch_sub(1) == 1 && caller_sleeps.load() != 0) {
      const platform::MutexLock lock(mutex);
      done_cond.wake_one();
    }
  }

  void wait_for_work(uintptr_t seen) {
    auto ready = [&] { return epoch.load() != seen || stop.load(); };
    if (spins && spin(ready)) return;
    const platform::MutexLock lock(mutex);
    sleepers.fetch_add(1);
    while (!ready()) work_cond.wait(mutex);
    sleepers.fetch_sub(1);
  }

  static void worker_main(void* argument) {
    auto* self = static_cast<Worker*>(argument);
    Impl& impl = *self->impl;
    FloatModeScope float_mode;
    for (uintptr_t seen = 0;;) {
      impl.wait_for_work(seen);
      if (impl.stop.load()) return;
      seen = impl.epoch.load();
      impl.inside.fetch_add(1);
      if (impl.open.load() != 0) impl.work(self->index);
      impl.leave();
    }
  }

  void wake(int64_t wanted) {
    epoch.fetch_add(1);
    if (sleepers.load() == 0) return;
    const platform::MutexLock lock(mutex);
    wanted == 1 ? work_cond.wake_one() : work_cond.wake_all();
  }

  void wait_until_done() {
    auto empty = [&] { return inside.load() == 0; };
    if (empty() || (spins && spin(empty))) return;
    const platform::MutexLock lock(mutex);
    caller_sleeps.exchange(1);  // see `open`
    while (!empty()) done_cond.wait(mutex);
    caller_sleeps.store(0);
  }

  bool start(Worker* memory, int threads) {
    const int online = platform::online_cpus();
    spins = online > 1 && online >= threads;
    workers = memory;
    for (int i = 0; i < threads; ++i) {
      Worker* w = new (workers + i) Worker{this, i, {}};
      if (i > 0 && !w->thread.start(worker_main, w, kStackBytes)) return false;
      count = i + 1;
    }
    return true;
  }

  void join() {
    {
      const platform::MutexLock lock(mutex);
      stop.store(true);
      work_cond.wake_all();
    }
    for (int i = 1; i < count; ++i) workers[i].thread.join();
  }
};

// The tasks of one run() on a host's threads. It lies on the caller's stack, so runs of several
// callers do not meet.
struct ThreadPool::HostJob {
  const FunctionRef<void(int64_t, int)>& f;
  const intptr_t tasks;
  const int most;  // workers
  Stop* const stop;
  std::atomic<intptr_t> next{0};
  std::atomic<int> workers{0};

  static void work(void* job) { static_cast<HostJob*>(job)->work(); }
  // Each call is a worker of its own, however the host calls it: no two share scratch memory.
  void work() {
    const int worker = workers.fetch_add(1, std::memory_order_relaxed);
    if (worker >= most) return;
    const FloatModeScope float_mode;
    const StopScope scope(stop);
    t_in_host_job = true;
    TaskPoll poll(stop);
    for (intptr_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks && !poll();)
      f(i, worker);
    t_in_host_job = false;
  }
};

Result<ThreadPool*> ThreadPool::make(Allocator& allocator, int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    return error(Code::kInvalidArgument, "threads must be in [1, %d], got %d", kMaxThreads,
                 threads);
  }
  if (!platform::kHasThreads && threads > 1) {
    return error(Code::kUnsupported, "this build has no threads: threads must be 1, got %d",
                 threads);
  }
  void* memory = allocator.allocate(sizeof(ThreadPool), alignof(ThreadPool));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate the thread pool");
  auto* pool = new (memory) ThreadPool();
  pool->allocator_ = &allocator;
  pool->threads_ = threads;
  return pool;
}

Result<ThreadPool*> ThreadPool::create(Allocator& allocator, const ThreadHooks& hooks) {
  if (hooks.run == nullptr)
    return Status(Code::kInvalidArgument, "ThreadHooks::run is null: give the host's function");
  WICK_ASSIGN(ThreadPool * pool, make(allocator, hooks.threads));
  pool->hooks_ = hooks;
  return pool;
}

Result<ThreadPool*> ThreadPool::create(Allocator& allocator, int threads) {
  WICK_ASSIGN(ThreadPool * pool, make(allocator, threads));
  if (threads == 1) return pool;

  const size_t worker_bytes = static_cast<size_t>(threads) * sizeof(Impl::Worker);
  void* impl = allocator.allocate(sizeof(Impl), alignof(Impl));
  void* workers = allocator.allocate(worker_bytes, alignof(Impl::Worker));
  if (impl == nullptr || workers == nullptr) {
    if (impl != nullptr) allocator.deallocate(impl, sizeof(Impl), alignof(Impl));
    if (workers != nullptr) allocator.deallocate(workers, worker_bytes, alignof(Impl::Worker));
    destroy(pool);
    return Status(Code::kOutOfMemory, "cannot allocate the thread pool");
  }
  pool->impl_ = new (impl) Impl();
  if (!pool->impl_->start(static_cast<Impl::Worker*>(workers), threads)) {
    destroy(pool);
    return error(
        Code::kOutOfMemory,
        "the system starts no %d more threads for this process: ask for fewer, or allow it more "
        "threads or memory",
        threads - 1);
  }
  return pool;
}

void ThreadPool::destroy(ThreadPool* pool) {
  if (pool == nullptr) return;
  Allocator& allocator = *pool->allocator_;
  if (Impl* impl = pool->impl_) {
    impl->join();
    allocator.deallocate(impl->workers, static_cast<size_t>(pool->threads_) * sizeof(Impl::Worker),
                         alignof(Impl::Worker));
    impl->~Impl();
    allocator.deallocate(impl, sizeof(Impl), alignof(Impl));
  }
  pool->~ThreadPool();
  allocator.deallocate(pool, sizeof(ThreadPool), alignof(ThreadPool));
}

void ThreadPool::run(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f) {
  // A nested call finds the pool busy with its own job, and so runs inline as well. So do more
  // tasks than a worker can count.
  constexpr int64_t kMostTasks = INTPTR_MAX - kMaxThreads;
  if (hooks_.run != nullptr && tasks > 1 && tasks <= kMostTasks && !t_in_host_job) {
    HostJob job{f, static_cast<intptr_t>(tasks),
                tasks < threads_ ? static_cast<int>(tasks) : threads_, current_stop()};
    hooks_.run(hooks_.user, job.most, HostJob::work, &job);
    job.work();  // does what the host left out
    return;
  }
  if (impl_ == nullptr || tasks <= 1 || tasks > kMostTasks || impl_->busy.exchange(1) != 0)
    return run_inline(tasks, f);
  impl_->job = &f;
  impl_->caller_stop = current_stop();
  impl_->share(static_cast<intptr_t>(tasks));
  impl_->open.store(1);
  impl_->wake(tasks - 1);
  impl_->work(0);
  // An exchange, as is caller_sleeps' above: what is read next, `inside`, must not be read before
  // this is seen. QEMU's user mode moves a load before an atomic store, which no CPU may do.
  impl_->open.exchange(0);
  impl_->wait_until_done();
  impl_->busy.store(0);
}

void run_inline(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f) {
  TaskPoll poll(current_stop());
  for (int64_t i = 0; i < tasks && !poll(); ++i) f(i, 0);
}

FloatModeScope::FloatModeScope() : saved_(platform::enter_float_mode()) {}
FloatModeScope::~FloatModeScope() { platform::restore_float_mode(saved_); }

}  // namespace wick
