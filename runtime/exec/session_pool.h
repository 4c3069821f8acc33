// SessionPool: a fixed number of sessions of one program, as one object for any number of threads.
// Example (examples/hot_reload/main.cc):
//
//   wick::SessionPoolOptions options;
//   options.sessions = 4;
//   auto pool = wick::SessionPool::create(**program, options);
//   if (!pool.ok()) return std::puts(pool.status().message()), 1;
//   // in any thread:
//   wick::Status s = (*pool)->run({&in, 1}, {&out, 1}, {.timeout_ns = 50'000'000});
#pragma once

#include <utility>

#include "runtime/exec/recurrent_state.h"
#include "runtime/exec/session.h"

namespace wick {

// What a call does while every session of the pool is in use.
enum class WhenBusy : uint8_t {
  kWait = 0,  // waits in line until the deadline, or until it is cancelled
  kFail = 1,  // returns kBusy at once
};

// Options of SessionPool::create().
struct SessionPoolOptions {
  size_t sessions = 2;  // 1 to 65536
  // Of each session; max_ram is each one's. Without a ThreadPool of yours the pool makes one of
  // `threads` threads, which its sessions share. A trace hook is called from several threads at
  // once.
  SessionOptions session = {};
};

// Keeps no value between runs: what a recurrent model remembers is the caller's, in a
// RecurrentState or in buffers of its own, so that any session may serve the next step.
class SessionPool {
 public:
  // Opens all sessions; later nothing more is allocated than they need for new shapes. `program`
  // must outlive the pool. kInvalidArgument: no sessions, or too many; else as Session::create().
  static Result<Owned<SessionPool>> create(const Program& program,
                                           const SessionPoolOptions& options = {});
  // Call it when every call has returned and every Lease is gone.
  static void destroy(SessionPool* pool);

  // Runs the program on a session that is free, if possible one that is bound to these shapes.
  // Each output has memory of the caller's: the session serves others as soon as this returns.
  // options.timeout_ns includes the wait for a session. Errors are those of Session::run(), and
  // kBusy; kInvalidArgument: an output without memory; kUnsupported: an output of strings, whose
  // bytes stay in the session. acquire() serves those.
  Status run(Span<const TensorView> inputs, Span<TensorView> outputs,
             const RunOptions& options = {}, WhenBusy when_busy = WhenBusy::kWait);

  // The same for one step of a stream, with options.state = &state. kInvalidArgument: the state is
  // of another program or entry point, or another run uses it.
  Status run(Span<const TensorView> inputs, Span<TensorView> outputs, RecurrentState& state,
             const RunOptions& options = {}, WhenBusy when_busy = WhenBusy::kWait);

  class Lease;
  // Takes a session out of the pool until the Lease is destroyed: for outputs in the session's own
  // memory, and for all else that a Session does. A thread that holds one and waits for another may
  // wait for ever. kBusy, kDeadline, kCancelled.
  Result<Lease> acquire(const RunOptions& options = {}, WhenBusy when_busy = WhenBusy::kWait);
  // The same, if possible with a session that is bound to these shapes.
  Result<Lease> acquire(Span<const TensorView> inputs, const RunOptions& options = {},
                        WhenBusy when_busy = WhenBusy::kWait);

  // Return the number of sessions, and how many of them nobody uses just now.
  size_t size() const;
  size_t idle() const;
  // Returns the bytes that all sessions hold: planned memory, and weights that each has for itself.
  // Those that they share are in Program::packed(). May be called at any time.
  size_t held_bytes() const;

 private:
  struct Impl;
  SessionPool() = default;
  ~SessionPool() = default;
  Impl* impl_ = nullptr;
};

// Owns a session of a pool. A run that was started in it and not finished ends with it.
class SessionPool::Lease {
 public:
  Lease() = default;  // owns none
  Lease(Lease&& o) noexcept : pool_(std::exchange(o.pool_, nullptr)), slot_(o.slot_) {}
  Lease& operator=(Lease&& o) noexcept {
    if (this == &o) return *this;
    const Lease old(std::move(*this));  // is given back last: then another caller may write here
    pool_ = std::exchange(o.pool_, nullptr);
    slot_ = o.slot_;
    return *this;
  }
  ~Lease() { release(); }

  // Gives the session back. Views of its memory are then another caller's.
  void release();
  explicit operator bool() const { return pool_ != nullptr; }
  Session& operator*() const;
  Session* operator->() const { return &**this; }
  // Returns the number of the session in its pool.
  size_t slot() const { return slot_; }

 private:
  friend class SessionPool;
  Lease(SessionPool* pool, size_t slot) : pool_(pool), slot_(slot) {}
  SessionPool* pool_ = nullptr;
  size_t slot_ = 0;
};

}  // namespace wick
