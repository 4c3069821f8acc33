// What a Session holds. A binding (everything that depends on shapes) lives in one arena that the
// next binding reuses, so that shapes up to the largest seen cost no allocation.
#pragma once

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/core/array.h"
#include "runtime/exec/in_use.h"
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

// Counts what it hands out: max_ram is about these bytes, used or only kept to be used again.
class Meter final : public Allocator {
 public:
  explicit Meter(Allocator& inner) : inner_(inner) {}
  void* allocate(size_t bytes, size_t align) override {
    void* p = inner_.allocate(bytes, align);
    if (p != nullptr) held_ += bytes;
    return p;
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    if (p == nullptr) return;
    held_ -= bytes;
    inner_.deallocate(p, bytes, align);
  }
  size_t held() const { return held_; }
  Allocator& inner() const { return inner_; }

 private:
  Allocator& inner_;
  size_t held_ = 0;
};

struct BoundPartition {
  Backend* backend = nullptr;
  uint32_t first = 0, count = 0;  // steps
  Partition* compiled = nullptr;
  Span<const uint32_t> inputs, outputs;  // values that cross its border
};

// By value of an entry, how far a stage's steps carry it.
struct Reach {
  Span<uint32_t> last_reader;  // the last step of the stage that reads it; kNoIndex: read behind it
  Span<uint32_t> seen;         // stamped
  uint32_t stamp = 0;
};

// A value made in a stage whose bytes are those of one that comes into it.
struct InputUse {
  uint32_t value, root;
};

// A value that comes into a stage, with the shape it was planned for.
struct Crossing {
  uint32_t value = 0;
  Shape shape;
};

// Memory that only grows.
struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
};

// A stage is a run of consecutive nodes of a region, planned together, and the one node behind them
// whose sizes only values decide (or which owns regions): that one runs by itself, and what follows
// is another stage, planned when the sizes are there. A region without such nodes is one stage.
struct Stage {
  Stage(Allocator& a, size_t limit)
      : arena(a, limit), allocator(arena), run_arena(a, limit), buffers(a) {}

  Arena arena;  // of the plan; cleared by the next
  ArenaAllocator allocator;
  bool bound = false;
  uint32_t first = 0,
           end = 0;       // nodes of the plan: [first, end); `end` runs by itself if it exists
  size_t first_step = 0;  // for traces
  Span<Crossing> crossing;
  Span<PlanStep> steps;
  Span<BoundPartition> partitions;
  Span<const char*> why;  // by step: why it is not on the session's backend; null: it is
  Span<InputUse> input_uses;
  Buffer memory;  // planned buffers, then scratch
  size_t planned_bytes = 0, scratch_offset = 0;

  // of the node at `end`
  Arena run_arena;  // cleared at each run
  Array<Buffer> buffers;
  Buffer scratch;
  int64_t trip = 0;  // a Loop's own values
  uint8_t condition = 0;
};

struct RegionState {
  explicit RegionState(Allocator& a) : stages(a) {}
  Array<Stage*> stages;  // in order; those behind the last bound one wait to be used again
};

struct Session::Impl {
  Impl(const Program& p, const EntryDef& e, const SessionOptions& o, Allocator& a)
      : program(p),
        entry(e),
        allocator(a),
        max_ram(o.max_ram < SIZE_MAX ? static_cast<size_t>(o.max_ram) : SIZE_MAX),
        backend(o.backend),
        trace(o.trace),
        sets(allocator),
        cpu({}),
        cache(allocator, max_ram),
        regions(allocator),
        frame(allocator, max_ram),
        temp(allocator, max_ram),
        temp_allocator(temp),
        strings(allocator, max_ram),
        shapes(allocator),
        held(allocator) {}
  ~Impl();

  // -- for life
  const Program& program;
  const EntryDef& entry;
  Meter allocator;
  size_t max_ram;
  Backend* backend;
  TraceHook* trace;
  Array<const KernelSet*> sets;
  CpuBackend cpu;
  ThreadPool* pool = nullptr;
  int threads = 1;
  PackCache cache;
  size_t released = 0;         // entries of it whose raw bytes were let go
  Array<RegionState> regions;  // as the entry's
  Arena frame;                 // what follows, by value of the entry; made by the first binding
  Span<PlanValue> values;      // data: constants, and what a plan computed
  Span<TensorView> views;      // of the present run
  Span<uint32_t> last_use;  // last node that reads it in its region; kNoIndex: the region's output
  Span<int64_t> symbols;    // extent by symbol, -1: not bound
  Arena temp;               // while planning
  ArenaAllocator temp_allocator;
  Arena strings;             // bytes of strings that the present run made
  bool has_strings = false;  // the entry has string values

  char left_backend[200] = "";
  std::atomic<bool> left{false};  // that text is whole

  InUse use;
  // What a session is asked about itself at any time, as it was when the last call was over.
  struct Counts {
    std::atomic<size_t> steps{0}, arena_bytes{0}, packed_bytes{0}, packed_forms{0};
  } counts;
  bool counted = true;  // nothing was planned or forgotten since

