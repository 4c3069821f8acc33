// Kernel rows: how every layer (eager trainer, interpreter, session, tests, benches) finds and runs
// a kernel.
//
// A kernel is a pure function on TensorViews. The caller allocates outputs and scratch; a kernel
// never allocates, keeps no state, and touches nothing but its outputs and scratch. What it needs
// is decided once, in plan().
#pragma once

#include <new>
#include <type_traits>

#include "runtime/core/arena.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"
#include "runtime/ops/custom_op.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_args.h"

namespace wick {

// What is known when a kernel is chosen. Views carry dtype, shape and strides; `data` is set only
// for constants (so that packing can be offered) and at eager calls. Of an input that it may pack
// (reads_packed() below) a row looks at it in pack() and run() alone.
struct KernelQuery {
  OpId op = OpId::kNone;
  const void* attrs = nullptr;
  Span<const TensorView> in;
  Span<const TensorView> out;
  int threads = 1;                   // scratch may depend on it; results may not
  const CustomOp* custom = nullptr;  // a user's op: its own kernels are the only ones
  // The op's shape arguments as its rule resolved them; null: find_kernel() and PreparedKernel ask
  // the rule. Rows see them resolved: they never read axes, bounds, pads or sizes themselves.
  const ShapeArgs* args = nullptr;

  template <class A>
  const A& as() const {
    return *static_cast<const A*>(attrs);
  }
};

constexpr int kMaxPacked = 3;
constexpr size_t kPlanStateBytes = WICK_SMALL ? 64 + 8 * sizeof(void*) : 192;

// plan()'s answer; plain data, kept by the caller for as long as it runs the kernel with these
// shapes.
struct KernelPlan {
  size_t scratch_bytes = 0;  // 64-byte aligned scratch, contents undefined at entry
  struct Pack {
    int input = -1;  // which input may be packed once, if it is a constant
    uint32_t layout =
        0;  // packed-weight layout id (files may carry weights already packed so); 0: none
    size_t bytes = 0;
    // What the form depends on beyond the layout and the constant itself (its shape included): a
    // number of the kernel's own, so that one constant read in two ways is packed twice. Forms in
    // files are of variant 0.
    int64_t variant = 0;
  };
  Pack packs[kMaxPacked];

  // What the row has decided, for its own pack() and run(): one plain struct, with the functions of
  // the SIMD target chosen now, block counts, or what it took of the query's shape arguments.
  template <class S>
  void keep(const S& state) {
    static_assert(std::is_trivially_copyable_v<S> && std::is_trivially_destructible_v<S>);
    static_assert(sizeof(S) <= kPlanStateBytes && alignof(S) <= 8, "raise kPlanStateBytes");
    new (state_) S(state);
  }
  // As plan() kept it: of the same type.
  template <class S>
  const S& kept() const {
    return *std::launder(reinterpret_cast<const S*>(state_));
  }

 private:
  alignas(8) unsigned char state_[kPlanStateBytes];  // as keep() left it
};

struct KernelCtx {
  ThreadPool* pool = nullptr;  // null: one thread
  void* scratch = nullptr;     // plan->scratch_bytes
  const KernelPlan* plan = nullptr;
  // packed[i]: the packed form of plan->packs[i].input, or null when that input is not constant
  // (then pack on the fly into scratch, which was sized for it). Who is given it reads nothing of
  // that input itself: its bytes may not be there.
  const void* packed[kMaxPacked] = {};
  // Where the bytes of strings that an op makes go: it lives as long as the outputs are read. Not
  // for tasks of a pool of threads. Null where nobody runs such ops.
  Arena* strings = nullptr;
};

enum KernelFlags : uint32_t {
  kContiguous = 0,     // inputs and outputs must be contiguous (the caller copies)
  kStridedInputs = 1,  // inputs may have any strides, 0 and negative included
  kInPlace = 2,        // output 0 may be exactly input 0 (same shape and dtype)
  kInPlaceSecond = 4,  // ... or exactly input 1
  kBlocked = 8,        // some views have blocks of channels, which no other row is given
};

struct KernelRow {
  const char* name;  // "relu.f32.simd": op, dtype, set; shown by traces and `wick ops`
  uint32_t flags;
  // True when the row handles these dtypes, attributes and shapes. Shapes already passed the op's
  // rule.
  bool (*match)(const KernelQuery&);
  // Null: no scratch, nothing to choose.
  Status (*plan)(const KernelQuery&, KernelPlan*);
  // Null: nothing to pack. Writes plan.packs[slot].bytes to dst.
  Status (*pack)(const KernelQuery&, const KernelPlan&, int slot, void* dst);
  // attrs: the op's struct. Outputs never overlap inputs, except that output 0 may be input 0 under
  // kInPlace, input 1 under kInPlaceSecond.
  Status (*run)(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs);
};

static_assert(sizeof(void*) != 8 || sizeof(KernelRow) == kKernelRowBytes,
              "part of the custom-op interface: raise kCustomOpAbi with it");

// All kernels a set has for one op; the first that matches wins.
struct KernelEntry {
  OpId op;
  const Span<const KernelRow>* rows;  // a pointer, so that a table of entries is a constant
};

// An explicit list, ordered by op id. A selective build is a set with fewer entries: what nobody
// lists the linker drops.
struct KernelSet {
  const char* name;
  Span<const KernelEntry> entries;
  bool selected = false;  // made by wick_selected_ops: the library may have more than it lists
};

// Plain loops in contract order (std::fma): the contract as code. Every op of role kInfer, all its
// dtypes.
extern const KernelSet kReferenceKernels;
// The SIMD rows. Sessions and the trainer ask {&kCpuKernels, &kReferenceKernels} in this order.
extern const KernelSet kCpuKernels;

// What sessions use when given no sets: {&kCpuKernels, &kReferenceKernels}. A program that is
// linked statically may define it anew (wick_selected_ops does); the library's own, and every
// kernel that only it names, then stay out.
Span<const KernelSet* const> default_kernels();

// Has the op's rule resolve the shape arguments into `args`, unless the query brings them or the op
// has none.
Status complete(KernelQuery* query, ShapeArgs* args);

// The first matching row over the sets in order; null when none has it.
const KernelRow* find_kernel(Span<const KernelSet* const> sets, const KernelQuery& query);

// The rest of an error about a kernel that was not found: why, where the sets are a selection.
const char* why_missing(Span<const KernelSet* const> sets);

}  // namespace wick
