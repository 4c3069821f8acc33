// Locks, threads, processors. Without threads locks are nothing, and no thread can start.
#pragma once

#include <cstddef>

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
// SRWLOCK, CONDITION_VARIABLE and HANDLE: a pointer each, which begins as null.
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

// For as long as the process lives: nothing is registered to be done when it ends.
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
  Condition() = default;
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  void wait(GlobalMutex& mutex);  // which the caller has locked
  void wake_one();
  void wake_all();

 private:
  [[maybe_unused]] NativeCondition native_ = WICK_CONDITION_INITIALIZER;
};

// It takes none of the program's signals. Stays where it is from start() to join().
class Thread {
 public:
  // False: the system gives no more threads.
  bool start(void (*run)(void*), void* argument, size_t stack_bytes);
  void join();

 private:
  struct Entry;
  // Without threads nothing reads these.
  [[maybe_unused]] void (*run_)(void*) = nullptr;
  [[maybe_unused]] void* argument_ = nullptr;
  [[maybe_unused]] NativeThread native_{};
};

int online_cpus();  // of the machine
int usable_cpus();  // of this process; at least 1

}  // namespace wick::platform