  // -- of the present binding
  bool bound = false;    // the first stage of the body is planned for `shapes`
  bool sized = false;    // the outputs' shapes are known
  double work_left = 0;  // that a plan may still spend on what it evaluates (op_work)
  Array<Shape> shapes;   // by input

  // -- of a run between start() and finish()
  Array<TensorView> held;         // inputs
  Partition* finishes = nullptr;  // the partition that was started; null: all has run
  RunCtx running;

  void count();
  Status prepare();
  Status fill_read(Span<PlanValue> constants) const;
  Status keep(const ConstantDef& c, PlanValue* value, TensorView* view);
  void unbind();
  void drop();
  void shrink();
  Status bind(Span<const Shape> shapes);
  Status bind_once(Span<const Shape> shapes);
  Status run(Span<const TensorView> inputs, Span<TensorView> outputs, const RunOptions& options);
  bool leave_backend(const Status& why);
  Status bind_again(Span<const TensorView> inputs);
  Status run_or_leave(Span<const TensorView> inputs, Span<TensorView> outputs,
                      uint64_t deadline_ns);
  Status run_bound(Span<const TensorView> inputs, Span<TensorView> outputs, uint64_t deadline_ns);
  bool whole() const;  // the body is one stage
  void limit_strings();
  Status grow(Buffer& buffer, size_t bytes, size_t keep = 0);
  Status grow_ahead(Buffer& buffer, size_t bytes);  // for what grows trip by trip
  void release(Buffer& buffer);
  Status set_value(uint32_t id, void* data, DType dtype, const Shape& shape);
  Status hand_on(uint32_t from, uint32_t to);

  // bind.cc: shapes
  Status check_inputs(Span<const Shape> shapes);
  void unbind(uint32_t region, Stage& stage);
  Status plan(uint32_t region, size_t index, uint32_t first);
  Status infer(uint32_t region, Stage& stage);
  bool touches_container(const NodeDef& node) const;
  Status infer_node(Stage& stage, const NodeDef& node, bool* live);
  Status check_dtype(uint32_t value, DType dtype) const;
  Status check_declared(uint32_t value) const;
  bool takes_work(const NodeDef& node, Span<const TensorView> in, Span<const TensorView> out);
  Status evaluate(Stage& stage, const NodeDef& node);
  Status write_elements(Stage& stage, uint32_t value, const ValueInfo<int64_t>& info);

  // place.cc: backends, memory
  Status ask_backend(Stage& stage, const RegionDef& region, Span<uint8_t> taken);
  Status choose_backends(Stage& stage, const RegionDef& region);
  Status crossing_values(const Stage& stage, size_t first, size_t count, Arena& arena, Reach& reach,
                         PartitionSpec* spec) const;
  Result<Reach> reach_of(const Stage& stage);
  Status query_of(const PlanStep& step, Span<TensorView> in, Span<TensorView> out) const;
  Status place(Stage& stage, const RegionDef& region);
  Status compile(Stage& stage);

  // stages.cc: running them
  bool fits(const Stage& stage, uint32_t first) const;
  Status run_region(uint32_t region, RunCtx& ctx);
  Status run_apart(Stage& stage, const NodeDef& node, RunCtx& ctx);
  Status run_sized(Stage& stage, const NodeDef& node, RunCtx& ctx);
  Status run_if(const NodeDef& node, RunCtx& ctx);
  Status run_loop(Stage& stage, const NodeDef& node, RunCtx& ctx);
  Status stack(Buffer& buffer, const TensorView& part, int64_t count);
  Shape shape_without_trip(uint32_t region, uint32_t value);
  Status pass_in(const RegionDef& region, size_t to, const NodeDef& node, size_t from);
  Status read_bool(uint32_t value, bool* is) const;

  // run.cc
  Status bind_to(Span<const TensorView> inputs);
  RunCtx lend(Span<const TensorView> inputs, uint64_t deadline_ns);
  Status begin(uint64_t deadline_ns);
  Status start(Span<const TensorView> inputs, const RunOptions& options);
  Status finish(Span<TensorView> outputs, Turn& turn);
  void give(Span<TensorView> outputs);

  // session.cc
  Status check_run(Span<const TensorView> inputs) const;
  Status check_count(Span<TensorView> outputs) const;
  Status check_outputs(Span<TensorView> outputs) const;
  Status check_packed(const ValueDef& def, const TensorView& v) const;
};

// The integers of a small int tensor with data, as the rules read them; of `reals` the bits.
// Of a sequence or an optional: its packed bytes.
constexpr int64_t kMaxElements = 256;  // of an int tensor whose values a rule may read
Status read_elements(const TensorView& v, bool reals, Arena& arena, ValueInfo<int64_t>* info,
                     int64_t limit = kMaxElements);

}  // namespace wick
