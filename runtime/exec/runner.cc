#include "runtime/exec/runner.h"

#include "runtime/kernels/prepared.h"
#include "runtime/ops/sequence_parts.h"

namespace wick {

Status Runner::prepare() {
  if (!regions_.empty()) return {};
  WICK_ASSIGN(regions_, values_.frame.array<Stage*>(values_.entry.regions.size()));
  return {};
}

bool Runner::whole() const {
  const Stage* first = regions_[0];
  return first != nullptr && first->plan.bound &&
         first->plan.end == values_.entry.body().nodes.size();
}

bool Runner::fits(const StagePlan& plan, uint32_t first) const {
  if (!plan.bound || plan.first != first) return false;
  for (const Crossing& c : plan.crossing) {
    if (!(c.shape == values_[c.value].shape)) return false;
  }
  return true;
}

bool Runner::first_fits(uint32_t region) const {
  return regions_[region] != nullptr && fits(regions_[region]->plan, 0);
}

// Plans the stage after `before` (null: the first one), which starts at node `first`. Later stages
// are unbound, as they were planned for its previous results.
Status Runner::plan(uint32_t region, Stage* before, uint32_t first) {
  Stage*& stage = before == nullptr ? regions_[region] : before->next;
  if (stage == nullptr) {
    void* p = memory_.allocator.allocate(sizeof(Stage), alignof(Stage));
    if (p == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a stage");
    stage = new (p) Stage(memory_);
  }
  for (Stage* later = stage; later != nullptr; later = later->next)
    binder_.unbind(region, &later->plan);
  const size_t steps =
      before == nullptr ? 0 : before->plan.first_step + before->plan.steps.size() + 1;
  return binder_.plan(region, first, steps, &stage->plan);
}

void Runner::unbind(size_t regions) {
  for (uint32_t r = 0; r < regions && r < regions_.size(); ++r) {
    for (Stage* stage = regions_[r]; stage != nullptr; stage = stage->next)
      binder_.unbind(r, &stage->plan);
  }
}

void Runner::drop() {
  unbind_all();
  for (Stage* first : regions_) {
    for (Stage* stage = first; stage != nullptr; stage = stage->next) {
      memory_.release(stage->plan.memory);
      memory_.release(stage->scratch);
      for (Buffer& buffer : stage->buffers) memory_.release(buffer);
    }
  }
  memory_.strings.clear();
  memory_.temp.clear();
  memory_.shrink();
}

Runner::~Runner() {
  drop();
  memory_.kept = nullptr;
  for (Stage* stage : regions_) {
    while (stage != nullptr) {
      Stage* next = stage->next;
      stage->~Stage();
      memory_.allocator.deallocate(stage, sizeof(Stage), alignof(Stage));
      stage = next;
    }
  }
}

Status Runner::run(uint32_t region, RunCtx& ctx) {
  const RegionDef& def = values_.entry.regions[region];
  Stage* before = nullptr;
  for (uint32_t first = 0;; first = before->plan.end + 1) {
    Stage*& next = before == nullptr ? regions_[region] : before->next;
    if (next == nullptr || !fits(next->plan, first)) WICK_TRY(plan(region, before, first));
    Stage& stage = *next;
    enter(stage.plan);
    for (const BoundPartition& part : stage.plan.partitions) {
      WICK_TRY(ready(stage.plan, ctx));
      WICK_TRY(part.compiled->run(ctx));
    }
    if (stage.plan.end == def.nodes.size()) return {};
    const NodeDef& node = def.nodes[stage.plan.end];
    WICK_TRY(
        annotate(run_apart(stage, node, ctx), "node %.60s (%s): ", node.name, node.info->name));
    before = &stage;
  }
}

Result<Partition*> Runner::start(RunCtx& ctx) {
  const StagePlan& plan = regions_[0]->plan;
  enter(plan);
  Partition* last = nullptr;
  for (size_t i = 0; i < plan.partitions.size(); ++i) {
    WICK_TRY(ready(plan, ctx));
    last = plan.partitions[i].compiled;
    WICK_TRY(i + 1 < plan.partitions.size() ? last->run(ctx) : last->start(ctx));
  }
  return last;
}

void Runner::undo(uint64_t run) {
  for (Stage* stage = regions_.empty() ? nullptr : regions_[0]; stage != nullptr;
       stage = stage->next) {
    for (const BoundPartition& part : stage->plan.partitions) {
      if (part.compiled != nullptr) part.compiled->undo(run);
    }
  }
}

// The address of a stage's input may differ in every run.
void Runner::enter(const StagePlan& plan) {
  for (const InputUse& use : plan.input_uses)
    values_.views[use.value].data = values_.views[use.root].data;
}

// Prepares for a partition: a stage that ran in the meantime has its own scratch memory.
Status Runner::ready(const StagePlan& plan, RunCtx& ctx) {
  if (ctx.stop != nullptr && ctx.stop->reached()) return ctx.stop->status();
  ctx.arena = {static_cast<char*>(plan.memory.data), plan.memory.bytes};
  memory_.limit_strings();
  return {};
}

Status Runner::run_apart(Stage& stage, const NodeDef& node, RunCtx& ctx) {
  if (ctx.stop != nullptr && ctx.stop->reached()) return ctx.stop->status();
  if (node.op == OpId::kIf) return run_if(node, ctx);
  if (node.op == OpId::kLoop) return run_loop(stage, node, ctx);
  return run_sized(stage, node, ctx);
}

// Runs a node whose rule needs values. Outputs are allocated with the bytes that the rule states
// and get the size that the kernel sets.
Status Runner::run_sized(Stage& stage, const NodeDef& node, RunCtx& ctx) {
  stage.run_arena.clear();
  size_t ins = node.inputs.size(), outs = node.outputs.size();
  WICK_ASSIGN(auto info_in, stage.run_arena.array<ValueInfo<int64_t>>(ins));
  WICK_ASSIGN(auto info_out, stage.run_arena.array<ValueInfo<int64_t>>(outs));
  WICK_ASSIGN(auto in, stage.run_arena.array<TensorView>(ins));
  WICK_ASSIGN(auto out, stage.run_arena.array<TensorView>(outs));
  for (size_t i = 0; i < ins; ++i) {
    if (node.inputs[i] == kNoIndex) continue;
    // A lent weight is not read until a partition packs it; nothing packs it here.
    if (LentBytes* source = values_[node.inputs[i]].source; source != nullptr)
      WICK_TRY(source->fill());
    in[i] = values_.views[node.inputs[i]];
    info_in[i].dtype = in[i].dtype;
    info_in[i].shape = in[i].shape;
    WICK_TRY(read_elements(in[i], holds_reals(node.op, i, in[i].dtype, in[i].rank()),
                           stage.run_arena, &info_in[i],
                           reads_all_integers(node.op, i) ? INT32_MAX : kMaxElements));
  }
  ShapeArgs args;
  RuleCtx<int64_t> rule{node.op, node.attrs, info_in, info_out, node.custom, &args};
  WICK_TRY(refuse_unknown(infer_shapes(rule)));
  if (is_view(node.op)) {
    WICK_TRY(values_.set(node.outputs[0], in[0].data, info_out[0].dtype, info_out[0].shape));
    return values_.check_declared(node.outputs[0]);
  }
  if (stage.buffers.size() < outs) WICK_TRY(stage.buffers.resize(outs));
  for (size_t i = 0; i < outs; ++i) {
    WICK_TRY(values_.check_dtype(node.outputs[i], info_out[i].dtype));
    out[i] = TensorView(nullptr, info_out[i].dtype, info_out[i].shape);
    WICK_TRY(is_container(out[i].dtype) ? memory_.grow_ahead(stage.buffers[i], out[i].nbytes())
                                        : memory_.grow(stage.buffers[i], out[i].nbytes() + 1));
    out[i].data = stage.buffers[i].data;
  }
  PreparedKernel kernel;
  WICK_TRY(kernel.prepare(machine_.sets,
                          {node.op, node.attrs, in, out, machine_.threads, node.custom, &args}));
  WICK_TRY(memory_.grow(stage.scratch, kernel.scratch_bytes()));
  memory_.limit_strings();
  uint64_t begin = ctx.trace != nullptr ? now_ns() : 0;
  WICK_TRY(kernel.run({machine_.pool, stage.scratch.data, &memory_.strings}, node.op, in, out,
                      node.attrs));
  if (ctx.trace != nullptr) {
    ctx.trace->on_op({node.info->name, node.name, kernel.row().name, "cpu",
                      static_cast<int64_t>(stage.plan.first_step + stage.plan.steps.size()), begin,
                      now_ns(), in, out});
  }
  for (size_t i = 0; i < outs; ++i) {
    WICK_TRY(values_.set(node.outputs[i], out[i].data, out[i].dtype, out[i].shape));
    WICK_TRY(values_.check_declared(node.outputs[i]));
  }
  return {};
}

}  // namespace wick
