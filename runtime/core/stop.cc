#include "runtime/core/stop.h"

#include <cstring>

#include "runtime/platform/clock.h"

namespace wick {
namespace {

constinit WICK_THREAD_LOCAL Stop* t_stop = nullptr;

}  // namespace

uint64_t now_ns() { return platform::clock_ns(); }

Status Stop::status() const {
  switch (static_cast<Code>(why_.load(std::memory_order_relaxed))) {
    case Code::kOk: return {};
    case Code::kCancelled: return Status(Code::kCancelled, "the run was cancelled");
    default: return Status(Code::kDeadline, "the deadline passed");
  }
}

Stop* current_stop() { return t_stop; }

StopScope::StopScope(Stop* stop) : saved_(t_stop) { t_stop = stop; }
StopScope::~StopScope() { t_stop = saved_; }

bool copy_bytes(void* to, const void* from, size_t bytes) {
  constexpr size_t kPiece = size_t{4} << 20;
  Stop* stop = current_stop();
  if (stop == nullptr || bytes <= kPiece) {
    if (bytes != 0) memcpy(to, from, bytes);
    return true;
  }
  for (size_t at = 0; at < bytes; at += kPiece) {
    if (stop->reached()) return false;
    memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
           bytes - at < kPiece ? bytes - at : kPiece);
  }
  return true;
}

// Tasks that take less than kQuick ns are checked in groups of at most kMost, so that one task that
// is far longer than those before it does not overrun the deadline by much.
bool TaskPoll::ask() {
  constexpr uint64_t kQuick = 100'000;
  constexpr int kMost = 8;
  uint64_t now = 0;
  if (stop_->reached(&now)) return true;
  const bool quick = asked_ns_ != 0 && now - asked_ns_ < kQuick;
  every_ = !quick ? 1 : every_ < kMost ? 2 * every_ : kMost;
  asked_ns_ = now;
  left_ = every_;
  return false;
}

}  // namespace wick
