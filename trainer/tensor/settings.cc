// The process-wide pool and the thread's modes.
#include <mutex>

#include "trainer/tensor/call.h"
#include "trainer/tensor/modes.h"

namespace wick {
namespace {

std::mutex g_pool_mutex;
ThreadPool* g_pool = nullptr;
thread_local Modes g_modes;

}  // namespace

Modes& modes() { return g_modes; }

// Must not be called while another thread is inside of an op.
void set_num_threads(int threads) {
  if (threads < 1)
    throw Error("[set_num_threads] needs at least 1 thread, got " + std::to_string(threads));
  std::lock_guard lock(g_pool_mutex);
  if (threads == (g_pool != nullptr ? g_pool->threads() : 1)) return;
  ThreadPool::destroy(g_pool);
  g_pool = nullptr;
  if (threads == 1) return;
  auto pool = ThreadPool::create(default_allocator(), threads);
  if (!pool.ok())
    throw Error(std::string("[set_num_threads] ") + pool.status().message(), pool.status().code());
  g_pool = *pool;
}
int num_threads() { return g_pool != nullptr ? g_pool->threads() : 1; }
ThreadPool* thread_pool() { return g_pool; }

void set_trace_hook(TraceHook* hook) { g_modes.trace_hook = hook; }

bool grad_enabled() { return g_modes.grad; }
GradMode::GradMode(bool on) : saved_(g_modes.grad) { g_modes.grad = on; }
GradMode::~GradMode() { g_modes.grad = saved_; }
void set_grad_enabled(bool on) { g_modes.grad = on; }

bool inference_mode_enabled() { return g_modes.inference; }
InferenceMode::InferenceMode(bool on) : saved_grad_(g_modes.grad), saved_(g_modes.inference) {
  g_modes.inference = on;
  g_modes.grad = !on;
}
InferenceMode::~InferenceMode() {
  g_modes.inference = saved_;
  g_modes.grad = saved_grad_;
}

ReferenceKernelsScope::ReferenceKernelsScope() : saved_(g_modes.reference) {
  g_modes.reference = true;
}
ReferenceKernelsScope::~ReferenceKernelsScope() { g_modes.reference = saved_; }

}  // namespace wick
