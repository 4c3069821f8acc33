#include "runtime/platform/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace wick::platform {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kLongest = 1'000'000;  // seconds of a wait: no sum overflows a 32-bit time_t

}  // namespace

void GlobalMutex::lock() { pthread_mutex_lock(&native_); }
void GlobalMutex::unlock() { pthread_mutex_unlock(&native_); }
Mutex::~Mutex() { pthread_mutex_destroy(&native_); }

#if defined(__APPLE__)
// Has no clock for conditions, but a call that takes a length of time.
Condition::Condition() = default;
void Condition::wait_for(GlobalMutex& mutex, uint64_t ns) {
  const uint64_t seconds = ns / kSecond < kLongest ? ns / kSecond : kLongest;
  const timespec length = {static_cast<time_t>(seconds), static_cast<long>(ns % kSecond)};
  pthread_cond_timedwait_relative_np(&native_, &mutex.native_, &length);
}
#else
Condition::Condition() {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&native_, &attributes);
  pthread_condattr_destroy(&attributes);
}
void Condition::wait_for(GlobalMutex& mutex, uint64_t ns) {
  timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const uint64_t at = static_cast<uint64_t>(until.tv_nsec) + ns % kSecond;
  const uint64_t seconds = ns / kSecond < kLongest ? ns / kSecond : kLongest;
  until.tv_sec += static_cast<time_t>(seconds + at / kSecond);
  until.tv_nsec = static_cast<long>(at % kSecond);
  pthread_cond_timedwait(&native_, &mutex.native_, &until);
}
#endif
Condition::~Condition() { pthread_cond_destroy(&native_); }
void Condition::wait(GlobalMutex& mutex) { pthread_cond_wait(&native_, &mutex.native_); }
void Condition::wake_one() { pthread_cond_signal(&native_); }
void Condition::wake_all() { pthread_cond_broadcast(&native_); }

struct Thread::Entry {
  static void* main(void* thread) {
    auto* self = static_cast<Thread*>(thread);
    self->run_(self->argument_);
    return nullptr;
  }
};

bool Thread::start(void (*run)(void*), void* argument, size_t stack_bytes) {
  run_ = run;
  argument_ = argument;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  // Signals are left to the program's own threads, except the fault of reading a mapped file
  // (runtime/program/guard.h): a thread that blocks that signal is killed.
  sigset_t all, saved;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  const bool started = pthread_create(&native_, &attributes, Entry::main, this) == 0;
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

void Thread::join() { pthread_join(native_, nullptr); }

int online_cpus() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

int usable_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
#else
  const int n = online_cpus();
#endif
  return n < 1 ? 1 : n;
}

}  // namespace wick::platform
