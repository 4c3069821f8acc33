#include "runtime/core/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <new>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace wick {
namespace {

constexpr int kMaxThreads = 1024;
constexpr size_t kStackBytes = size_t{1} << 20;
constexpr uint64_t kSpinNs = 40'000;  // a wake-up through the kernel costs about this much

void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

// Spins until done() or for kSpinNs; true when done.
template <class Done>
bool spin(Done done) {
  uint64_t begin = now_ns();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      cpu_relax();
    }
  } while (now_ns() - begin < kSpinNs);
  return done();
}

}  // namespace

// A job is open from the moment its fields are written until the caller has found no task left. A
// worker counts itself in (`inside`) before it looks at `open`, and the caller leaves only when the
// job is closed and nobody is inside: so no worker can touch a job that has ended, and a worker
// that wakes late costs the caller nothing.
struct ThreadPool::Impl {
  struct Worker {
    Impl* impl;
    int index;  // 1 ..: 0 is the caller
    pthread_t thread;
  };

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t work_cond = PTHREAD_COND_INITIALIZER;
  pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
  Worker* workers = nullptr;
  int started = 0;
  int capacity = 0;
  bool spins = false;  // there is a CPU for each thread
  const FunctionRef<void(int64_t, int)>* job = nullptr;
  int64_t tasks = 0;
  Stop* caller_stop = nullptr;

  alignas(64) std::atomic<bool> busy{false};
  std::atomic<bool> stop{false};
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  alignas(64) std::atomic<uint64_t> epoch{0};
  std::atomic<bool> open{false};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<int> inside{0};

  void work(int worker) {
    const FunctionRef<void(int64_t, int)>& f = *job;
    const int64_t n = tasks;
    const StopScope scope(caller_stop);
    TaskPoll poll(caller_stop);
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) {
      if (poll()) return;
      f(i, worker);
    }
  }

  void leave() {
    if (inside.fetch_sub(1) == 1 && caller_sleeps.load()) {
      pthread_mutex_lock(&mutex);
      pthread_cond_signal(&done_cond);
      pthread_mutex_unlock(&mutex);
    }
  }

  void wait_for_work(uint64_t seen) {
    auto ready = [&] { return epoch.load() != seen || stop.load(); };
    if (spins && spin(ready)) return;
    pthread_mutex_lock(&mutex);
    sleepers.fetch_add(1);
    while (!ready()) pthread_cond_wait(&work_cond, &mutex);
    sleepers.fetch_sub(1);
    pthread_mutex_unlock(&mutex);
  }

  static void* worker_main(void* argument) {
    auto* self = static_cast<Worker*>(argument);
    Impl& impl = *self->impl;
    FloatModeScope float_mode;
    for (uint64_t seen = 0;;) {
      impl.wait_for_work(seen);
      if (impl.stop.load()) return nullptr;
      seen = impl.epoch.load();
      impl.inside.fetch_add(1);
      if (impl.open.load()) impl.work(self->index);
      impl.leave();
    }
  }

  void wake(int64_t wanted) {
    epoch.fetch_add(1);
    if (sleepers.load() == 0) return;
    pthread_mutex_lock(&mutex);
    if (wanted == 1) {
      pthread_cond_signal(&work_cond);
    } else {
      pthread_cond_broadcast(&work_cond);
    }
    pthread_mutex_unlock(&mutex);
  }

  void wait_until_done() {
    auto empty = [&] { return inside.load() == 0; };
    if (empty() || (spins && spin(empty))) return;
    pthread_mutex_lock(&mutex);
    caller_sleeps.store(true);
    while (!empty()) pthread_cond_wait(&done_cond, &mutex);
    caller_sleeps.store(false);
    pthread_mutex_unlock(&mutex);
  }

  bool start(int count) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    spins = online > 1 && online > count;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setstacksize(&attributes, kStackBytes);
    // Signals belong to the program's own threads, but for the fault of who reads a mapped file
    // (runtime/program/guard.h): a thread that blocks it is killed.
    sigset_t all, saved;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    bool ok = true;
    for (; started < count && ok; started += ok ? 1 : 0) {
      Worker* w = new (workers + started) Worker{this, started + 1, {}};
      ok = pthread_create(&w->thread, &attributes, worker_main, w) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &saved, nullptr);
    pthread_attr_destroy(&attributes);
    return ok;
  }

  void join() {
    pthread_mutex_lock(&mutex);
    stop.store(true);
    pthread_cond_broadcast(&work_cond);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < started; ++i) pthread_join(workers[i].thread, nullptr);
    pthread_cond_destroy(&work_cond);
    pthread_cond_destroy(&done_cond);
    pthread_mutex_destroy(&mutex);
  }
};

