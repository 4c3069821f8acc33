#include "runtime/backend/cpu/cpu_backend.h"

#include "runtime/backend/cpu/step_memory.h"
#include "runtime/backend/pack_cache.h"
#include "runtime/core/arena.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/prepared.h"
#include "runtime/kernels/reference/tuples.h"

namespace wick {
namespace {

// On machines with little memory and one thread, the steps share one set of views.
constexpr bool kSharesViews = WICK_SMALL != 0;

struct CpuStep {
  PreparedKernel kernel;     // not prepared for an alias, which does nothing
  TensorView* in = nullptr;  // refreshed from RunCtx::values in every run
  TensorView* out = nullptr;
  uint32_t saved = kNoIndex;  // of a step that writes a state: its place in `saved_`
};

// The lines of a state that a ScatterND overwrote.
struct SavedLines {
  char* bytes = nullptr;  // the lines, one after the other
  int64_t* at = nullptr;  // the offset of each in the state, in bytes
  size_t line = 0;        // bytes of one
  int64_t count = 0;
  char* state = nullptr;
  uint64_t run = 0;  // of which run they are; 0: of none
};

// A constant to pack, and the destination.
struct PackJob {
  uint32_t step = 0;
  int slot = 0;
  uint32_t entry = kNoIndex;  // of the cache, if the form is shared
  void* to = nullptr;
  Code failed = Code::kOk;
  bool mine = true;    // false: it is packed, or another session is packing it
  bool whole = false;  // none of it was skipped
};

// A step that reads a cache entry which is not packed yet.
struct PackUse {
  uint32_t step = 0;
  int slot = 0;
  uint32_t entry = 0;
};

constexpr size_t kMostInputs = 8;  // of an op whose weights are packed straight from a file

class CpuPartition final : public Partition {
 public:
  CpuPartition(Allocator& allocator, const PartitionSpec& spec)
      : allocator_(allocator), spec_(spec), arena_(allocator), jobs_(allocator), uses_(allocator) {}

  Status compile(Span<const KernelSet* const> sets);
  Status run(const RunCtx& ctx) override;
  size_t scratch_bytes() const override { return scratch_; }
  size_t held_bytes() const override { return packed_; }
  void undo(uint64_t run) override;
  void free() override {
    Allocator& allocator = allocator_;
    this->~CpuPartition();
    allocator.deallocate(this, sizeof(CpuPartition), alignof(CpuPartition));
  }

 private:
  Status compile_step(Span<const KernelSet* const> sets, size_t i);
  Status plan_packs(size_t i);
  Status fill_inputs(size_t i);
  Status make_packs();
  Status claim_packs();
  Status pack_all();
  void publish(const PackJob& job, bool packed) const;
  Result<bool> wait_for_others();
  // The session's, for memory that is freed soon: a stage's frees nothing before the stage is
  // destroyed.
  Allocator& passing() const {
    return spec_.cache != nullptr ? spec_.cache->allocator() : allocator_;
  }
  Status pack(const PackJob& job, void* raw) const;
  LentBytes* source_of(const PackJob& job) const {
    const int input = steps_[job.step].kernel.pack_of(job.slot)->input;
    return spec_.values[spec_.steps[job.step].in[static_cast<size_t>(input)]].source;
  }
  Status make_saved();
  void save(SavedLines& lines, uint64_t run, Span<const TensorView> in) const;
  Status make_views(size_t i);
  void fill_views(size_t i) const;
  KernelQuery query_of(size_t i) const;
  Status run_step(const RunCtx& ctx, size_t i);

