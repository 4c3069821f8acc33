#include "runtime/core/unfinished.h"

#include <atomic>

#include "runtime/platform/files.h"

namespace wick {
namespace {

constexpr int kSlots = 64;
constinit std::atomic<const char*> g_paths[kSlots] = {};

}  // namespace

void Unfinished::begin(const char* path) {
  done();
  for (int i = 0; i < kSlots && slot_ < 0; ++i) {
    const char* none = nullptr;
    if (g_paths[i].compare_exchange_strong(none, path)) slot_ = i;
  }
}

void Unfinished::done() {
  if (slot_ >= 0) g_paths[slot_].store(nullptr);
  slot_ = -1;
}

void remove_unfinished() {
  for (std::atomic<const char*>& path : g_paths) {
    if (const char* p = path.load(); p != nullptr) platform::remove_file(p);
  }
}

}  // namespace wick
