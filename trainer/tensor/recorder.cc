#include "trainer/tensor/recorder.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace wick {
namespace {

constinit std::atomic<uint64_t> g_changes{0};

// The owners that steps hold, once for each step. Never destroyed: static modules may outlive it.
struct Owners {
  std::mutex mutex;
  std::vector<const void*> list;
};
Owners& owners() {
  static auto* o = new Owners;
  return *o;
}
constinit std::atomic<size_t> g_watched{
    0};  // their number, so that most destructors look no further

}  // namespace

void note_host_read(const char* op, const Where& where) {
  note_break(op, "reads a value on the host, and what the program does with it is not an op",
             "return the tensor from the step and read it there, or read it in "
             "run_eagerly([=] { ... })",
             where);
}

void note_break(const char* op, const char* why, const char* rewrite, const Where& where) {
  Recorder* r = modes().recorder;
  if (r == nullptr) return;
  const Where& line = modes().site != nullptr ? modes().site->where : where;
  r->on_break({op, why, rewrite, line.line() == 0 ? std::string() : to_text(line)});
}

void note_flag_read(const bool* flag) {
  if (Recorder* r = modes().recorder) [[unlikely]]
    r->on_flag(flag);
}

uint64_t step_changes() { return g_changes.load(std::memory_order_relaxed); }
void note_step_change() { g_changes.fetch_add(1, std::memory_order_relaxed); }

void watch_owner(const void* owner) {
  std::lock_guard lock(owners().mutex);
  owners().list.push_back(owner);
  g_watched.store(owners().list.size(), std::memory_order_relaxed);
}
void unwatch_owner(const void* owner) {
  std::lock_guard lock(owners().mutex);
  std::vector<const void*>& list = owners().list;
  const auto at = std::find(list.begin(), list.end(), owner);
  if (at != list.end()) list.erase(at);
  g_watched.store(list.size(), std::memory_order_relaxed);
}
void note_owner_gone(const void* owner) {
  if (Recorder* r = modes().recorder) [[unlikely]]
    r->on_owner_gone(owner);
  if (g_watched.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard lock(owners().mutex);
  const std::vector<const void*>& list = owners().list;
  if (std::find(list.begin(), list.end(), owner) != list.end()) note_step_change();
}

}  // namespace wick
