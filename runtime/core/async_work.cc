#include "runtime/core/async_work.h"

#include "runtime/platform/threads.h"

namespace wick {
namespace {

constinit platform::GlobalMutex g_mutex;
AsyncWork* first = nullptr;

}  // namespace

void AsyncWork::enlist() {
  const platform::MutexLock lock(g_mutex);
  next_ = first;
  first = this;
}

void AsyncWork::leave() {
  const platform::MutexLock lock(g_mutex);
  AsyncWork** at = &first;
  while (*at != nullptr && *at != this) at = &(*at)->next_;
  if (*at == this) *at = next_;
}

void synchronize() {
  const platform::MutexLock lock(g_mutex);
  for (AsyncWork* work = first; work != nullptr; work = work->next_) work->wait_for_all();
}

}  // namespace wick
