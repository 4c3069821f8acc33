// Forward mode: tangents that are propagated along with the values.
//
//   DualLevel level;
//   Tensor y = f(make_dual(x, v));
//   Tensor jv = unpack_dual(y).tangent;      // the Jacobian of f at x, times v
//
// A tangent lives as long as its tensor, and nothing is saved for a backward. The tangent of an op
// is computed from its gradient row, which is linear in the gradient: transposed, it maps tangents
// forward. Ops without a gradient give no tangent, which means zero. Levels do not nest; a backward
// inside a level propagates tangents through the gradients (forward over reverse). In-place writes
// propagate tangents: a write through a view goes into the base's tangent, and those of the other
// views are derived from it.
#pragma once

#include "runtime/ops/op_info.h"
#include "trainer/tensor/tensor.h"

namespace wick {

class Node;

// Opens a level of forward-mode derivatives for this thread, and closes it when destroyed;
// torch.autograd.forward_ad.dual_level.
class DualLevel {
 public:
  DualLevel();
  ~DualLevel();
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
};

// A value and its derivative along a direction, `primal` and `tangent`.
struct Dual {
  Tensor primal, tangent;  // tangent: undefined where it is zero
};
// Returns a view of `primal` that carries `tangent` (same shape and dtype, floating point).
Tensor make_dual(const Tensor& primal, const Tensor& tangent, Where where = Where::current());
// Returns the value and the tangent of a dual tensor.
Dual unpack_dual(const Tensor& t);

// -- internal to the trainer
// Returns the tangent of t at the current level; undefined means zero. That of a view is computed
// from its base's if the base was written since.
Tensor tangent_of(const Tensor& t);
// Sets the tangent of t; undefined removes it.
void set_tangent(const Tensor& t, const Tensor& tangent);
// Returns whether one of these has a tangent.
bool any_tangent(const std::vector<Tensor>& list);

// While one lives, the thread's ops propagate no tangents.
class ForwardPause {
 public:
  ForwardPause();
  ~ForwardPause();
  ForwardPause(const ForwardPause&) = delete;
  ForwardPause& operator=(const ForwardPause&) = delete;

 private:
  uint64_t saved_;
};

// Sets the tangents of the outputs, computed with the node's gradient. Undefined outputs are
// skipped.
void push_tangents(Node& node, Span<const Tensor* const> in, Span<const Tensor> out,
                   const Where& where);
// Called by the dispatcher after an op has run, and has been recorded if it had to be.
void forward_call(OpId op, const void* attrs, Span<const Tensor* const> in, Span<const Tensor> out,
                  const Where& where);
// Propagates the tangents of an in-place write of `result` into `target`.
void forward_write(const Tensor& target, const Tensor& result, const char* what,
                   const Where& where);

}  // namespace wick
