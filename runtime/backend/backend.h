// Backend: who runs a part of a program. A session cuts its steps into partitions, each the longest
// run of consecutive steps that a backend supports; what none of the given backends supports runs
// on the CPU. Values that cross a partition's border are in host memory; inside, a backend keeps
// them where it likes.
#pragma once

#include "runtime/backend/pack_cache.h"
#include "runtime/core/owned.h"
#include "runtime/core/thread_pool.h"
#include "runtime/core/trace.h"
#include "runtime/kernels/kernel.h"
#include "runtime/program/program.h"

namespace wick {

class ExplainHook;

// A value with its shape bound.
struct PlanValue {
  const char* name = "";
  DType dtype = DType::kNone;  // kNone: not a value of this plan
  uint8_t block = 0;           // TensorView::block
  Shape shape;
  const void* data =
      nullptr;  // known now and for ever (a constant, or computed at bind); else null
  Span<const PackedDef> packed;  // packed forms the file brings for a constant
  uint32_t constant = kNoIndex;  // index in Program::constants(): a key for caches of uploads
  LentBytes* source = nullptr;   // not null: nothing is at `data` before it was filled
  // Of a constant: stands for its bytes as long as the program lives, in all of its sessions.
  const void* key = nullptr;

  TensorView view(void* at) const {
    TensorView v(at, dtype, shape);
    v.block = block;
    return v;
  }
  // With what a plan knows of its bytes.
  TensorView view() const { return view(const_cast<void*>(data)); }
};

struct PlanStep {
  const NodeDef* node = nullptr;
  // Ids into the plan's values; kNoIndex: an absent optional input.
  Span<const uint32_t> in, out;
  bool alias =
      false;  // output 0 is input 0's bytes under another shape, and already in place on the host
  const KernelRow* row = nullptr;  // the CPU's kernel, where it was looked for already
  // Behind so many bytes of the stage's memory (RunCtx::arena) nothing lives while it runs.
  size_t used = 0;
};

struct PartitionSpec {
  Span<const PlanValue> values;  // of the whole plan, by id; lives as long as the partition
  Span<const PlanStep> steps;    // this partition's, in order; lives as long as the partition
  Span<const uint32_t> inputs;   // values that come in from outside; constants are not among them
  Span<const uint32_t> outputs;  // values that someone outside reads
  size_t first_step = 0;         // number of steps[0] within the plan, for traces
  size_t planned_bytes = 0;      // of the stage's buffers, behind which scratch_bytes() begin
  int threads = 1;
  PackCache* cache = nullptr;  // may be null
  ThreadPool* pool = nullptr;  // for packing; may be null
  bool traced = false;         // runs will be traced: steps are to be timed one by one
};

// Lent to a partition for one run.
struct RunCtx {
  Span<const TensorView>
      values;  // host views by value id, contiguous; set at least for inputs and outputs
  ThreadPool* pool = nullptr;
  Span<char> arena;  // the block that the stage's host buffers and the scratch lie in
  TraceHook* trace = nullptr;
  Stop* stop = nullptr;      // not null: asked between steps and while a device is waited for
  Arena* strings = nullptr;  // of strings that steps make; cleared when the next run begins
};

// Steps compiled for one binding of shapes. run() never allocates host memory.
class Partition {
 public:
  // Reads the inputs' views, writes the outputs' views; returns when they are in host memory.
  virtual Status run(const RunCtx& ctx) = 0;
  // run() in two halves, so that the caller has time while a device works: start() may return
  // before the outputs are there, having read the inputs; finish() sees to it that they are. Where
  // finish() gives kDeadline the run goes on, and the next start() waits for it.
  virtual Status start(const RunCtx& ctx) { return run(ctx); }
  virtual Status finish(const RunCtx&) { return {}; }
  // How far steps work behind the stage's buffers, in RunCtx::arena.
  virtual size_t scratch_bytes() const { return 0; }
  virtual size_t held_bytes() const {
    return 0;
  }  // memory it holds itself (packed or uploaded weights)
  // Its kernels and what they cost. Not while it runs.
  virtual void explain(ExplainHook&) const {}
  virtual void free() = 0;  // the object is gone afterwards

  static void destroy(Partition* p) { p->free(); }  // for Owned

 protected:
  ~Partition() = default;
};

class Backend {
 public:
  virtual const char* name() const = 0;
  // True when compile() will take a step with these dtypes, attributes and shapes. `data` is set
  // for constants.
  virtual bool supports(const KernelQuery& query) = 0;
  // The reason, where it does not.
  virtual Status why_not(const KernelQuery& query) {
    return supports(query) ? Status() : Status(Code::kUnsupported, "no kernel for this step");
  }
  // Of steps that it supports and whose neighbours run elsewhere: ok, or why their copies cost more
  // than is won.
  virtual Status pays(const PartitionSpec&) { return {}; }
  // Chooses kernels, packs or uploads constants, records commands. Fails with a Status, leaving
  // nothing behind.
  virtual Result<Owned<Partition>> compile(const PartitionSpec& spec, Allocator& allocator) = 0;
  // True: values inside a partition need host buffers too (the CPU works in the session's arena).
  virtual bool in_host_memory() const { return false; }

 protected:
  ~Backend() = default;
};

}  // namespace wick
