#include "runtime/platform/threads.h"

namespace wick::platform {

void GlobalMutex::lock() {}
void GlobalMutex::unlock() {}
Mutex::~Mutex() = default;

Condition::Condition() = default;
Condition::~Condition() = default;
void Condition::wait(GlobalMutex& /*mutex*/) {}
void Condition::wait_for(GlobalMutex& /*mutex*/, uint64_t /*ns*/) {}
void Condition::wake_one() {}
void Condition::wake_all() {}

bool Thread::start(void (* /*run*/)(void*), void* /*argument*/, size_t /*stack_bytes*/) {
  return false;
}
void Thread::join() {}

int online_cpus() { return 1; }
int usable_cpus() { return 1; }

}  // namespace wick::platform
