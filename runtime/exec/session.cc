#include "runtime/exec/session.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "runtime/core/packed_sequence.h"
#include "runtime/core/string_ref.h"
#include "runtime/exec/session_impl.h"

namespace wick {
namespace {

int usable_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  int n = CPU_COUNT(&set);
  return n < 1 ? 1 : n;
}

// Every custom op that the entry needs and nobody gave, in one message.
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
    at += static_cast<size_t>(
        snprintf(list + at, sizeof(list) - at, "%s%s version %u (%zu nodes)", at == 0 ? "" : ", ",
                 custom_op_name(def.domain, def.name).text, def.version, nodes));
  }
  if (missing == 0) return {};
  return error(Code::kUnsupported,
               "the program needs custom ops that were not given: %s. They are in a library of "
               "domain %.60s: give it when the program is loaded (LoadOptions::custom_ops, "
               "wick_load_options.ops, wick run --ops LIBRARY.so)",
               list, first->domain);
}

// What the format can say and this session cannot run yet.
Status check_runnable(const Program& program, const EntryDef& entry) {
  if (!entry.state_updates.empty())
    return Status(Code::kUnsupported, "state buffers are not supported by sessions");
  for (const ValueDef& v : entry.values) {
    if (v.state != kNoIndex)
      return Status(Code::kUnsupported, "state buffers are not supported by sessions");
    if (v.kind == ValueKind::kMap) return error(Code::kUnsupported, "value %.60s is a map", v.name);
  }
  return check_custom_given(program, entry);
}

Status check_strings(const TensorView& v, const char* name) {
  for (int64_t i = 0, n = v.numel(); i < n; ++i) {
    const StringRef& s = v.as<StringRef>()[i];
    if (s.size > SIZE_MAX / 2 || (s.size != 0 && s.data == nullptr)) {
      return error(Code::kInvalidArgument, "input %.60s: string %lld has no bytes", name,
                   static_cast<long long>(i));
    }
  }
  return {};
}

PortInfo port(const EntryDef& entry, uint32_t id) {
  const ValueDef& v = entry.values[id];
  return {v.name, v.dtype, v.unranked, v.dims, v.element};
}

