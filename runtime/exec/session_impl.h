// What a Session holds. A binding (everything that depends on shapes) lives in one arena that the
// next binding reuses, so that shapes up to the largest seen cost no allocation.
#pragma once

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/core/array.h"
#include "runtime/exec/session.h"
#include "runtime/ops/rule.h"
#include "runtime/plan/memory_plan.h"

namespace wick {

// An Allocator on an Arena: nothing is freed before the arena is cleared.
class ArenaAllocator final : public Allocator {
 public:
  explicit ArenaAllocator(Arena& arena) : arena_(arena) {}
  void* allocate(size_t bytes, size_t align) override {
    auto p = arena_.allocate(bytes, align);
    return p.ok() ? *p : nullptr;
  }
  void deallocate(void*, size_t, size_t) override {}

 private:
  Arena& arena_;
};

struct BoundPartition {
  Backend* backend = nullptr;
  uint32_t first = 0, count = 0;  // steps
  Partition* compiled = nullptr;
};

// A value whose bytes are the caller's input (or a view of it).
struct InputUse {
  uint32_t value, input;
};

struct Session::Impl {
  Impl(const Program& p, const EntryDef& e, const SessionOptions& o, Allocator& a)
      : program(p),
        entry(e),
        allocator(a),
        max_ram(o.max_ram < SIZE_MAX ? static_cast<size_t>(o.max_ram) : SIZE_MAX),
        backend(o.backend),
        trace(o.trace),
        sets(a),
        cpu({}),
        cache(a, max_ram),
        bind_arena(a, max_ram),
        bind_allocator(bind_arena),
        needs_value(a),
        given(a) {}
  ~Impl() { unbind(); }

  // -- for life
  const Program& program;
  const EntryDef& entry;
  Allocator& allocator;
  size_t max_ram;
  Backend* backend;
  TraceHook* trace;
  Array<const KernelSet*> sets;
  CpuBackend cpu;
  ThreadPool* pool = nullptr;
  int threads = 1;
  PackCache cache;
  Arena bind_arena;
  ArenaAllocator bind_allocator;
  Array<uint8_t> needs_value;  // by input: its values decide a shape
  void* memory = nullptr;      // planned buffers, then scratch; grows, never shrinks
  size_t memory_bytes = 0;
  Array<uint8_t>
      given;  // the values of needs_value inputs that the binding used, one after the other

  // -- of the present binding; spans lie in bind_arena
  bool bound = false;
  bool deferred = false;  // shapes fit, but need input values: planned at the first run
  Span<Shape> shapes;     // by input
  Span<int64_t> symbols;  // extent by symbol, -1: not bound
  Span<PlanValue> values;
  Span<PlanStep> steps;
  Span<BoundPartition> partitions;
  Span<TensorView> views;
  Span<InputUse> input_uses;
  size_t planned_bytes = 0, scratch_offset = 0;

  void unbind();
  // `inputs`: empty, or every input with data.
  Status bind(Span<const Shape> shapes, Span<const TensorView> inputs);
  Status run(Span<const TensorView> inputs, Span<TensorView> outputs, const RunOptions& options);

  // bind.cc: shapes
  Status check_inputs(Span<const Shape> shapes);
  Status infer(Span<const TensorView> inputs, bool* again);
  Status infer_node(const NodeDef& node, bool* live);
  Status check_declared(uint32_t value);
  Status evaluate(const NodeDef& node);
  Status read_elements(uint32_t value, ValueInfo<int64_t>* info);
  Status write_elements(uint32_t value, const ValueInfo<int64_t>& info);
  bool mark_needed(const NodeDef& node);
  Status keep_given(Span<const TensorView> inputs);
  bool given_changed(Span<const TensorView> inputs) const;

  // place.cc: backends, memory
  Status choose_backends();
  Status query_of(const PlanStep& step, Span<TensorView> in, Span<TensorView> out) const;
  Status place();
  Status reserve_memory(size_t bytes);
  Status compile();

  // session.cc
  Status check_run(Span<const TensorView> inputs, Span<TensorView> outputs);
};

}  // namespace wick
