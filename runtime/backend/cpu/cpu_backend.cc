#include "runtime/backend/cpu/cpu_backend.h"

#include <ctime>

#include "runtime/core/arena.h"
#include "runtime/kernels/run_row.h"

namespace wick {
namespace {

struct CpuStep {
  const KernelRow* row = nullptr;  // null: an alias, nothing to do
  KernelPlan plan;
  const void* packed[kMaxPacked] = {};
  TensorView* in = nullptr;  // refreshed from RunCtx::values at every run
  TensorView* out = nullptr;
};

class CpuPartition final : public Partition {
 public:
  CpuPartition(Allocator& allocator, const PartitionSpec& spec)
      : allocator_(allocator), spec_(spec), arena_(allocator), jobs_(allocator) {}

  Status compile(Span<const KernelSet* const> sets);
  Status run(const RunCtx& ctx) override;
  size_t scratch_bytes() const override { return scratch_; }
  size_t held_bytes() const override { return packed_; }
  void free() override {
    Allocator& allocator = allocator_;
    this->~CpuPartition();
    allocator.deallocate(this, sizeof(CpuPartition), alignof(CpuPartition));
  }

 private:
  Status compile_step(Span<const KernelSet* const> sets, size_t i);
  Status plan_packs(size_t i);
  Status pack_all();
  KernelQuery query_of(size_t i) const;
  Status run_step(const RunCtx& ctx, size_t i);