int find_port(const EntryDef& entry, Span<const uint32_t> ids, const char* name) {
  for (size_t i = 0; name != nullptr && i < ids.size(); ++i) {
    if (strcmp(entry.values[ids[i]].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

// "x, mask": what a wrong name should have been.
struct NameList {
  char text[256];
};
NameList names_of(const EntryDef& entry, Span<const uint32_t> ids) {
  NameList list;
  list.text[0] = '\0';
  size_t at = 0;
  for (uint32_t id : ids) {
    const char* name = entry.values[id].name;
    size_t n = strlen(name);
    if (at + n + 3 > sizeof(list.text)) break;
    if (at != 0) {
      memcpy(list.text + at, ", ", 2);
      at += 2;
    }
    memcpy(list.text + at, name, n + 1);
    at += n;
  }
  return list;
}

// One block of memory for two objects: the second lies where its alignment lets it.
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
  WICK_TRY(check_runnable(program, *entry));
  if (options.threads < 0 || options.threads > 4096) {
    return error(Code::kInvalidArgument, "%d threads", options.threads);
  }
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
    WICK_TRY(impl->sets.push_back(set));
  }
  impl->cpu = CpuBackend(impl->sets);
  impl->threads = options.threads == 0 ? usable_cpus() : options.threads;
  WICK_ASSIGN(impl->pool, ThreadPool::create(allocator, impl->threads));

  // Bound right away where every size is known.
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
  }
  for (uint32_t id : entry->body().inputs) {
    const ValueDef& v = entry->values[id];
    Shape shape;
    if (is_container(v.dtype)) {
      WICK_TRY(shapes.push_back(Shape{0}));  // its size plans nothing
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
  if (known) WICK_TRY(impl->bind(shapes));
  impl->count();
  return owned;
}

// Plans and their memory go.
void Session::Impl::drop() {
  unbind();
  for (uint32_t r = 0; r < regions.size(); ++r) {
    for (Stage* stage : regions[r].stages) {
      unbind(r, *stage);
      release(stage->memory);
      release(stage->scratch);
      for (Buffer& buffer : stage->buffers) release(buffer);
    }
  }
  strings.clear();
  temp.clear();
  shrink();
}

// Memory that is only kept to be used again goes.
void Session::Impl::shrink() {
  strings.shrink();
  temp.shrink();
  for (RegionState& region : regions) {
    for (Stage* stage : region.stages) {
      stage->arena.shrink();
      stage->run_arena.shrink();
    }
  }
}

Session::Impl::~Impl() {
  drop();
  for (RegionState& region : regions) {
    for (Stage* stage : region.stages) {
      stage->~Stage();
      allocator.deallocate(stage, sizeof(Stage), alignof(Stage));
    }
  }
}

void Session::destroy(Session* session) {
  if (session == nullptr) return;
  Impl* impl = session->impl_;
  Allocator& allocator = impl->allocator.inner();
  ThreadPool::destroy(impl->pool);
  impl->~Impl();
  session->~Session();
  allocator.deallocate(session, Block<Session, Impl>::kBytes, Block<Session, Impl>::kAlign);
}

size_t Session::input_count() const { return impl_->entry.body().inputs.size(); }
size_t Session::output_count() const { return impl_->entry.body().outputs.size(); }
PortInfo Session::input(size_t i) const {
  return port(impl_->entry, impl_->entry.body().inputs[i]);
}
PortInfo Session::output(size_t i) const {
  return port(impl_->entry, impl_->entry.body().outputs[i]);
}
int Session::find_input(const char* name) const {
  return find_port(impl_->entry, impl_->entry.body().inputs, name);
}
int Session::find_output(const char* name) const {
  return find_port(impl_->entry, impl_->entry.body().outputs, name);
}
int Session::threads() const { return impl_->threads; }

// What is told of the session while a call may be in it. A device's memory may grow with any run.
void Session::Impl::count() {
  if (counted && backend == nullptr) return;
  size_t steps = 0, arena = 0, packed = cache.bytes();
  for (const RegionState& region : regions) {
    for (const Stage* stage : region.stages) {
      arena += stage->planned_bytes;
      for (const BoundPartition& p : stage->partitions) {
        if (p.compiled != nullptr) packed += p.compiled->held_bytes();
      }
      if (&region == &regions[0] && stage->bound)
        steps += stage->steps.size() + (stage->end < entry.body().nodes.size() ? 1 : 0);
    }
  }
  counts.steps.store(steps, std::memory_order_relaxed);
  counts.arena_bytes.store(arena, std::memory_order_relaxed);
  counts.packed_bytes.store(packed, std::memory_order_relaxed);
  counts.packed_forms.store(cache.size(), std::memory_order_relaxed);
  counted = true;
}

size_t Session::step_count() const { return impl_->counts.steps.load(std::memory_order_relaxed); }
size_t Session::arena_bytes() const {
  return impl_->counts.arena_bytes.load(std::memory_order_relaxed);
}
size_t Session::packed_bytes() const {
  return impl_->counts.packed_bytes.load(std::memory_order_relaxed);
}
size_t Session::packed_form_count() const {
  return impl_->counts.packed_forms.load(std::memory_order_relaxed);
}
const char* Session::left_backend() const {
  return impl_->left.load(std::memory_order_acquire) ? impl_->left_backend : "";
}

Result<Session::PackedForm> Session::packed_form(size_t i) const {
  Turn turn(impl_->use);
  WICK_TRY(turn.take_to_look());
  if (i >= impl_->cache.size())
    return error(Code::kInvalidArgument, "there is no packed form %zu", i);
  const PackCache::Key& key = impl_->cache.key(i);
  const auto* data = static_cast<const uint8_t*>(impl_->cache.data(i));
  if (key.variant != 0 || data == nullptr) return PackedForm{key.constant, key.layout, {}};
  return PackedForm{key.constant, key.layout, {data, key.bytes}};
}

Status Session::bind(Span<const Shape> shapes) {
  Turn turn(impl_->use);
  WICK_TRY(turn.take());
  Status s = impl_->bind(shapes);
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
  return impl_->values[impl_->entry.body().outputs[i]].shape;
}

Status Session::Impl::check_count(Span<TensorView> outputs) const {
  auto out = entry.body().outputs;
  if (outputs.size() == out.size()) return {};
  return error(Code::kInvalidArgument, "%zu outputs given, the program has %zu: %s", outputs.size(),
               out.size(), names_of(entry, out).text);
}

Status Session::Impl::check_run(Span<const TensorView> inputs) const {
  auto in = entry.body().inputs;
  if (inputs.size() != in.size()) {
    return error(Code::kInvalidArgument, "%zu inputs given, the program takes %zu: %s",
                 inputs.size(), in.size(), names_of(entry, in).text);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    const ValueDef& def = entry.values[in[i]];
    const TensorView& v = inputs[i];
    if (v.dtype != def.dtype) {
      return error(Code::kTypeMismatch, "input %.60s is %s, the program takes %s", def.name,
                   dtype_name(v.dtype), dtype_name(def.dtype));
    }
    auto bytes = checked_bytes(v.shape, dtype_bits(v.dtype));
    if (!bytes.ok()) return annotate(bytes.status(), "input %.60s: ", def.name);
    if (*bytes != 0 && v.data == nullptr)
      return error(Code::kInvalidArgument, "input %.60s has no data", def.name);
    size_t align =
        dtype_size(v.dtype) > 1 ? (dtype_size(v.dtype) > 8 ? 8 : dtype_size(v.dtype)) : 1;
    if (is_container(v.dtype)) align = 8;
    if (!v.contiguous() || reinterpret_cast<uintptr_t>(v.data) % align != 0) {
      return error(Code::kInvalidArgument,
                   "input %.60s must be contiguous and aligned to its elements", def.name);
    }
    if (is_container(v.dtype)) WICK_TRY(annotate(check_packed(def, v), "input %.60s: ", def.name));
    if (v.dtype == DType::kString) WICK_TRY(check_strings(v, def.name));
  }
  return {};
}

// A sequence or an optional that a caller gives.
Status Session::Impl::check_packed(const ValueDef& def, const TensorView& v) const {
  if (v.rank() != 1) return Status(Code::kShapeMismatch, "a packed value has the shape [bytes]");
  WICK_ASSIGN(PackedSequence s, PackedSequence::open(v));
  if (s.dtype() != def.element) {
    return error(Code::kTypeMismatch, "its elements are %s, the program takes %s",
                 dtype_name(s.dtype()), dtype_name(def.element));
  }
  for (int64_t i = 0; s.dtype() == DType::kString && i < s.count(); ++i)
    WICK_TRY(check_strings(s.at(i), def.name));
  if (def.dtype == DType::kSequence && !s.present())
    return Status(Code::kInvalidArgument, "a sequence cannot be absent");
  if (def.dtype == DType::kOptional && s.count() != (s.present() ? 1 : 0))
    return Status(Code::kInvalidArgument, "an optional tensor holds one element or none");
  return {};
}

Status Session::Impl::check_outputs(Span<TensorView> outputs) const {
  auto out = entry.body().outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    const TensorView& have = views[out[i]];
    if (outputs[i].data == nullptr) continue;
    if (outputs[i].dtype != have.dtype) {
      return error(Code::kTypeMismatch, "output %.60s is %s, the buffer given is %s",
                   entry.values[out[i]].name, dtype_name(have.dtype), dtype_name(outputs[i].dtype));
    }
    if (!(outputs[i].shape == have.shape) || !outputs[i].contiguous()) {
      return error(Code::kShapeMismatch,
                   "output %.60s has shape %s, the buffer given %s (it must be contiguous)",
                   entry.values[out[i]].name, to_text(have.shape).text,
                   to_text(outputs[i].shape).text);
    }
  }
  return {};
}

Status Session::run(Span<const NamedView> inputs, Span<NamedView> outputs,
                    const RunOptions& options) {
  constexpr size_t kMaxNamed = 64;  // more go by position
  TensorView in[kMaxNamed], out[kMaxNamed];
  if (input_count() > kMaxNamed || output_count() > kMaxNamed) {
    return Status(Code::kInvalidArgument, "more than 64 inputs or outputs: run by position");
  }
  for (const NamedView& v : inputs) {
    int i = find_input(v.name);
    if (v.name == nullptr) {
      return error(Code::kInvalidArgument, "an input's name is null; there are: %s",
                   names_of(impl_->entry, impl_->entry.body().inputs).text);
    }
    if (i < 0) {
      return error(Code::kNotFound, "no input is named %.60s; there are: %s", v.name,
                   names_of(impl_->entry, impl_->entry.body().inputs).text);
    }
    if (in[i].present()) return error(Code::kInvalidArgument, "input %.60s is given twice", v.name);
    in[i] = v.view;
  }
  for (size_t i = 0; i < input_count(); ++i) {
    if (!in[i].present())
      return error(Code::kInvalidArgument, "input %.60s is missing", input(i).name);
  }
  for (const NamedView& v : outputs) {
    int i = find_output(v.name);
    if (v.name == nullptr) {
      return error(Code::kInvalidArgument, "an output's name is null; there are: %s",
                   names_of(impl_->entry, impl_->entry.body().outputs).text);
    }
    if (i < 0) {
      return error(Code::kNotFound, "no output is named %.60s; there are: %s", v.name,
                   names_of(impl_->entry, impl_->entry.body().outputs).text);
    }
    out[i] = v.view;
  }
  WICK_TRY(run({in, input_count()}, {out, output_count()}, options));
  for (NamedView& v : outputs) v.view = out[find_output(v.name)];
  return {};
}

}  // namespace wick
