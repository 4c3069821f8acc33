// Kernel rows: how every layer (eager trainer, interpreter, session, tests, benches) finds and runs
// a kernel.
//
// A kernel is a pure function on TensorViews. The caller allocates outputs and scratch; a kernel
// never allocates, keeps no state, and writes only to its outputs and scratch. Everything that it
// needs is decided once, in plan().
#pragma once

#include <new>
#include <type_traits>

#include "runtime/core/arena.h"
#include "runtime/core/edition.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"
#include "runtime/ops/custom_op.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_args.h"

namespace wick {

// KernelQuery is what is known when a kernel is chosen. Views carry dtype, shape and strides;
// `data` is set only for constants (so that packing can be offered) and in eager calls. A row reads
// an input that it may pack (reads_packed() in op_info.h) only in pack() and run().
struct KernelQuery {
  // The op, its attribute struct, and its inputs and outputs.
  OpId op = OpId::kNone;
  const void* attrs = nullptr;
  Span<const TensorView> in;
  Span<const TensorView> out;
  int threads = 1;                   // scratch may depend on it; results may not
  const CustomOp* custom = nullptr;  // a custom op: only its own kernels are considered
  // The op's shape arguments as resolved by its rule; null: find_kernel() and PreparedKernel run
  // the rule. Rows use these and never read axes, bounds, pads or sizes themselves.
  const ShapeArgs* args = nullptr;
  Edition edition = kNewestEdition;  // of the program whose call it is
  Status* why = nullptr;  // where it is set, a row's match() may say there why it does not match

  // Returns the attributes as the op's struct.
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(attrs);
  }
};

// The most inputs of a kernel that can be packed, and the bytes of KernelPlan::store().
constexpr int kMaxPacked = 3;
constexpr size_t kPlanStateBytes = WICK_SMALL ? 64 + 8 * sizeof(void*) : 192;

// The result of plan(): plain data that the caller keeps as long as it runs the kernel with these
// shapes.
struct KernelPlan {
  size_t scratch_bytes = 0;  // 64-byte aligned scratch, undefined on entry
  // An input that may be packed.
  struct Pack {
    int input = -1;  // an input that may be packed once, if it is a constant
    uint32_t layout =
        0;             // packed-weight layout id (files may contain weights in this form); 0: none
    size_t bytes = 0;  // of the packed form
    // Distinguishes forms that depend on more than the layout and the constant itself (its shape
    // included), so that one constant used in two ways is packed twice. The kernel chooses the
    // number. Forms in files have variant 0.
    int64_t variant = 0;
  };
  Pack packs[kMaxPacked];  // at most that many inputs

  // Stores what the row decided, for its own pack() and run(): one plain struct, such as the
  // functions of the current SIMD target, block counts, or shape arguments taken from the query.
  template <class S>
  void keep(const S& state) {
    static_assert(std::is_trivially_copyable_v<S> && std::is_trivially_destructible_v<S>);
    static_assert(sizeof(S) <= kPlanStateBytes && alignof(S) <= 8, "raise kPlanStateBytes");
    new (state_) S(state);
  }
  // Returns what plan() stored; the type must be the same.
  template <class S>
  const S& kept() const {
    return *std::launder(reinterpret_cast<const S*>(state_));
  }

 private:
  alignas(8) unsigned char state_[kPlanStateBytes];  // written by keep()
};

// A kernel gets this for a run, besides its tensors.
struct KernelCtx {
  ThreadPool* pool = nullptr;        // null: one thread
  void* scratch = nullptr;           // plan->scratch_bytes
  const KernelPlan* plan = nullptr;  // as plan() made it
  // packed[i]: the packed form of plan->packs[i].input, or null where that input is not constant
  // (then it is packed into scratch, which is large enough). A kernel that gets a packed form must
  // not read that input: its bytes may not be loaded.
  const void* packed[kMaxPacked] = {};
  // Ops allocate the bytes of strings here: it lives as long as the outputs are read. Tasks of a
  // thread pool must not use it. Null if no such op is run.
  Arena* strings = nullptr;
  Edition edition = kNewestEdition;  // the query's, for rows that choose nothing in plan()
};

// A row promises these, or asks them of its caller.
enum KernelFlags : uint32_t {
  kContiguous = 0,     // inputs and outputs must be contiguous (the caller copies)
  kStridedInputs = 1,  // inputs may have any strides, 0 and negative included
  kInPlace = 2,        // output 0 may be exactly input 0 (same shape and dtype)
  kInPlaceSecond = 4,  // ... or exactly input 1
  kBlocked = 8,        // for blocked views, which no other row is given
  kPartsInPlace = 16,  // Concat and Split: leaves alone what stands in its place already
};

// A kernel and the queries it is for.
struct KernelRow {
  const char* name;  // "relu.f32.simd": op, dtype, set; shown by traces and `wick ops`
  uint32_t flags;    // KernelFlags
  // Returns whether the row handles these dtypes, attributes and shapes, which have passed the op's
  // rule.
  bool (*match)(const KernelQuery&);
  // Null: no scratch, and nothing to choose.
  Status (*plan)(const KernelQuery&, KernelPlan*);
  // Writes plan.packs[slot].bytes to dst. Null: nothing to pack.
  Status (*pack)(const KernelQuery&, const KernelPlan&, int slot, void* dst);
  // attrs: the op's struct. Outputs never overlap inputs, except that output 0 may be input 0 under
  // kInPlace, or input 1 under kInPlaceSecond.
  Status (*run)(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs);
};

static_assert(sizeof(void*) != 8 || sizeof(KernelRow) == kKernelRowBytes,
              "part of the custom-op interface: raise kCustomOpAbi with it");

// All kernels that a set has for one op; the first that matches is used.
struct KernelEntry {
  OpId op;
  const Span<const KernelRow>* rows;  // a pointer, so that a table of entries is a constant
};

// An explicit list, ordered by op id. A selective build is a set with fewer entries: the linker
// drops what no set lists.
struct KernelSet {
  const char* name;  // "cpu", "reference"
  Span<const KernelEntry> entries;
  bool selected = false;  // made by wick_selected_ops: the library may have more ops
};

// Plain loops in the contract's order (std::fma): the contract as code. It has every op of role
// kInfer with all its dtypes.
extern const KernelSet kReferenceKernels;
// The SIMD rows. Sessions and the trainer search {&kCpuKernels, &kReferenceKernels} in this order.
extern const KernelSet kCpuKernels;

// The sets of sessions that are given none: {&kCpuKernels, &kReferenceKernels}. A program that is
// linked statically may define its own (wick_selected_ops does); the library's definition, and
// every kernel that only it names, are then not linked.
Span<const KernelSet* const> default_kernels();

// Resolves the shape arguments into `args` with the op's rule, unless the query has them or the op
// has none.
Status complete(KernelQuery* query, ShapeArgs* args);

// Returns the first matching row of the sets, in order; null when none has one.
const KernelRow* find_kernel(Span<const KernelSet* const> sets, const KernelQuery& query);

// Returns the end of an error text about a missing kernel: the reason, where the sets are a
// selection.
const char* why_missing(Span<const KernelSet* const> sets);

}  // namespace wick
