#include "runtime/core/async_work.h"

#include <pthread.h>

namespace wick {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
AsyncWork* first = nullptr;

}  // namespace

void AsyncWork::enlist() {
  pthread_mutex_lock(&lock);
  next_ = first;
  first = this;
  pthread_mutex_unlock(&lock);
}

void AsyncWork::leave() {
  pthread_mutex_lock(&lock);
  AsyncWork** at = &first;
  while (*at != nullptr && *at != this) at = &(*at)->next_;
  if (*at == this) *at = next_;
  pthread_mutex_unlock(&lock);
}

void synchronize() {
  pthread_mutex_lock(&lock);
  for (AsyncWork* work = first; work != nullptr; work = work->next_) work->wait_for_all();
  pthread_mutex_unlock(&lock);
}

}  // namespace wick
