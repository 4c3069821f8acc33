// The one way to prepare and run a kernel. Sessions, eager calls, the interpreter, constant
// folding, devices' self-tests, benches and tests all go through it: what one of them hands to a
// kernel, all of them hand to it.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// What a caller lends for one run.
struct KernelLoan {
  ThreadPool* pool = nullptr;
  void* scratch = nullptr;  // scratch_bytes()
  Arena* strings = nullptr;
};

// A row with its plan and the packed forms of its weights; plain data that the caller keeps for as
// long as it runs the kernel with these shapes.
class PreparedKernel {
 public:
  // Lets the row plan. Any error of the rule's or of the row's.
  Status prepare(const KernelRow& row, const KernelQuery& query);
  // The same with the first row that matches; kUnsupported: there is none, or none was selected.
  Status prepare(Span<const KernelSet* const> sets, const KernelQuery& query);

  bool prepared() const { return row_ != nullptr; }
  const KernelRow& row() const { return *row_; }
  size_t scratch_bytes() const { return plan_.scratch_bytes; }

  // What the row would read packed; null: nothing in that slot. Such an input is not read as it is
  // once it was packed.
  const KernelPlan::Pack* pack_of(int slot) const {
    const KernelPlan::Pack& want = plan_.packs[slot];
    return row_->pack != nullptr && want.bytes != 0 && want.input >= 0 ? &want : nullptr;
  }
  bool packs(size_t input) const {
    for (int slot = 0; slot < kMaxPacked; ++slot) {
      if (pack_of(slot) != nullptr && plan_.packs[slot].input == static_cast<int>(input))
        return true;
    }
    return false;
  }
  // Writes the form of a slot to `to`; the query holds the constant's bytes.
  Status pack(const KernelQuery& query, int slot, void* to) const {
    return row_->pack(query, plan_, slot, to);
  }
  void set_packed(int slot, const void* form) { packed_[slot] = form; }
  const void* packed(int slot) const { return packed_[slot]; }
  // Packs every constant of the query into memory of `arena`.
  Status pack_all(const KernelQuery& query, Arena& arena);

  // There is nothing to make where all outputs are empty: that costs nothing, however large the
  // dims beside the 0 are.
  Status run(const KernelLoan& loan, OpId op, Span<const TensorView> in, Span<TensorView> out,
             const void* attrs) const;

 private:
  const KernelRow* row_ = nullptr;
  KernelPlan plan_;
  const void* packed_[kMaxPacked] = {};
  bool brief_ = false;  // too short to be ended in the middle
  bool flat_ = false;   // the row sees blocks of channels as FlatViews
};

// For a row that runs another one within its own run(), with a context of its own making.
Status run_inner(const KernelRow& row, const KernelCtx& ctx, Span<const TensorView> in,
                 Span<TensorView> out, const void* attrs);
Status plan_inner(const KernelRow& row, const KernelQuery& query, KernelPlan* plan);

}  // namespace wick
