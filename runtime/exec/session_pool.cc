#include "runtime/exec/session_pool.h"

#include "runtime/core/thread_pool.h"
#include "runtime/exec/session_impl.h"
#include "runtime/exec/slot_queue.h"
#include "runtime/platform/threads.h"

namespace wick {
namespace {

// More is a wrong count, -1 say: opening them would end with the machine's memory.
constexpr size_t kMostSessions = 65536;

// Returns a number for the inputs' shapes: sessions that served equal ones need no new binding.
uint64_t tag_of(Span<const TensorView> inputs) {
  uint64_t tag = 1;
  for (const TensorView& v : inputs) {
    for (int64_t d : v.shape) tag = (tag ^ static_cast<uint64_t>(d)) * 0x9e3779b97f4a7c15u;
    tag = (tag ^ static_cast<uint64_t>(v.rank())) * 0xff51afd7ed558ccdu;
    tag ^= tag >> 32;
  }
  return tag;
}

uint64_t deadline_of(const RunOptions& options) {
  uint64_t at = 0;
  if (options.timeout_ns != 0 && __builtin_add_overflow(now_ns(), options.timeout_ns, &at))
    return UINT64_MAX;
  return at;
}

}  // namespace

struct SessionPool::Impl {
  explicit Impl(Allocator& a) : allocator(a), sessions(a), slots(a) {}

  Result<Lease> take(SessionPool* pool, uint64_t tag, uint64_t deadline, const RunOptions& options,
                     WhenBusy when_busy);

  Allocator& allocator;
  Owned<ThreadPool> threads;  // null: the caller's; outlives the sessions
  Array<Owned<Session>> sessions;
  SlotQueue slots;
};

Result<Owned<SessionPool>> SessionPool::create(const Program& program,
                                               const SessionPoolOptions& options) {
  if (options.sessions == 0 || options.sessions > kMostSessions)
    return error(Code::kInvalidArgument, "a pool of %zu sessions: give 1 to %zu", options.sessions,
                 kMostSessions);
  SessionOptions each = options.session;
  Allocator& allocator = each.allocator != nullptr ? *each.allocator : default_allocator();
  void* memory = allocator.allocate(sizeof(SessionPool), alignof(SessionPool));
  void* impl = memory == nullptr ? nullptr : allocator.allocate(sizeof(Impl), alignof(Impl));
  if (impl == nullptr) {
    allocator.deallocate(memory, sizeof(SessionPool), alignof(SessionPool));
    return Status(Code::kOutOfMemory, "cannot allocate a pool of sessions");
  }
  auto* pool = new (memory) SessionPool();
  pool->impl_ = new (impl) Impl(allocator);
  Owned<SessionPool> owned(pool);
  Impl& made = *pool->impl_;
  if (each.thread_pool == nullptr) {
    const int threads = each.threads == 0 ? platform::usable_cpus() : each.threads;
    WICK_ASSIGN(ThreadPool * shared, ThreadPool::create(allocator, threads));
    made.threads.reset(shared);
    each.thread_pool = shared;
    each.threads = 0;
  }
  for (size_t i = 0; i < options.sessions; ++i) {
    WICK_ASSIGN(Owned<Session> session, Session::create(program, each));
    WICK_TRY(made.sessions.push_back(std::move(session)));
  }
  WICK_TRY(made.slots.open(options.sessions));
  return owned;
}

void SessionPool::destroy(SessionPool* pool) {
  if (pool == nullptr) return;
  Impl* impl = pool->impl_;
  Allocator& allocator = impl->allocator;
  impl->~Impl();
  allocator.deallocate(impl, sizeof(Impl), alignof(Impl));
  pool->~SessionPool();
  allocator.deallocate(pool, sizeof(SessionPool), alignof(SessionPool));
}

size_t SessionPool::size() const { return impl_->slots.size(); }
size_t SessionPool::idle() const { return impl_->slots.free(); }

size_t SessionPool::held_bytes() const {
  size_t bytes = 0;
  for (const Owned<Session>& s : impl_->sessions)
    bytes += s->arena_bytes() + s->packed_bytes() - s->shared_bytes();
  return bytes;
}

Result<SessionPool::Lease> SessionPool::Impl::take(SessionPool* pool, uint64_t tag,
                                                   uint64_t deadline, const RunOptions& options,
                                                   WhenBusy when_busy) {
  Stop stop;
  stop.arm(deadline, options.cancel);
  WICK_ASSIGN(const size_t slot, slots.take(tag, when_busy == WhenBusy::kWait, stop));
  return Lease(pool, slot);
}

Result<SessionPool::Lease> SessionPool::acquire(const RunOptions& options, WhenBusy when_busy) {
  return impl_->take(this, 0, deadline_of(options), options, when_busy);
}

Result<SessionPool::Lease> SessionPool::acquire(Span<const TensorView> inputs,
                                                const RunOptions& options, WhenBusy when_busy) {
  return impl_->take(this, tag_of(inputs), deadline_of(options), options, when_busy);
}

// Checks that the caller has memory for each output: the session's own is soon another caller's.
// Outputs that the state links have theirs.
static Status check_memory(const Session& any, Span<const TensorView> outputs,
                           const RunOptions& options) {
  size_t next = 0;
  for (size_t i = 0; i < any.output_count() && next < outputs.size(); ++i) {
    if (StateRun::links_output(options.state, i)) continue;
    const PortInfo port = any.output(i);
    if (port.dtype == DType::kString || port.element == DType::kString) {
      return error(Code::kUnsupported,
                   "output %.60s has strings, whose bytes stay in the session: acquire() one, and "
                   "read them before it is given back",
                   port.name);
    }
    const bool on_device =
        i < options.device_outputs.size() && options.device_outputs[i] != nullptr;
    if (outputs[next++].data == nullptr && !on_device) {
      return error(Code::kInvalidArgument,
                   "output %.60s has no memory: give it a buffer, or acquire() a session",
                   port.name);
    }
  }
  return {};
}

Status SessionPool::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                        const RunOptions& options, WhenBusy when_busy) {
  const Session& any = *impl_->sessions[0];  // its ports never change
  StateRun state;
  WICK_TRY(state.take(options, any.impl_->values.program, any.impl_->entry()));
  WICK_TRY(check_memory(any, outputs, options));
  const uint64_t deadline = deadline_of(options);
  WICK_ASSIGN(const Lease lease, impl_->take(this, tag_of(inputs), deadline, options, when_busy));
  RunOptions rest = options;
  if (deadline != 0) {
    const uint64_t now = now_ns();
    if (now >= deadline) return Status(Code::kDeadline, "the deadline passed");
    rest.timeout_ns = deadline - now;
  }
  return lease->run_with(state, inputs, outputs, rest);
}

Status SessionPool::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                        RecurrentState& state, const RunOptions& options, WhenBusy when_busy) {
  RunOptions with = options;
  with.state = &state;
  return run(inputs, outputs, with, when_busy);
}

Session& SessionPool::Lease::operator*() const { return *pool_->impl_->sessions[slot_]; }

void SessionPool::Lease::release() {
  if (pool_ == nullptr) return;
  SessionPool::Impl& impl = *std::exchange(pool_, nullptr)->impl_;
  impl.sessions[slot_]->impl_->abandon();
  impl.slots.give(slot_);
}

}  // namespace wick
