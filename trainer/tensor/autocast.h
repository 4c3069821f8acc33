// Mixed precision: while a scope lives, the thread's ops compute in the dtype that suits them, as
// torch.autocast has it.
//
//   {
//     AutocastScope autocast(DType::kBF16);
//     loss = cross_entropy(model(x), y);
//   }
//   loss.backward();                      // gradients arrive at float32 leaves in float32
//
// Products (matmul, linear, convolution, attention, RNN, LSTM, GRU) cast their floating-point
// inputs to the low dtype; softmax, losses, norms, sums, exp, log, pow and the like cast float16
// and bfloat16 ones to float32; other ops with several float inputs take the widest. float64 stays
// what it is. The casts are ops: recorded by autograd, and by a capture, whose graph has them.
// Backward runs each op's gradient in the dtype its forward had, whatever scope lives then.
// Micikevicius et al., "Mixed Precision Training", 2018. docs/precision.md has the list.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/ops/op_info.h"
#include "trainer/tensor/small_vector.h"
#include "trainer/tensor/tensor.h"

namespace wick {

struct AutocastState;  // internal

// Scopes nest: the innermost one counts. The low dtype is kBF16 or kF16 (others: Error); kNone
// changes nothing. enabled = false: ops inside do not cast. A float32 parameter that is used twice
// is cast once, until it is written to or the outermost scope ends.
class AutocastScope {
 public:
  explicit AutocastScope(DType low = DType::kBF16, bool enabled = true,
                         Where where = Where::current());
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  AutocastState* saved_;
  bool counts_;
};

// The calling thread's low dtype; kNone: ops do not cast.
DType autocast_dtype();
inline bool autocast_enabled() { return autocast_dtype() != DType::kNone; }

// -- internal to the trainer
// Inside of a loss all arithmetic is in float32.
class AutocastWide {
 public:
  AutocastWide();
  ~AutocastWide();
  AutocastWide(const AutocastWide&) = delete;
  AutocastWide& operator=(const AutocastWide&) = delete;

 private:
  AutocastState* state_;
};
// What a function that wants one dtype of its inputs asks before it refuses two.
inline bool autocast_joins(DType a, DType b) {
  return autocast_enabled() && is_float(a) && is_float(b);
}

// Inputs of a call as the rules above have them. `held` keeps the casts alive. False: as they were.
bool autocast_inputs(OpId op, Span<const Tensor* const> in, SmallVector<Tensor, 6>* held,
                     SmallVector<const Tensor*, 6>* as, const Where& where);

// Leaves that require grad and met an op under a recorded float16 scope: their gradients may have
// lost what is too small for float16, unless the loss was scaled (optim/grad_scaler.h).
bool met_float16(const Tensor& leaf);
void forget_float16(const Tensor& leaf);

}  // namespace wick
