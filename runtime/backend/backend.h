// Backend: runs a part of a program. A session divides its steps into partitions, each the longest
// run of consecutive steps that a backend supports; what none of the given backends supports runs
// on the CPU. Values that enter or leave a partition are in host memory; inside it a backend keeps
// them where it likes.
#pragma once

#include "runtime/backend/device_tensor.h"
#include "runtime/core/owned.h"
#include "runtime/core/thread_pool.h"
#include "runtime/core/trace.h"
#include "runtime/kernels/kernel.h"
#include "runtime/program/program.h"

namespace wick {

class ExplainHook;
class PackCache;  // runtime/backend/pack_cache.h

// A value whose shape is bound.
struct PlanValue {
  const char* name = "";       // the program's; may be ""
  DType dtype = DType::kNone;  // kNone: not a value of this plan
  uint8_t block = 0;           // TensorView::block
  Shape shape;
  const void* data =
      nullptr;  // not null: the bytes are known from now on (a constant, or computed at bind)
  Span<const PackedDef> packed;  // packed forms of a constant that the file contains
  uint32_t constant = kNoIndex;  // index in Program::constants(): a key for caches of uploads
  LentBytes* source = nullptr;   // not null: the bytes at `data` are missing until it is filled
  // For a constant: identifies its bytes as long as the program lives, in all of its sessions.
  const void* key = nullptr;

  // Returns a view of the value at this address.
  TensorView view(void* at) const {
    TensorView v(at, dtype, shape);
    v.block = block;
    return v;
  }
  // Returns a view with the bytes that a plan knows.
  TensorView view() const { return view(const_cast<void*>(data)); }
};

// A step of a plan, whose node is in the program.
struct PlanStep {
  const NodeDef* node = nullptr;
  // Ids of the plan's values; kNoIndex: an absent optional input.
  Span<const uint32_t> in, out;
  bool alias =
      false;  // output 0 is input 0's bytes with another shape, and already in place on the host
  // A ScatterND whose output 0 is its input 0, a buffer that outlives the run: only the CPU gets
  // it.
  bool writes_state = false;
  const KernelRow* row = nullptr;  // the CPU kernel, if it was already looked up
  // The end of the stage's memory (RunCtx::arena) that is in use while the step runs.
  size_t used = 0;
};

// compile() gets this: steps that this backend runs one after the other.
struct PartitionSpec {
  Span<const PlanValue> values;  // of the whole plan, by id; they live as long as the partition
  Span<const PlanStep> steps;    // of this partition, in order; they live as long as the partition
  Span<const uint32_t> inputs;   // values that enter from outside, without constants
  Span<const uint32_t> outputs;  // values that are read outside
  size_t first_step = 0;         // index of steps[0] in the plan, for traces
  size_t planned_bytes = 0;      // size of the stage's buffers; scratch_bytes() follow them
  int threads = 1;               // that a run may use
  Edition edition = kNewestEdition;  // the program's
  PackCache* cache = nullptr;        // may be null
  ThreadPool* pool = nullptr;        // for packing; may be null
  bool traced = false;               // runs will be traced: time the steps one by one
};

// RunCtx is what a partition gets for one run.
struct RunCtx {
  Span<const TensorView>
      values;  // host views by value id, contiguous; set at least for inputs and outputs
  ThreadPool* pool = nullptr;  // null: one thread
  Span<char> arena;            // the block with the stage's host buffers and scratch
  TraceHook* trace = nullptr;  // null: nobody asks
  Stop* stop = nullptr;        // not null: checked between steps and while waiting for a device
  Arena* strings = nullptr;    // for strings that steps make; cleared when the next run begins
  uint64_t run = 0;            // its number
  // Tensors of the backend's own device in place of host views, by value id; empty: none. Such a
  // value's view has no data. An output of a run is one only if nothing else reads it.
  Span<DeviceTensor* const> device_in, device_out;
};

// Steps compiled for one binding of shapes. run() never allocates host memory.
class Partition {
 public:
  // Reads the inputs' views and writes the outputs' views; returns when the outputs are in host
  // memory.
  virtual Status run(const RunCtx& ctx) = 0;
  // run() in two halves, so that the caller can work while a device does: start() has read the
  // inputs when it returns, but the outputs may not exist yet; finish() waits for them. If finish()
  // returns kDeadline the run continues, and the next start() waits for it.
  virtual Status start(const RunCtx& ctx) { return run(ctx); }
  virtual Status finish(const RunCtx&) { return {}; }
  // Restores what the steps of that run overwrote (PlanStep::writes_state), if they ran.
  virtual void undo(uint64_t) {}
  // Returns the bytes that steps use after the stage's buffers, in RunCtx::arena.
  virtual size_t scratch_bytes() const { return 0; }
  virtual size_t held_bytes() const {
    return 0;
  }  // memory that it owns (packed or uploaded weights)
  // Reports its kernels and their costs. Not to be called while it runs.
  virtual void explain(ExplainHook&) const {}
  virtual void free() = 0;  // destroys the object

  static void destroy(Partition* p) { p->free(); }  // for Owned

 protected:
  ~Partition() = default;
};

// A backend runs steps: the CPU, a device, or one of your own. Values that cross the border of a
// partition are in host memory.
class Backend {
 public:
  virtual const char* name() const = 0;  // as in traces and explain(): "cpu"
  // Returns whether compile() takes a step with these dtypes, attributes and shapes. `data` is set
  // for constants.
  virtual bool supports(const KernelQuery& query) = 0;
  // Returns ok, or the reason why it does not.
  virtual Status why_not(const KernelQuery& query) {
    return supports(query) ? Status() : Status(Code::kUnsupported, "no kernel for this step");
  }
  // For supported steps whose neighbours run elsewhere: returns ok, or why their copies cost more
  // than they gain.
  virtual Status pays(const PartitionSpec&) { return {}; }
  // Chooses kernels, packs or uploads constants, records commands. If it fails it leaves nothing
  // behind.
  virtual Result<Owned<Partition>> compile(const PartitionSpec& spec, Allocator& allocator) = 0;
  // Makes a tensor of zeros in the device's memory. kUnsupported: the backend has no memory of its
  // own, or no tensors of this size; kTypeMismatch: strings, sequences and optionals;
  // kShapeMismatch, kOutOfMemory, kDevice.
  virtual Result<Owned<DeviceTensor>> create_tensor(DType, const Shape&) {
    return Status(Code::kUnsupported, "this backend has no memory of its own");
  }
  // Takes what is known of a model's kernels on this device from a file that came with the model,
  // so that its sessions need not find it out (SessionOptions::device_cache). A file that does not
  // fit or is damaged changes nothing. kUnsupported: it was made for another device, driver or
  // build, or the backend keeps nothing of the kind; kInvalidProgram: it is damaged; kNotFound,
  // kIo, kOutOfMemory, kDevice.
  virtual Status load_cache(const char*) {
    return Status(Code::kUnsupported, "this backend has no cache of kernels");
  }
  // Identifies the device that its tensors belong to; null: it has none.
  virtual const void* home() const { return nullptr; }
  // Returns true if values inside a partition need host buffers too (the CPU works in the session's
  // arena).
  virtual bool in_host_memory() const { return false; }

 protected:
  ~Backend() = default;
};

}  // namespace wick