  Allocator& allocator_;
  PartitionSpec spec_;
  Arena arena_;  // steps, views and packed weights
  Span<CpuStep> steps_;
  // A constant to pack, and where to.
  struct PackJob {
    uint32_t step = 0;
    int slot = 0;
    void* to = nullptr;
    Code failed = Code::kOk;
    bool shared = false;  // the cache's
    PackCache::Key key = {};
  };
  Array<PackJob> jobs_;
  size_t scratch_ = 0, packed_ = 0;
};

const char* text_of(const NodeDef& node) { return node.info->name; }

KernelQuery CpuPartition::query_of(size_t i) const {
  const PlanStep& from = spec_.steps[i];
  return {from.node->op,
          from.node->attrs,
          {steps_[i].in, from.in.size()},
          {steps_[i].out, from.out.size()},
          spec_.threads,
          from.node->custom};
}

// Finds the packed forms that there are, takes memory for the others.
Status CpuPartition::plan_packs(size_t i) {
  CpuStep& step = steps_[i];
  const PlanStep& from = spec_.steps[i];
  for (int slot = 0; slot < kMaxPacked; ++slot) {
    const KernelPlan::Pack& want = step.plan.packs[slot];
    if (step.row->pack == nullptr || want.bytes == 0 || want.input < 0 ||
        static_cast<size_t>(want.input) >= from.in.size() || from.in[want.input] == kNoIndex) {
      continue;
    }
    const PlanValue& value = spec_.values[from.in[want.input]];
    if (value.data == nullptr) continue;
    for (const PackedDef& form : value.packed) {
      if (want.variant == 0 && form.layout == want.layout && form.bytes == want.bytes)
        step.packed[slot] = form.data;
    }
    bool shared = spec_.cache != nullptr && value.constant != kNoIndex && want.layout != 0;
    PackCache::Key key{value.constant, step.row, want.layout, want.bytes, want.variant};
    if (step.packed[slot] == nullptr && shared) step.packed[slot] = spec_.cache->find(key);
    if (step.packed[slot] != nullptr) continue;
    WICK_ASSIGN(void* to,
                shared ? spec_.cache->allocate(key) : arena_.allocate(want.bytes, kAlignment));
    WICK_TRY(jobs_.push_back({static_cast<uint32_t>(i), slot, to, Code::kOk, shared, key}));
    if (shared) WICK_TRY(spec_.cache->keep(key, to));
    step.packed[slot] = to;
    if (!shared) packed_ += want.bytes;
  }
  return {};
}

// A weight a task: what a form holds depends on its own step alone.
Status CpuPartition::pack_all() {
  auto pack = [&](const PackJob& job) {
    const CpuStep& step = steps_[job.step];
    return step.row->pack(query_of(job.step), step.plan, job.slot, job.to);
  };
  parallel_for(spec_.pool, static_cast<int64_t>(jobs_.size()), [&](int64_t task, int) {
    PackJob& job = jobs_[static_cast<size_t>(task)];
    job.failed = pack(job).code();
  });
  Status all;
  for (const PackJob& job : jobs_) {
    if (job.failed == Code::kOk) continue;
    // The text of an error stays with the thread that made it: the first one is made again here.
    if (all.ok()) {
      const NodeDef& node = *spec_.steps[job.step].node;
      all = annotate(pack(job), "node %.60s (%s): its weight cannot be packed: ", node.name,
                     text_of(node));
      if (all.ok()) continue;
    }
    if (job.shared) spec_.cache->fail(job.key);
  }
  return all;
}

Status CpuPartition::compile_step(Span<const KernelSet* const> sets, size_t i) {
  const PlanStep& from = spec_.steps[i];
  CpuStep& step = steps_[i];
  WICK_ASSIGN(auto in, arena_.array<TensorView>(from.in.size()));
  WICK_ASSIGN(auto out, arena_.array<TensorView>(from.out.size()));
  step.in = in.data();
  step.out = out.data();
  for (size_t k = 0; k < in.size(); ++k) {
    if (from.in[k] == kNoIndex) continue;
    const PlanValue& v = spec_.values[from.in[k]];
    in[k] = TensorView(const_cast<void*>(v.data), v.dtype, v.shape);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    const PlanValue& v = spec_.values[from.out[k]];
    out[k] = TensorView(nullptr, v.dtype, v.shape);
  }
  if (from.alias) return {};
  const KernelQuery query = query_of(i);
  step.row = find_kernel(sets, query);
  if (step.row == nullptr) {
    return error(Code::kUnsupported, "no kernel for %s%s",
                 in.empty() ? "no input" : dtype_name(in[0].dtype), why_missing(sets));
  }
  if (step.row->plan != nullptr) WICK_TRY(step.row->plan(query, &step.plan));
  if (step.plan.scratch_bytes > scratch_) scratch_ = step.plan.scratch_bytes;
  return plan_packs(i);
}

Status CpuPartition::compile(Span<const KernelSet* const> sets) {
  WICK_ASSIGN(steps_, arena_.array<CpuStep>(spec_.steps.size()));
  Status planned;
  for (size_t i = 0; planned.ok() && i < steps_.size(); ++i) {
    const NodeDef& node = *spec_.steps[i].node;
    planned = annotate(compile_step(sets, i), "node %.60s (%s): ", node.name, text_of(node));
  }
  // Also when a step failed: the cache keeps the forms for the next binding.
  Status packed = pack_all();
  jobs_ = Array<PackJob>(allocator_);
  return planned.ok() ? packed : planned;
}

Status CpuPartition::run_step(const RunCtx& ctx, size_t i) {
  CpuStep& step = steps_[i];
  const PlanStep& from = spec_.steps[i];
  for (size_t k = 0; k < from.in.size(); ++k) {
    if (from.in[k] != kNoIndex) step.in[k].data = ctx.values[from.in[k]].data;
  }
  for (size_t k = 0; k < from.out.size(); ++k) step.out[k].data = ctx.values[from.out[k]].data;
  KernelCtx kernel{
      ctx.pool, ctx.scratch, &step.plan, {step.packed[0], step.packed[1]}, ctx.strings};
  return run_row(*step.row, from.node->op, kernel, {step.in, from.in.size()},
                 {step.out, from.out.size()}, from.node->attrs);
}

Status CpuPartition::run(const RunCtx& ctx) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const CpuStep& step = steps_[i];
    if (step.row == nullptr) continue;
    const PlanStep& from = spec_.steps[i];
    if (ctx.deadline_ns != 0 && now_ns() > ctx.deadline_ns) {
      return error(Code::kDeadline, "the deadline passed before node %.60s (%s)", from.node->name,
                   text_of(*from.node));
    }
    uint64_t begin = ctx.trace != nullptr ? now_ns() : 0;
    WICK_TRY(annotate(run_step(ctx, i), "node %.60s (%s): ", from.node->name, text_of(*from.node)));
    if (ctx.trace != nullptr) {
      ctx.trace->on_op({text_of(*from.node),
                        from.node->name,
                        step.row->name,
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

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace wick
