#include "runtime/exec/session.h"

#include <algorithm>

#include "runtime/core/packed_sequence.h"
#include "runtime/core/string_ref.h"
#include "runtime/exec/ports.h"
#include "runtime/exec/session_impl.h"
#include "runtime/platform/threads.h"

namespace wick {
namespace {

// Lists in one message every custom op that the entry needs and that was not given.
Status check_custom_given(const Program& program, const EntryDef& entry) {
  char list[300];
  list[0] = '\0';
  size_t at = 0, missing = 0;
  const CustomOpDef* first = nullptr;
  for (const CustomOpDef& def : program.custom_ops()) {
    if (def.op != nullptr) continue;
    auto id = static_cast<OpId>(kFirstCustomOp + (&def - program.custom_ops().data()));
    size_t nodes = 0;
    for (const RegionDef& region : entry.regions) {
      for (const NodeDef& node : region.nodes) nodes += node.op == id ? 1 : 0;
    }
    if (nodes == 0) continue;
    if (first == nullptr) first = &def;
    ++missing;
    if (at + 180 > sizeof(list)) continue;
    at += part_of_text(list + at, sizeof(list) - at, "%s%s version %u (%zu nodes)",
                       at == 0 ? "" : ", ", custom_op_name(def.domain, def.name).text, def.version,
                       nodes);
  }
  if (missing == 0) return {};
  return error(Code::kUnsupported,
               "the program needs custom ops that were not given: %s. They are in a library of "
               "domain %.60s: give it when the program is loaded (LoadOptions::custom_ops, "
               "wick_load_options.ops, wick run --ops LIBRARY.so)",
               list, first->domain);
}

// Refuses what the format can express but this session cannot run yet.
Status check_runnable(const Program& program, const EntryDef& entry) {
  for (const ValueDef& v : entry.values) {
    if (v.kind == ValueKind::kMap) return error(Code::kUnsupported, "value %.60s is a map", v.name);
  }
  return check_custom_given(program, entry);
}

// The layout of one memory block for two objects; the second is at its next aligned offset.
template <class First, class Second>
struct Block {
  static constexpr size_t kAlign = std::max(alignof(First), alignof(Second));
  static constexpr size_t kSecondAt =
      (sizeof(First) + alignof(Second) - 1) / alignof(Second) * alignof(Second);
  static constexpr size_t kBytes = kSecondAt + sizeof(Second);
};

}  // namespace

Result<Owned<Session>> Session::create(const Program& program, const SessionOptions& options) {
  const EntryDef* entry =
      options.entry == nullptr ? &program.entries()[0] : program.find_entry(options.entry);
  if (entry == nullptr)
    return error(Code::kNotFound, "there is no entry point %.60s", options.entry);
  WICK_TRY(program.intact_so_far());
  WICK_TRY(check_runnable(program, *entry));
  Allocator& allocator = options.allocator != nullptr ? *options.allocator : default_allocator();
  using Both = Block<Session, Impl>;
  void* memory = allocator.allocate(Both::kBytes, Both::kAlign);
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a session");
  auto* session = new (memory) Session();
  auto* impl =
      new (static_cast<char*>(memory) + Both::kSecondAt) Impl(program, *entry, options, allocator);
  session->impl_ = impl;
  Owned<Session> owned(session);

  for (const KernelSet* set : options.kernels.empty() ? default_kernels() : options.kernels) {
    WICK_TRY(impl->machine.sets.push_back(set));
  }
  impl->machine.cpu = CpuBackend(impl->machine.sets);
  WICK_TRY(impl->prepare_states());
  WICK_TRY(impl->take_threads(options, allocator));

  if (options.device_cache != nullptr) {
    Status loaded(Code::kUnsupported, "the session has no device");
    if (options.backend != nullptr) loaded = options.backend->load_cache(options.device_cache);
    if (!loaded.ok()) {
      impl->cache_refused = true;
      part_of_text(impl->refused_cache, sizeof(impl->refused_cache), "%s", loaded.message());
    }
  }

  // Binds at once where every size is known.
  Array<Shape> shapes(allocator);
  bool known = true;
  for (const DimBinding& d : options.max_dims) {
    if (d.symbol == nullptr) {
      return error(Code::kInvalidArgument, "max_dims[%zu].symbol is null",
                   static_cast<size_t>(&d - options.max_dims.data()));
    }
    bool found = false;
    for (const SymbolDef& s : program.symbols()) found = found || strcmp(s.name, d.symbol) == 0;
    if (!found)
      return error(Code::kNotFound, "the program has no symbolic dimension %.60s", d.symbol);
    if (d.extent < 0) {
      return error(Code::kInvalidArgument, "max_dims: %.60s is %lld, a size is 0 or more", d.symbol,
                   static_cast<long long>(d.extent));
    }
  }
  for (uint32_t id : entry->body().inputs) {
    const ValueDef& v = entry->values[id];
    Shape shape;
    if (is_container(v.dtype)) {
      WICK_TRY(shapes.push_back(Shape{0}));  // its size does not affect the plan
      continue;
    }
    known = known && !v.unranked;
    for (const DimDef& dim : v.dims) {
      int64_t extent = dim.value;
      if (dim.symbol >= 0) {
        extent = -1;
        for (const DimBinding& d : options.max_dims) {
          if (strcmp(d.symbol, program.symbols()[static_cast<size_t>(dim.symbol)].name) == 0)
            extent = d.extent;
        }
      }
      known = known && extent >= 0;
      shape.push_back(extent);
    }
    WICK_TRY(shapes.push_back(shape));
  }
  known = known && impl->inputs_tell;
  if (known) WICK_TRY(impl->bind(shapes));
  WICK_TRY(program.intact());
  impl->count();
  return owned;
}

// Takes the threads that are given, or makes threads of the session's own.
Status Session::Impl::take_threads(const SessionOptions& options, Allocator& allocator) {
  machine.threads = options.threads == 0 ? platform::usable_cpus() : options.threads;
  if (options.thread_pool == nullptr) {
    WICK_ASSIGN(machine.pool, ThreadPool::create(allocator, machine.threads));
    machine.owns_pool = true;
    return {};
  }
  machine.pool = options.thread_pool;
  machine.threads = options.thread_pool->threads();
  if (options.threads == 0 || options.threads == machine.threads) return {};
  return error(Code::kInvalidArgument,
               "threads is %d, the given pool has %d: leave threads 0, or give the pool's number",
               options.threads, machine.threads);
}

void Session::destroy(Session* session) {
  if (session == nullptr) return;
  Impl* impl = session->impl_;
  impl->abandon();  // a run that was started leaves its state as it was
  Allocator& allocator = impl->memory.allocator.inner();
  if (impl->machine.owns_pool) ThreadPool::destroy(impl->machine.pool);
  impl->~Impl();
  session->~Session();
  allocator.deallocate(session, Block<Session, Impl>::kBytes, Block<Session, Impl>::kAlign);
}

size_t Session::input_count() const { return impl_->entry().body().inputs.size(); }
size_t Session::output_count() const { return impl_->entry().body().outputs.size(); }
PortInfo Session::input(size_t i) const {
  return port(impl_->entry(), impl_->entry().body().inputs[i]);
}
PortInfo Session::output(size_t i) const {
  return port(impl_->entry(), impl_->entry().body().outputs[i]);
}
int Session::find_input(const char* name) const {
  return find_port(impl_->entry(), impl_->entry().body().inputs, name);
}
int Session::find_output(const char* name) const {
  return find_port(impl_->entry(), impl_->entry().body().outputs, name);
}
int Session::threads() const { return impl_->machine.threads; }

// Updates the counts that may be read during a call. A device's memory may grow with any run.
void Session::Impl::count() {
  if (!binder.take_changed() && machine.backend == nullptr) return;
  size_t steps = 0, arena = 0, packed = machine.cache.bytes();
  for (Stage* const& region : runner.regions()) {
    for (const Stage* stage = region; stage != nullptr; stage = stage->next) {
      arena += stage->plan.planned_bytes;
      for (const BoundPartition& p : stage->plan.partitions) {
        if (p.compiled != nullptr) packed += p.compiled->held_bytes();
      }
      if (&region == &runner.regions()[0] && stage->plan.bound)
        steps += stage->plan.steps.size() + (stage->plan.end < entry().body().nodes.size() ? 1 : 0);
    }
  }
  counts.steps.store(steps, std::memory_order_relaxed);
  counts.arena_bytes.store(arena, std::memory_order_relaxed);
  counts.packed_bytes.store(packed, std::memory_order_relaxed);
  counts.shared_bytes.store(machine.cache.bytes(), std::memory_order_relaxed);
  counts.packed_forms.store(machine.cache.size(), std::memory_order_relaxed);
}

size_t Session::step_count() const { return impl_->counts.steps.load(std::memory_order_relaxed); }
size_t Session::arena_bytes() const {
  return impl_->counts.arena_bytes.load(std::memory_order_relaxed);
}
size_t Session::packed_bytes() const {
  return impl_->counts.packed_bytes.load(std::memory_order_relaxed);
}
size_t Session::shared_bytes() const {
  return impl_->counts.shared_bytes.load(std::memory_order_relaxed);
}
size_t Session::packed_form_count() const {
  return impl_->counts.packed_forms.load(std::memory_order_relaxed);
}
const char* Session::refused_cache() const {
  if (!impl_->cache_refused) return "";
  return impl_->refused_cache[0] != '\0' ? impl_->refused_cache : "it cannot be used";
}
const char* Session::left_backend() const {
  return impl_->left.load(std::memory_order_acquire) ? impl_->left_backend : "";
}

Result<Session::PackedForm> Session::packed_form(size_t i) const {
  Turn turn(impl_->use);
  WICK_TRY(turn.take_to_look());
  if (i >= impl_->machine.cache.size())
    return error(Code::kInvalidArgument, "there is no packed form %zu", i);
  const PackCache::Key& key = impl_->machine.cache.key(i);
  const auto* data = static_cast<const uint8_t*>(impl_->machine.cache.data(i));
  if (key.variant != 0 || data == nullptr) return PackedForm{key.constant, key.layout, {}};
  return PackedForm{key.constant, key.layout, {data, key.bytes}};
}

Status Session::bind(Span<const Shape> shapes) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take());
  Status s = impl_->values.program.intact_so_far();
  if (s.ok()) s = impl_->bind(shapes);
  if (s.ok()) s = impl_->values.program.intact();
  impl_->count();
  return s;
}