Result<ThreadPool*> ThreadPool::create(Allocator& allocator, int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    return error(Code::kInvalidArgument, "threads must be in [1, %d], got %d", kMaxThreads,
                 threads);
  }
  void* memory = allocator.allocate(sizeof(ThreadPool), alignof(ThreadPool));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate the thread pool");
  auto* pool = new (memory) ThreadPool();
  pool->allocator_ = &allocator;
  pool->threads_ = threads;
  if (threads == 1) return pool;

  const int count = threads - 1;
  const size_t worker_bytes = static_cast<size_t>(count) * sizeof(Impl::Worker);
  void* impl = allocator.allocate(sizeof(Impl), alignof(Impl));
  void* workers = allocator.allocate(worker_bytes, alignof(Impl::Worker));
  if (impl == nullptr || workers == nullptr) {
    if (impl != nullptr) allocator.deallocate(impl, sizeof(Impl), alignof(Impl));
    if (workers != nullptr) allocator.deallocate(workers, worker_bytes, alignof(Impl::Worker));
    allocator.deallocate(memory, sizeof(ThreadPool), alignof(ThreadPool));
    return Status(Code::kOutOfMemory, "cannot allocate the thread pool");
  }
  pool->impl_ = new (impl) Impl();
  pool->impl_->workers = static_cast<Impl::Worker*>(workers);
  pool->impl_->capacity = count;
  if (!pool->impl_->start(count)) {
    destroy(pool);
    return error(Code::kOutOfMemory, "cannot start %d threads", count);
  }
  return pool;
}

void ThreadPool::destroy(ThreadPool* pool) {
  if (pool == nullptr) return;
  Allocator& allocator = *pool->allocator_;
  if (Impl* impl = pool->impl_) {
    impl->join();
    allocator.deallocate(impl->workers, static_cast<size_t>(impl->capacity) * sizeof(Impl::Worker),
                         alignof(Impl::Worker));
    impl->~Impl();
    allocator.deallocate(impl, sizeof(Impl), alignof(Impl));
  }
  pool->~ThreadPool();
  allocator.deallocate(pool, sizeof(ThreadPool), alignof(ThreadPool));
}

void ThreadPool::run(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f) {
  // A nested call finds the pool busy with the job it is part of, and so runs inline as well.
  if (impl_ == nullptr || tasks <= 1 || impl_->busy.exchange(true)) return run_inline(tasks, f);
  impl_->job = &f;
  impl_->caller_stop = current_stop();
  impl_->tasks = tasks;
  impl_->next.store(0);
  impl_->open.store(true);
  impl_->wake(tasks - 1);
  impl_->work(0);
  impl_->open.store(false);
  impl_->wait_until_done();
  impl_->busy.store(false);
}

void run_inline(int64_t tasks, FunctionRef<void(int64_t task, int worker)> f) {
  TaskPoll poll(current_stop());
  for (int64_t i = 0; i < tasks && !poll(); ++i) f(i, 0);
}

#if defined(__x86_64__) || defined(__SSE__)
namespace {
constexpr unsigned kModeBits =
    0x8000 | 0x6000 | 0x0040;  // flush to zero, rounding, denormals are zero
}  // namespace

FloatModeScope::FloatModeScope() : saved_(_mm_getcsr()) {
  auto mode = static_cast<unsigned>(saved_);
  if ((mode & kModeBits) != 0) _mm_setcsr(mode & ~kModeBits);
}

FloatModeScope::~FloatModeScope() {
  auto mode = static_cast<unsigned>(saved_);
  // Exception flags raised inside stay raised, as they would without the scope.
  if ((mode & kModeBits) != 0) _mm_setcsr((_mm_getcsr() & ~kModeBits) | (mode & kModeBits));
}
#elif defined(__aarch64__)
namespace {
// FZ (24), RMode (22-23), FZ16 (19), AH and FIZ (1, 0)
constexpr uint64_t kModeBits = (7u << 22) | (1u << 19) | 3u;

uint64_t read_fpcr() {
  uint64_t v;
  asm volatile("mrs %0, fpcr" : "=r"(v));
  return v;
}
void write_fpcr(uint64_t v) { asm volatile("msr fpcr, %0" : : "r"(v)); }
}  // namespace

FloatModeScope::FloatModeScope() : saved_(read_fpcr()) {
  if ((saved_ & kModeBits) != 0) write_fpcr(saved_ & ~kModeBits);
}

FloatModeScope::~FloatModeScope() {
  if ((saved_ & kModeBits) != 0) write_fpcr(saved_);
}
#elif defined(__arm__) && defined(__ARM_FP)
namespace {
constexpr uint32_t kModeBits = (7u << 22) | (1u << 19);  // FZ (24), RMode (22-23), FZ16 (19)

uint32_t read_fpscr() {
  uint32_t v;
  asm volatile("vmrs %0, fpscr" : "=r"(v));
  return v;
}
void write_fpscr(uint32_t v) { asm volatile("vmsr fpscr, %0" : : "r"(v)); }
}  // namespace

FloatModeScope::FloatModeScope() : saved_(read_fpscr()) {
  const auto mode = static_cast<uint32_t>(saved_);
  if ((mode & kModeBits) != 0) write_fpscr(mode & ~kModeBits);
}

FloatModeScope::~FloatModeScope() {
  const auto mode = static_cast<uint32_t>(saved_);
  // The register holds exception flags, too: those raised inside stay raised.
  if ((mode & kModeBits) != 0) write_fpscr((read_fpscr() & ~kModeBits) | (mode & kModeBits));
}
#else
FloatModeScope::FloatModeScope() : saved_(static_cast<uint64_t>(fegetround())) {
  if (saved_ != FE_TONEAREST) fesetround(FE_TONEAREST);
}

FloatModeScope::~FloatModeScope() {
  if (saved_ != FE_TONEAREST) fesetround(static_cast<int>(saved_));
}
#endif

}  // namespace wick
