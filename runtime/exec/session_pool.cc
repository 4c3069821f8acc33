#include "runtime/exec/session_pool.h"

#include "runtime/core/thread_pool.h"
#include "runtime/exec/session_impl.h"
#include "runtime/exec/slot_queue.h"
#include "runtime/platform/threads.h"

namespace wick {
namespace {

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
  if (options.sessions == 0)
    return Status(Code::kInvalidArgument, "a pool of 0 sessions: give 1 or more");
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

Status SessionPool::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                        const RunOptions& options, WhenBusy when_busy) {
  const Session& any = *impl_->sessions[0];  // its ports never change
  for (size_t i = 0; i < outputs.size() && i < any.output_count(); ++i) {
    const PortInfo port = any.output(i);
    if (port.dtype == DType::kString || port.element == DType::kString) {
      return error(Code::kUnsupported,
                   "output %.60s has strings, whose bytes stay in the session: acquire() one, and "
                   "read them before it is given back",
                   port.name);
    }
    if (outputs[i].data == nullptr) {
      return error(Code::kInvalidArgument,
                   "output %.60s has no memory: give it a buffer, or acquire() a session",
                   port.name);
    }
  }
  const uint64_t deadline = deadline_of(options);
  WICK_ASSIGN(const Lease lease, impl_->take(this, tag_of(inputs), deadline, options, when_busy));
  RunOptions rest = options;
  if (deadline != 0) {
    const uint64_t now = now_ns();
    if (now >= deadline) return Status(Code::kDeadline, "the deadline passed");
    rest.timeout_ns = deadline - now;
  }
  return lease->run(inputs, outputs, rest);
}

Status SessionPool::run(Span<const TensorView> inputs, Span<TensorView> outputs,
                        RecurrentState& state, const RunOptions& options, WhenBusy when_busy) {
  constexpr size_t kMost = 64;  // with more, give the state's buffers as inputs and outputs
  const EntryDef& entry = impl_->sessions[0]->impl_->entry();
  const size_t ins = entry.body().inputs.size(), outs = entry.body().outputs.size();
  if (&state.entry_ != &entry)
    return Status(Code::kInvalidArgument, "the state was made for another program or entry point");
  if (ins > kMost || outs > kMost) {
    return Status(Code::kInvalidArgument,
                  "more than 64 inputs or outputs: run without a RecurrentState");
  }
  if (state.in_run_.exchange(1, std::memory_order_acquire) != 0) {
    return Status(Code::kInvalidArgument,
                  "another run uses this state: the steps of a stream come one after the other");
  }
  TensorView in[kMost], out[kMost];
  Status s = state.join(inputs, outputs, {in, ins}, {out, outs});
  if (s.ok()) s = run(Span<const TensorView>(in, ins), {out, outs}, options, when_busy);
  if (s.ok()) state.now_ = 1 - state.now_;
  state.in_run_.store(0, std::memory_order_release);
  return s;
}

Session& SessionPool::Lease::operator*() const { return *pool_->impl_->sessions[slot_]; }

void SessionPool::Lease::release() {
  if (pool_ == nullptr) return;
  SessionPool::Impl& impl = *std::exchange(pool_, nullptr)->impl_;
  impl.sessions[slot_]->impl_->abandon();
  impl.slots.give(slot_);
}

}  // namespace wick