Result<Shape> Session::output_shape(size_t i) const {
  if (i >= output_count()) return error(Code::kInvalidArgument, "there is no output %zu", i);
  Turn turn(impl_->use);
  WICK_TRY(turn.take_to_look());
  if (!impl_->bound)
    return Status(Code::kInvalidArgument, "the session is not bound to shapes yet");
  if (!impl_->sized)
    return Status(Code::kInvalidArgument, "the shape depends on values: it is known after a run");
  return impl_->values[impl_->entry().body().outputs[i]].shape;
}

Status Session::run(Span<const NamedView> inputs, Span<NamedView> outputs,
                    const RunOptions& options) {
  constexpr size_t kMaxNamed = 64;  // with more, run by position
  TensorView in[kMaxNamed], out[kMaxNamed];
  if (input_count() > kMaxNamed || output_count() > kMaxNamed) {
    return Status(Code::kInvalidArgument, "more than 64 inputs or outputs: run by position");
  }
  for (const NamedView& v : inputs) {
    int i = find_input(v.name);
    if (v.name == nullptr) {
      return error(Code::kInvalidArgument, "an input's name is null; there are: %s",
                   names_of(impl_->entry(), impl_->entry().body().inputs).text);
    }
    if (i < 0) {
      return error(Code::kNotFound, "no input is named %.60s; there are: %s", v.name,
                   names_of(impl_->entry(), impl_->entry().body().inputs).text);
    }
    if (in[i].present()) return error(Code::kInvalidArgument, "input %.60s is given twice", v.name);
    in[i] = v.view;
  }
  size_t ins = 0, outs = 0, place[kMaxNamed] = {};
  for (size_t i = 0; i < input_count(); ++i) {
    const bool linked = StateRun::links_input(options.state, i);
    const bool on_device = i < options.device_inputs.size() && options.device_inputs[i] != nullptr;
    if (linked == (in[i].present() || on_device)) {
      return error(Code::kInvalidArgument, "input %.60s is %s", input(i).name,
                   linked ? "linked by the state: leave it out" : "missing");
    }
    if (!linked) in[ins++] = in[i];
  }
  for (size_t i = 0; i < output_count(); ++i) {
    place[i] = outs;
    if (!StateRun::links_output(options.state, i)) ++outs;
  }
  for (const NamedView& v : outputs) {
    int i = find_output(v.name);
    if (v.name == nullptr) {
      return error(Code::kInvalidArgument, "an output's name is null; there are: %s",
                   names_of(impl_->entry(), impl_->entry().body().outputs).text);
    }
    if (i < 0) {
      return error(Code::kNotFound, "no output is named %.60s; there are: %s", v.name,
                   names_of(impl_->entry(), impl_->entry().body().outputs).text);
    }
    if (StateRun::links_output(options.state, static_cast<size_t>(i))) {
      return error(Code::kInvalidArgument, "output %.60s is linked by the state: leave it out",
                   v.name);
    }
    out[place[i]] = v.view;
  }
  WICK_TRY(run({in, ins}, {out, outs}, options));
  for (NamedView& v : outputs) v.view = out[place[find_output(v.name)]];
  return {};
}

}  // namespace wick
