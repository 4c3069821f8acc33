// Mixed precision: while a scope lives, the thread's ops compute in the dtype that suits them, like
// torch.autocast.
//
//   {
//     AutocastScope autocast(DType::kBF16);
//     loss = cross_entropy(model(x), y);
//   }
//   loss.backward();                      // gradients arrive at float32 leaves in float32
//
// Products (matmul, linear, convolution, attention, RNN, LSTM, GRU) cast their floating-point
// inputs to the low dtype; softmax, losses, norms, sums, exp, log, pow and similar ops cast float16
// and bfloat16 inputs to float32; other ops with several float inputs use the widest dtype. float64
// is not cast. The casts are ops: autograd records them, and so does a capture, whose graph has
// them. Backward runs each op's gradient in the dtype of its forward, in any scope. Micikevicius et
// al., "Mixed Precision Training", 2018. docs/use/precision.md has the list.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/ops/op_info.h"
#include "trainer/tensor/small_vector.h"
#include "trainer/tensor/tensor.h"

namespace wick {

struct AutocastState;  // internal

// Scopes nest: the innermost one applies. The low dtype is kBF16 or kF16 (others throw Error);
// kNone changes nothing. enabled = false: ops inside do not cast. A float32 parameter that is used
// repeatedly is cast once, until it is written to or the outermost scope ends.
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

// Returns the calling thread's low dtype; kNone: ops do not cast.
DType autocast_dtype();
// Returns whether ops cast.
inline bool autocast_enabled() { return autocast_dtype() != DType::kNone; }

// -- internal to the trainer
// While one lives, all arithmetic is in float32; used inside of losses.
class AutocastWide {
 public:
  AutocastWide();
  ~AutocastWide();
  AutocastWide(const AutocastWide&) = delete;
  AutocastWide& operator=(const AutocastWide&) = delete;

 private:
  AutocastState* state_;
};
// Returns whether autocast allows two float dtypes; functions that need one dtype ask before they
// refuse.
inline bool autocast_joins(DType a, DType b) {
  return autocast_enabled() && is_float(a) && is_float(b);
}

// Casts the inputs of a call by the rules above. `held` keeps the casts alive. Returns false if no
// input changed.
bool autocast_inputs(OpId op, Span<const Tensor* const> in, SmallVector<Tensor, 6>* held,
                     SmallVector<const Tensor*, 6>* as, const Where& where);
// Returns what a call of `op` would take in place of these tensors, of which there are at most 6:
// for functions with a gradient of their own, whose forward is several ops.
std::vector<Tensor> autocast_tensors(OpId op, std::vector<Tensor> in, const Where& where);

// Leaves that require grad and were used by an op under a recorded float16 scope: their gradients
// may have lost values too small for float16, unless the loss was scaled (optim/grad_scaler.h).
bool met_float16(const Tensor& leaf);
void forget_float16(const Tensor& leaf);

}  // namespace wick
