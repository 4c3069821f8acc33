// Implements pools of sessions and of threads in the C ABI.
#include "runtime/exec/c_handles.h"
#include "runtime/platform/threads.h"

using namespace wick;         // NOLINT: this file only translates
using namespace wick::c_api;  // NOLINT

namespace {

template <class T, class... Args>
T* make(const wick_allocator& allocator, const Args&... args) {
  CAllocator from(allocator);
  void* memory = from.allocate(sizeof(T), alignof(T));
  return memory == nullptr ? nullptr : new (memory) T(allocator, args...);
}

template <class T>
void unmake(T* object) {
  CAllocator allocator = object->allocator;
  object->~T();
  allocator.deallocate(object, sizeof(T), alignof(T));
}

// Makes the handles of the pool's sessions.
Status add_sessions(wick_pool* p, const wick_allocator& allocator) {
  for (size_t i = 0; i < p->pool->size(); ++i) {
    auto* s = make<wick_session>(allocator, p->program);
    if (s == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a session");
    if (Status kept = p->sessions.push_back(s); !kept.ok()) {
      unmake(s);
      return kept;
    }
  }
  // Takes each session once, to see its ports.
  Array<SessionPool::Lease> all(p->allocator);
  for (size_t i = 0; i < p->pool->size(); ++i) {
    WICK_ASSIGN(SessionPool::Lease lease, p->pool->acquire({}, WhenBusy::kFail));
    wick_session& s = *p->sessions[lease.slot()];
    s.session = &*lease;
    WICK_TRY(s.views.resize(lease->input_count() + lease->output_count()));
    WICK_TRY(all.push_back(std::move(lease)));
  }
  return {};
}

// Runs the pool; `state`: null where there is none.
int run_pool(wick_pool* p, const wick_tensor* inputs, size_t input_count, wick_tensor* outputs,
             size_t output_count, wick_state* state, const wick_run_options* given) {
  auto run = [&]() -> Status {
    constexpr size_t kMost = 64;
    WICK_TRY(check_pointer(p, "pool"));
    RunOptions options;
    WhenBusy when_busy = WhenBusy::kWait;
    DeviceLists lists;
    WICK_TRY(read_run_options(given, &options, &lists, &when_busy));
    if (input_count > kMost || output_count > kMost) {
      return Status(Code::kInvalidArgument,
                    "more than 64 inputs or outputs: use a session of wick_pool_acquire()");
    }
    TensorView in[kMost], out[kMost];
    if (state != nullptr) options.state = state->state.get();
    WICK_TRY(read_inputs(inputs, input_count, options, in));
    WICK_TRY(read_outputs(outputs, output_count, options, out));
    const Span<const TensorView> ins(in, input_count);
    const Span<TensorView> outs(out, output_count);
    return p->pool->run(ins, outs, options, when_busy);
  };
  return fail(run(), log_for(p));
}

}  // namespace

int wick_thread_pool_create(const wick_thread_pool_options* given, wick_thread_pool** out) {
  wick_thread_pool_options o;
  Status s = read_options(given, &o);
  if (s.ok()) s = check_pointer(out, "thread_pool");
  if (s.ok()) s = check_allocator(o.allocator);
  if (!s.ok()) return fail(s, {});
  auto* p = make<wick_thread_pool>(o.allocator);
  if (p == nullptr) return fail(Status(Code::kOutOfMemory, "cannot allocate the thread pool"), {});
  auto open = [&]() -> Status {
    const int threads = o.threads == 0 ? platform::usable_cpus() : o.threads;
    auto made = o.run == nullptr
                    ? ThreadPool::create(p->allocator, threads)
                    : ThreadPool::create(p->allocator, ThreadHooks{threads, o.user, o.run});
    if (made.ok()) p->pool.reset(*made);
    return made.status();
  };
  if (int code = fail(open(), {}); code != WICK_OK) {
    wick_thread_pool_free(p);
    return code;
  }
  *out = p;
  return WICK_OK;
}
void wick_thread_pool_free(wick_thread_pool* p) {
  if (p != nullptr) unmake(p);
}
int wick_thread_pool_threads(const wick_thread_pool* p) {
  return p == nullptr ? 0 : p->pool->threads();
}

int wick_pool_create(const wick_program* program, const wick_pool_options* given, wick_pool** out) {
  wick_pool_options o;
  wick_session_options each;
  Status s = check_pointer(program, "program");
  if (!s.ok()) return fail(s, {});
  s = read_options(given, &o);
  if (s.ok()) s = annotate(read_options(o.session, &each), "options.session: ");
  if (s.ok()) s = check_pointer(out, "pool");
  if (s.ok()) s = check_allocator(each.allocator);
  if (!s.ok()) return fail(s, program->log);
  const wick_allocator allocator = program->allocator_for(each.allocator);
  auto* p = make<wick_pool>(allocator, *program);
  if (p == nullptr)
    return fail(Status(Code::kOutOfMemory, "cannot allocate a pool of sessions"), program->log);
  auto open = [&]() -> Status {
    SessionPoolOptions options;
    if (o.sessions != 0) options.sessions = o.sessions;
    options.session.allocator = &p->allocator;
    SessionLists lists(p->allocator);
    WICK_TRY(read_session_options(each, lists, p->trace, &options.session));
    WICK_ASSIGN(p->pool, SessionPool::create(*program->program, options));
    return add_sessions(p, allocator);
  };
  if (int code = fail(open(), program->log); code != WICK_OK) {
    wick_pool_free(p);
    return code;
  }
  *out = p;
  return WICK_OK;
}
void wick_pool_free(wick_pool* p) {
  if (p == nullptr) return;
  for (wick_session* s : p->sessions) unmake(s);
  unmake(p);
}
size_t wick_pool_size(const wick_pool* p) { return p == nullptr ? 0 : p->pool->size(); }
size_t wick_pool_idle(const wick_pool* p) { return p == nullptr ? 0 : p->pool->idle(); }
size_t wick_pool_memory(const wick_pool* p) { return p == nullptr ? 0 : p->pool->held_bytes(); }

int wick_pool_run(wick_pool* p, const wick_tensor* inputs, size_t input_count, wick_tensor* outputs,
                  size_t output_count, const wick_run_options* given) {
  return run_pool(p, inputs, input_count, outputs, output_count, nullptr, given);
}
int wick_pool_run_state(wick_pool* p, const wick_tensor* inputs, size_t input_count,
                        wick_tensor* outputs, size_t output_count, wick_state* state,
                        const wick_run_options* given) {
  if (Status s = check_pointer(state, "state"); !s.ok()) return fail(s, log_for(p));
  return run_pool(p, inputs, input_count, outputs, output_count, state, given);
}

int wick_state_create(const wick_program* program, const wick_state_options* given,
                      wick_state** out) {
  wick_state_options o;
  Status s = check_pointer(program, "program");
  if (!s.ok()) return fail(s, {});
  s = read_options(given, &o);
  if (s.ok()) s = check_pointer(out, "state");
  if (s.ok()) s = check_allocator(o.allocator);
  if (s.ok()) s = check_array(o.links, o.link_count, "options.links");
  if (s.ok()) s = check_array(o.dims, o.dim_count, "options.dims");
  if (!s.ok()) return fail(s, program->log);
  auto* made = make<wick_state>(program->allocator_for(o.allocator));
  if (made == nullptr)
    return fail(Status(Code::kOutOfMemory, "cannot allocate a state"), program->log);
  auto open = [&]() -> Status {
    Array<StateLink> links(made->allocator);
    Array<DimBinding> dims(made->allocator);
    for (size_t i = 0; i < o.link_count; ++i)
      WICK_TRY(links.push_back({o.links[i].input, o.links[i].output}));
    for (size_t i = 0; i < o.dim_count; ++i)
      WICK_TRY(dims.push_back({o.dims[i].symbol, o.dims[i].extent}));
    RecurrentStateOptions options;
    options.entry = o.entry;
    options.allocator = &made->allocator;
    options.dims = {dims.data(), dims.size()};
    if (o.max_ram != 0) options.max_ram = o.max_ram;
    WICK_ASSIGN(made->state,
                RecurrentState::create(*program->program, {links.data(), links.size()}, options));
    return {};
  };
  if (int code = fail(open(), program->log); code != WICK_OK) {
    wick_state_free(made);
    return code;
  }
  *out = made;
  return WICK_OK;
}
void wick_state_free(wick_state* state) {
  if (state != nullptr) unmake(state);
}
void wick_state_reset(wick_state* state) {
  if (state != nullptr) state->state->reset();
}
int wick_state_fork(wick_state* state, wick_state** copy) {
  auto fork = [&]() -> Status {
    WICK_TRY(check_pointer(state, "state"));
    WICK_TRY(check_pointer(copy, "copy"));
    auto* made = make<wick_state>(state->allocator.functions());
    if (made == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a state");
    auto forked = state->state->fork(&made->allocator);
    if (!forked.ok()) {
      unmake(made);
      return forked.status();
    }
    made->state = std::move(*forked);
    *copy = made;
    return {};
  };
  return fail(fork(), {});
}
size_t wick_state_count(const wick_state* state) {
  return state == nullptr ? 0 : state->state->size();
}
const char* wick_state_name(const wick_state* state, size_t i) {
  return i < wick_state_count(state) ? state->state->name(i) : nullptr;
}
int wick_state_find(const wick_state* state, const char* name) {
  return state == nullptr ? -1 : state->state->find(name);
}
size_t wick_state_bytes(const wick_state* state) {
  return state == nullptr ? 0 : state->state->bytes();
}
int wick_state_value(const wick_state* state, size_t i, wick_tensor* value) {
  Status s = check_pointer(state, "state");
  if (s.ok()) s = check_pointer(value, "value");
  if (s.ok() && i >= state->state->size())
    s = error(Code::kInvalidArgument, "there is no buffer or link %zu", i);
  if (s.ok()) to_tensor(state->state->value(i), value);
  return fail(s, {});
}

int wick_pool_acquire(wick_pool* p, const wick_run_options* given, wick_session** session) {
  auto acquire = [&]() -> Status {
    WICK_TRY(check_pointer(p, "pool"));
    WICK_TRY(check_pointer(session, "session"));
    RunOptions options;
    WhenBusy when_busy = WhenBusy::kWait;
    WICK_TRY(read_run_options(given, &options, nullptr, &when_busy));
    WICK_ASSIGN(SessionPool::Lease lease, p->pool->acquire(options, when_busy));
    wick_session* s = p->sessions[lease.slot()];
    s->lease = std::move(lease);
    *session = s;
    return {};
  };
  return fail(acquire(), log_for(p));
}
