// One drawn call of an op, without a program: its inputs in memory, the rule's answer, its work.
#pragma once

#include "runtime/kernels/kernel.h"
#include "runtime/ops/rule.h"
#include "tests/fuzz/op_case.h"
#include "tests/fuzz/run_program.h"

namespace wick::fuzz {

class OpCall {
 public:
  OpCall(const OpCase& from, Fed& fed);

  // The rule; what it gives is in outs().
  Status infer();
  // After the rule: whether it is little enough to be run here.
  bool little() const;
  // After the rule: the first kernel of the sets that takes it, outputs and scratch in memory of
  // their own.
  Status run(Span<const KernelSet* const> sets, Fed& fed, Arena& strings,
             std::vector<TensorView>* out, const char** kernel);

  Span<const ValueInfo<int64_t>> outs() const { return outs_; }
  std::vector<DType> in_types() const;
  static TensorView feed(const OpInput& one, Fed& fed);

 private:
  ValueInfo<int64_t> info(size_t k);

  const OpCase& c_;
  std::vector<TensorView> in_;
  std::vector<ValueInfo<int64_t>> infos_, outs_;
  std::vector<std::vector<int64_t>> elements_;
  ShapeArgs args_;
};

// Seed, changes, declaration. `little`: it may be run.
struct DrawnOp {
  OpCase c;
  bool little = true;
  std::vector<const OpInput*> ports;  // those that the caller provides, in order
};
// `look` sees the call after its rule was asked, and what that said.
void draw_op(Case& c, GuardAllocator& allocator, DrawnOp* drawn,
             const std::function<void(OpCall&, Status, Fed&)>& look = nullptr);

}  // namespace wick::fuzz
