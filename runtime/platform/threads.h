// Locks, threads, processors. In a build without threads, locks do nothing and no thread can start.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/platform/system.h"

#if WICK_HAS_THREADS && !defined(_WIN32)
#include <pthread.h>
#endif

namespace wick::platform {

#if !WICK_HAS_THREADS
struct NativeMutex {};
struct NativeCondition {};
struct NativeThread {};
#define WICK_MUTEX_INITIALIZER \
  {}
#define WICK_CONDITION_INITIALIZER \
  {}
#elif defined(_WIN32)
// Stand for SRWLOCK, CONDITION_VARIABLE and HANDLE: each is a pointer that is initially null.
using NativeMutex = void*;
using NativeCondition = void*;
using NativeThread = void*;
#define WICK_MUTEX_INITIALIZER nullptr
#define WICK_CONDITION_INITIALIZER nullptr
#else
using NativeMutex = pthread_mutex_t;
using NativeCondition = pthread_cond_t;
using NativeThread = pthread_t;
#define WICK_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define WICK_CONDITION_INITIALIZER PTHREAD_COND_INITIALIZER
#endif

// A mutex that lives as long as the process: it has no destructor to register for process exit.
class GlobalMutex {
 public:
  constexpr GlobalMutex() = default;
  GlobalMutex(const GlobalMutex&) = delete;
  GlobalMutex& operator=(const GlobalMutex&) = delete;
  void lock();
  void unlock();

 protected:
  friend class Condition;
  NativeMutex native_ = WICK_MUTEX_INITIALIZER;
};

class Mutex : public GlobalMutex {
 public:
  constexpr Mutex() = default;
  ~Mutex();
};

class MutexLock {
 public:
  explicit MutexLock(GlobalMutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  GlobalMutex& mutex_;
};

class Condition {
 public:
  Condition();
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  void wait(GlobalMutex& mutex);  // the caller has locked it
  // The same for at most `ns` nanoseconds of the steady clock. It may return earlier, so callers
  // look at what they wait for, and at the clock. In a build without threads it returns at once.
  void wait_for(GlobalMutex& mutex, uint64_t ns);
  void wake_one();
  void wake_all();

 private:
  [[maybe_unused]] NativeCondition native_ = WICK_CONDITION_INITIALIZER;
};

// A thread that receives none of the program's signals. It must not move from start() to join().
class Thread {
 public:
  // Returns false where the system gives no more threads.
  bool start(void (*run)(void*), void* argument, size_t stack_bytes);
  void join();

 private:
  struct Entry;
  // Unused in a build without threads.
  [[maybe_unused]] void (*run_)(void*) = nullptr;
  [[maybe_unused]] void* argument_ = nullptr;
  [[maybe_unused]] NativeThread native_{};
};

int online_cpus();  // of the machine
int usable_cpus();  // of this process; at least 1

}  // namespace wick::platform
