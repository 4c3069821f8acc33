#include "runtime/platform/threads.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace wick::platform {

static_assert(sizeof(SRWLOCK) == sizeof(NativeMutex) &&
                  sizeof(CONDITION_VARIABLE) == sizeof(NativeCondition),
              "threads.h declares them as a pointer each");

namespace {

SRWLOCK* of(NativeMutex& mutex) { return reinterpret_cast<SRWLOCK*>(&mutex); }
CONDITION_VARIABLE* condition_of(NativeCondition& condition) {
  return reinterpret_cast<CONDITION_VARIABLE*>(&condition);
}

}  // namespace

void GlobalMutex::lock() { AcquireSRWLockExclusive(of(native_)); }
void GlobalMutex::unlock() { ReleaseSRWLockExclusive(of(native_)); }
Mutex::~Mutex() = default;

Condition::Condition() = default;
Condition::~Condition() = default;
void Condition::wait(GlobalMutex& mutex) {
  SleepConditionVariableSRW(condition_of(native_), of(mutex.native_), INFINITE, 0);
}
void Condition::wait_for(GlobalMutex& mutex, uint64_t ns) {
  constexpr uint64_t kMost = INFINITE - 1;
  const uint64_t ms = ns / 1'000'000 + 1;
  SleepConditionVariableSRW(condition_of(native_), of(mutex.native_),
                            static_cast<DWORD>(ms < kMost ? ms : kMost), 0);
}
void Condition::wake_one() { WakeConditionVariable(condition_of(native_)); }
void Condition::wake_all() { WakeAllConditionVariable(condition_of(native_)); }

struct Thread::Entry {
  static DWORD WINAPI main(void* thread) {
    auto* self = static_cast<Thread*>(thread);
    self->run_(self->argument_);
    return 0;
  }
};

bool Thread::start(void (*run)(void*), void* argument, size_t stack_bytes) {
  run_ = run;
  argument_ = argument;
  native_ = CreateThread(nullptr, stack_bytes, Entry::main, this, STACK_SIZE_PARAM_IS_A_RESERVATION,
                         nullptr);
  return native_ != nullptr;
}

void Thread::join() {
  WaitForSingleObject(native_, INFINITE);
  CloseHandle(native_);
}

int online_cpus() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return static_cast<int>(info.dwNumberOfProcessors);
}

int usable_cpus() {
  DWORD_PTR mine = 0, all = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &mine, &all) == 0) return 1;
  const int n = __builtin_popcountll(mine);
  return n < 1 ? online_cpus() : n;  // none: the process uses several processor groups
}

}  // namespace wick::platform