  Allocator& allocator_;
  PartitionSpec spec_;
  Arena arena_;  // steps, views and packed weights
  Span<CpuStep> steps_;
  Span<SavedLines> saved_;
  bool shares_ = false;  // all steps share the views that follow
  Span<TensorView> ins_, outs_;
  Array<PackJob> jobs_;
  Array<PackUse> uses_;
  size_t scratch_ = 0, packed_ = 0;
};

const char* text_of(const NodeDef& node) { return node.info->name; }

Status CpuPartition::make_views(size_t i) {
  const PlanStep& from = spec_.steps[i];
  if (!shares_) {
    WICK_ASSIGN(ins_, arena_.array<TensorView>(from.in.size()));
    WICK_ASSIGN(outs_, arena_.array<TensorView>(from.out.size()));
  } else if (ins_.empty() && outs_.empty()) {
    size_t ins = 0, outs = 0;
    for (const PlanStep& step : spec_.steps) {
      if (step.in.size() > ins) ins = step.in.size();
      if (step.out.size() > outs) outs = step.out.size();
    }
    WICK_ASSIGN(ins_, arena_.array<TensorView>(ins));
    WICK_ASSIGN(outs_, arena_.array<TensorView>(outs));
  }
  steps_[i].in = ins_.data();
  steps_[i].out = outs_.data();
  fill_views(i);
  return {};
}

// Sets the views of step i as they were planned.
void CpuPartition::fill_views(size_t i) const {
  const PlanStep& from = spec_.steps[i];
  for (size_t k = 0; k < from.in.size(); ++k) {
    steps_[i].in[k] = TensorView();
    if (from.in[k] == kNoIndex) continue;
    steps_[i].in[k] = spec_.values[from.in[k]].view();
  }
  for (size_t k = 0; k < from.out.size(); ++k) {
    steps_[i].out[k] = spec_.values[from.out[k]].view(nullptr);
  }
}

KernelQuery CpuPartition::query_of(size_t i) const {
  const PlanStep& from = spec_.steps[i];
  if (shares_) fill_views(i);
  return {from.node->op,
          from.node->attrs,
          {steps_[i].in, from.in.size()},
          {steps_[i].out, from.out.size()},
          spec_.threads,
          from.node->custom,
          nullptr,
          spec_.edition};
}

// Finds the packed forms that exist and notes the others as jobs.
Status CpuPartition::plan_packs(size_t i) {
  CpuStep& step = steps_[i];
  const PlanStep& from = spec_.steps[i];
  for (int slot = 0; slot < kMaxPacked; ++slot) {
    const KernelPlan::Pack* pack = step.kernel.pack_of(slot);
    if (pack == nullptr || static_cast<size_t>(pack->input) >= from.in.size() ||
        from.in[pack->input] == kNoIndex)
      continue;
    const KernelPlan::Pack& want = *pack;
    const PlanValue& value = spec_.values[from.in[want.input]];
    if (value.data == nullptr) continue;
    for (const PackedDef& form : value.packed) {
      if (want.variant == 0 && form.layout == want.layout && form.bytes == want.bytes)
        step.kernel.set_packed(slot, form.data);
    }
    bool shared = spec_.cache != nullptr && value.constant != kNoIndex && want.layout != 0;
    PackCache::Key key{value.constant, &step.kernel.row(), want.layout, want.bytes, want.variant};
    if (step.kernel.packed(slot) != nullptr) continue;
    PackJob job{static_cast<uint32_t>(i), slot};
    if (shared) {
      WICK_ASSIGN(job.entry, spec_.cache->entry(key));
      step.kernel.set_packed(slot, spec_.cache->data(job.entry));
      if (step.kernel.packed(slot) != nullptr) continue;
      WICK_TRY(uses_.push_back({job.step, slot, job.entry}));
      if (!spec_.cache->planned(job.entry)) {
        WICK_TRY(jobs_.push_back(job));
        spec_.cache->set_planned(job.entry, true);
      }
    } else {
      WICK_ASSIGN(job.to, arena_.allocate(want.bytes, kAlignment));
      WICK_TRY(jobs_.push_back(job));
      step.kernel.set_packed(slot, job.to);
      packed_ += want.bytes;
    }
  }
  return fill_inputs(i);
}

// Fills the lent constants that this step reads in plain form: all except those that it has packed.
Status CpuPartition::fill_inputs(size_t i) {
  const CpuStep& step = steps_[i];
  const PlanStep& from = spec_.steps[i];
  for (size_t k = 0; k < from.in.size(); ++k) {
    if (from.in[k] == kNoIndex || spec_.values[from.in[k]].source == nullptr) continue;
    if (!step.kernel.packs(k)) WICK_TRY(spec_.values[from.in[k]].source->fill());
  }
  return {};
}

// Claims the shared forms that no other session has packed or is packing, and allocates them in one
// block of memory.
Status CpuPartition::claim_packs() {
  Array<PackStore::Form*> claimed(passing());
  WICK_TRY(claimed.reserve(jobs_.size()));
  for (PackJob& job : jobs_) {
    if (job.entry == kNoIndex) continue;
    PackStore::Form& form = spec_.cache->form(job.entry);
    job.mine = spec_.cache->store().claim(&form);
    if (job.mine) WICK_TRY(claimed.push_back(&form));  // cannot fail: reserved
  }
  const Status placed = claimed.empty() ? Status()
                                        : spec_.cache->store().place(Span<PackStore::Form* const>(
                                              claimed.data(), claimed.size()));
  for (PackJob& job : jobs_) {
    if (job.entry == kNoIndex || !job.mine) continue;
    job.to = spec_.cache->form(job.entry).room();
    if (!placed.ok()) publish(job, false);
  }
  return placed;
}

// Ends the claim on a shared form.
void CpuPartition::publish(const PackJob& job, bool packed) const {
  if (job.entry != kNoIndex) spec_.cache->store().publish(&spec_.cache->form(job.entry), packed);
}

// Returns whether every shared form is packed now. Those that another session could not pack are to
// be claimed again. This session has no claim while it waits, so no two wait for each other.
Result<bool> CpuPartition::wait_for_others() {
  bool all = true;
  for (PackJob& job : jobs_) {
    job.mine = false;
    if (job.entry == kNoIndex) continue;
    const PackStore::Form& form = spec_.cache->form(job.entry);
    WICK_TRY(spec_.cache->store().wait(form, current_stop()));
    all = all && form.data() != nullptr;
  }
  return all;
}

// Packs what is to be packed, or waits for the sessions that are packing it.
Status CpuPartition::make_packs() {
  for (bool all = jobs_.empty(); !all;) {
    WICK_TRY(claim_packs());
    WICK_TRY(pack_all());
    WICK_ASSIGN(all, wait_for_others());
  }
  for (const PackUse& use : uses_)
    steps_[use.step].kernel.set_packed(use.slot, spec_.cache->data(use.entry));
  return {};
}

// `raw`: a buffer for the weight's own bytes if they are lent and not filled; null: the source is
// filled at its final address.
Status CpuPartition::pack(const PackJob& job, void* raw) const {
  const CpuStep& step = steps_[job.step];
  const auto k = static_cast<size_t>(step.kernel.pack_of(job.slot)->input);
  LentBytes* source = source_of(job);
  KernelQuery query = query_of(job.step);
  TensorView in[kMostInputs];
  const bool lent = source != nullptr && !source->filled();
  if (lent && (raw == nullptr || query.in.size() > kMostInputs)) {
    WICK_TRY(source->fill());
  } else if (lent) {
    WICK_TRY(source->read(raw));
    for (size_t i = 0; i < query.in.size(); ++i) in[i] = query.in[i];
    in[k].data = raw;
    query.in = {in, query.in.size()};
  }
  return step.kernel.pack(query, job.slot, job.to);
}

// Packs one weight per task: a form depends only on its own step. Lent weights are read into one
// buffer per worker, so that memory for a file's bytes is not cleared each time. A weight's pages
// in a mapped file are released at once, so that few weights are in memory in both forms.
Status CpuPartition::pack_all() {
  size_t room = 0;
  for (const PackJob& job : jobs_) {
    const LentBytes* source = source_of(job);
    if (!job.mine || source == nullptr || source->filled()) continue;
    const int input = steps_[job.step].kernel.pack_of(job.slot)->input;
    const size_t bytes = query_of(job.step).in[static_cast<size_t>(input)].nbytes();
    if (bytes > room) room = static_cast<size_t>(align_up(bytes, kAlignment));
  }
  const auto workers = static_cast<size_t>(spec_.pool == nullptr ? 1 : spec_.pool->threads());
  const bool by_job = jobs_.size() < workers;
  const size_t rooms = by_job ? jobs_.size() : workers;
  char* raw = nullptr;
  if (room != 0 && rooms <= SIZE_MAX / room)
    raw = static_cast<char*>(passing().allocate(rooms * room, kAlignment));
  parallel_for(spec_.pool, static_cast<int64_t>(jobs_.size()), [&](int64_t task, int worker) {
    PackJob& job = jobs_[static_cast<size_t>(task)];
    if (!job.mine) return;
    const size_t at = by_job ? static_cast<size_t>(task) : static_cast<size_t>(worker);
    job.failed = pack(job, raw == nullptr ? nullptr : raw + at * room).code();
    job.whole = !stopped();
    if (job.whole && job.failed == Code::kOk && job.entry != kNoIndex)
      spec_.cache->release_raw(job.entry);
  });
  // A run that was stopped while it planned keeps the complete forms, so that the next one has less
  // to do.
  Status all = stopped() ? current_stop()->status() : Status();
  for (PackJob& job : jobs_) {
    if (!job.mine) continue;
    Status done(job.failed, "");
    if (job.whole && !done.ok() && all.ok()) {
      // An error's text is local to the thread that made it: the first error is produced again
      // here.
      const NodeDef& node = *spec_.steps[job.step].node;
      done = all = annotate(pack(job, raw), "node %.60s (%s): its weight cannot be %s: ", node.name,
                            text_of(node), job.failed == Code::kIo ? "read" : "packed");
    }
    publish(job, job.whole && done.ok());
  }
  if (raw != nullptr) passing().deallocate(raw, rooms * room, kAlignment);
  return all;
}

Status CpuPartition::compile_step(Span<const KernelSet* const> sets, size_t i) {
  const PlanStep& from = spec_.steps[i];
  CpuStep& step = steps_[i];
  WICK_TRY(make_views(i));
  if (from.alias) return {};
  const KernelQuery query = query_of(i);
  WICK_TRY(from.row != nullptr ? step.kernel.prepare(*from.row, query)
                               : step.kernel.prepare(sets, query));
  // Its scratch starts at the end of the memory in use and may extend beyond the buffers.
  const size_t room = from.used < spec_.planned_bytes ? spec_.planned_bytes - from.used : 0;
  const size_t bytes = step.kernel.scratch_bytes();
  if (bytes > room && bytes - room > scratch_) scratch_ = bytes - room;
  return plan_packs(i);
}

// Allocates what a failed run needs to restore the states that its steps write in place.
Status CpuPartition::make_saved() {
  size_t count = 0;
  for (const PlanStep& step : spec_.steps) count += step.writes_state ? 1 : 0;
  WICK_ASSIGN(saved_, arena_.array<SavedLines>(count));
  uint32_t next = 0;
  for (size_t i = 0; count != 0 && i < spec_.steps.size(); ++i) {
    const PlanStep& step = spec_.steps[i];
    if (!step.writes_state) continue;
    const PlanValue &index = spec_.values[step.in[1]], &update = spec_.values[step.in[2]];
    SavedLines& lines = saved_[next];
    steps_[i].saved = next++;
    const TensorView indices = index.view(nullptr);
    lines.count = 1;
    for (int d = 0; d + 1 < indices.rank(); ++d) lines.count *= indices.shape[d];
    const size_t bytes = update.view(nullptr).nbytes();
    lines.line = lines.count == 0 ? 0 : bytes / static_cast<size_t>(lines.count);
    WICK_ASSIGN(void* room, arena_.allocate(bytes + 1, kAlignment));
    lines.bytes = static_cast<char*>(room);
    WICK_ASSIGN(auto at, arena_.array<int64_t>(static_cast<size_t>(lines.count)));
    lines.at = at.data();
  }
  return {};
}

// Keeps what the step will overwrite. Where an index is wrong it writes nothing.
void CpuPartition::save(SavedLines& lines, uint64_t run, Span<const TensorView> in) const {
  const reference::Tuples tuples(in[0], in[1], 0);
  if (lines.line == 0 || !tuples.check().ok() || stopped()) return;
  lines.state = in[0].as<char>();
  for (int64_t t = 0; t < lines.count; ++t) {
    lines.at[t] = tuples.offset(t) * static_cast<int64_t>(dtype_size(in[0].dtype));
    memcpy(lines.bytes + static_cast<size_t>(t) * lines.line, lines.state + lines.at[t],
           lines.line);
  }
  lines.run = run;
}

// A line that was written twice gets back what it was before the first time.
void CpuPartition::undo(uint64_t run) {
  for (SavedLines& lines : saved_) {
    if (lines.run != run) continue;
    for (int64_t t = lines.count - 1; t >= 0; --t) {
      memcpy(lines.state + lines.at[t], lines.bytes + static_cast<size_t>(t) * lines.line,
             lines.line);
    }
    lines.run = 0;
  }
}

Status CpuPartition::compile(Span<const KernelSet* const> sets) {
  WICK_ASSIGN(steps_, arena_.array<CpuStep>(spec_.steps.size()));
  WICK_TRY(make_saved());
  shares_ = kSharesViews && spec_.threads == 1;
  Status planned;
  for (size_t i = 0; planned.ok() && i < steps_.size(); ++i) {
    const NodeDef& node = *spec_.steps[i].node;
    planned = annotate(compile_step(sets, i), "node %.60s (%s): ", node.name, text_of(node));
  }
  // Packs even when a step failed: the forms are kept for the next binding.
  Status packed = make_packs();
  for (const PackJob& job : jobs_) {
    if (job.entry != kNoIndex) spec_.cache->set_planned(job.entry, false);
  }
  jobs_ = Array<PackJob>(allocator_);
  uses_ = Array<PackUse>(allocator_);
  return planned.ok() ? packed : planned;
}

Status CpuPartition::run_step(const RunCtx& ctx, size_t i) {
  CpuStep& step = steps_[i];
  const PlanStep& from = spec_.steps[i];
  if (shares_) fill_views(i);
  for (size_t k = 0; k < from.in.size(); ++k) {
    if (from.in[k] != kNoIndex) step.in[k].data = ctx.values[from.in[k]].data;
  }
  for (size_t k = 0; k < from.out.size(); ++k) step.out[k].data = ctx.values[from.out[k]].data;
  const Span<const TensorView> in{step.in, from.in.size()};
  const Span<TensorView> out{step.out, from.out.size()};
  if (step.saved != kNoIndex) save(saved_[step.saved], ctx.run, in);
  char* const scratch = ctx.arena.data() + from.used;
  const StepMemory own(ctx.arena, {scratch, step.kernel.scratch_bytes()}, in, out);
  ThreadPool* const pool = step.kernel.is_small() ? nullptr : ctx.pool;
  return step.kernel.run({pool, scratch, ctx.strings}, from.node->op, in, out, from.node->attrs);
}

Status CpuPartition::run(const RunCtx& ctx) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const CpuStep& step = steps_[i];
    if (!step.kernel.prepared()) continue;
    const PlanStep& from = spec_.steps[i];
    if (ctx.stop != nullptr && ctx.stop->reached()) {
      return annotate(ctx.stop->status(), "before node %.60s (%s): ", from.node->name,
                      text_of(*from.node));
    }
    uint64_t begin = ctx.trace != nullptr ? now_ns() : 0;
    WICK_TRY(annotate(run_step(ctx, i), "node %.60s (%s): ", from.node->name, text_of(*from.node)));
    if (ctx.trace != nullptr) {
      ctx.trace->on_op({text_of(*from.node),
                        from.node->name,
                        step.kernel.row().name,
                        "cpu",
                        static_cast<int64_t>(spec_.first_step + i),
                        begin,
                        now_ns(),
                        {step.in, from.in.size()},
                        {step.out, from.out.size()}});
    }
  }
  return {};
}

}  // namespace

Result<Owned<Partition>> CpuBackend::compile(const PartitionSpec& spec, Allocator& allocator) {
  void* memory = allocator.allocate(sizeof(CpuPartition), alignof(CpuPartition));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a partition");
  auto* partition = new (memory) CpuPartition(allocator, spec);
  Owned<Partition> owned(partition);
  WICK_TRY(partition->compile(sets_));
  return owned;
}

}  // namespace wick
