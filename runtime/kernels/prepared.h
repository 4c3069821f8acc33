// The one way to prepare and run a kernel. Sessions, eager calls, the interpreter, constant
// folding, devices' self-tests, benches and tests all use it, so they all pass the same to a
// kernel.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// KernelLoan is what a caller provides for one run.
struct KernelLoan {
  ThreadPool* pool = nullptr;
  void* scratch = nullptr;  // scratch_bytes()
  Arena* strings = nullptr;
};

// A row with its plan and the packed forms of its weights; plain data that the caller keeps as long
// as it runs the kernel with these shapes.
class PreparedKernel {
 public:
  // Runs the row's plan(). Fails with any error of the rule or the row.
  Status prepare(const KernelRow& row, const KernelQuery& query);
  // Prepares the first row that matches; kUnsupported: there is none, or none was selected.
  Status prepare(Span<const KernelSet* const> sets, const KernelQuery& query);

  bool prepared() const { return row_ != nullptr; }
  const KernelRow& row() const { return *row_; }
  size_t scratch_bytes() const { return plan_.scratch_bytes; }

  // Returns what the row would read in packed form; null: nothing in that slot. Once an input is
  // packed, its plain form is not read.
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
  // Writes the packed form of a slot to `to`; the query has the constant's bytes.
  Status pack(const KernelQuery& query, int slot, void* to) const {
    return row_->pack(query, plan_, slot, to);
  }
  void set_packed(int slot, const void* form) { packed_[slot] = form; }
  const void* packed(int slot) const { return packed_[slot]; }
  // Packs every constant of the query into memory of `arena`.
  Status pack_all(const KernelQuery& query, Arena& arena);

  // Returns whether a run takes only a few microseconds: then one thread is sooner done alone.
  bool is_small() const { return is_small_; }

  // Runs the kernel. If all outputs are empty it returns at once, however large the dims beside the
  // 0 are.
  Status run(const KernelLoan& loan, OpId op, Span<const TensorView> in, Span<TensorView> out,
             const void* attrs) const;

 private:
  const KernelRow* row_ = nullptr;
  KernelPlan plan_;
  const void* packed_[kMaxPacked] = {};
  Edition edition_ = kNewestEdition;
  bool brief_ = false;  // too short to be interrupted
  bool is_small_ = false;
  bool flat_ = false;  // the row sees blocked values through FlatViews
};

// Runs another row from within a row's own run(), with a context that it has set up.
Status run_inner(const KernelRow& row, const KernelCtx& ctx, Span<const TensorView> in,
                 Span<TensorView> out, const void* attrs);
Status plan_inner(const KernelRow& row, const KernelQuery& query, KernelPlan* plan);

}  // namespace wick
