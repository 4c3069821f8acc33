// Forward mode: tangents that travel with the values.
//
//   DualLevel level;
//   Tensor y = f(make_dual(x, v));
//   Tensor jv = unpack_dual(y).tangent;      // the Jacobian of f at x, times v
//
// A tangent lives as long as its tensor, so nothing is kept for a backward. Each op's tangent comes
// out of its gradient row, which is linear in the gradient: transposed, it maps tangents forward.
// Ops without a gradient give no tangent, which means zero. Levels do not nest; backward inside of
// one propagates tangents through the gradients (forward over reverse). Writes in place carry
// tangents: one through a view goes into the base's, and the other views' are derived from it.
#pragma once

#include "runtime/ops/op_info.h"
#include "trainer/tensor/tensor.h"

namespace wick {

class Node;

class DualLevel {
 public:
  DualLevel();
  ~DualLevel();
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
};

struct Dual {
  Tensor primal, tangent;  // tangent: undefined where it is zero
};
// A view of `primal` that carries `tangent` (same shape and dtype, floating point).
Tensor make_dual(const Tensor& primal, const Tensor& tangent, Where where = Where::current());
Dual unpack_dual(const Tensor& t);

// -- internal to the trainer
// Of the current level; undefined: zero. A view's is taken from its base where that was written.
Tensor tangent_of(const Tensor& t);
void set_tangent(const Tensor& t, const Tensor& tangent);
bool any_tangent(const std::vector<Tensor>& list);

// Ops inside carry no tangents.
class ForwardPause {
 public:
  ForwardPause();
  ~ForwardPause();
  ForwardPause(const ForwardPause&) = delete;
  ForwardPause& operator=(const ForwardPause&) = delete;

 private:
  uint64_t saved_;
};

// Gives the outputs (undefined ones are passed over) their tangents, by the node's gradient.
void push_tangents(Node& node, Span<const Tensor* const> in, Span<const Tensor> out,
                   const Where& where);
// The door's: a call ran, and was recorded if it had to be.
void forward_call(OpId op, const void* attrs, Span<const Tensor* const> in, Span<const Tensor> out,
                  const Where& where);
// A write in place of `result` into `target`.
void forward_write(const Tensor& target, const Tensor& result, const char* what,
                   const Where& where);

}  // namespace wick
