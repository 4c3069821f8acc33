// Tape nodes: one a recorded call.
#pragma once

#include <source_location>

#include "runtime/ops/op_info.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/autograd/live_node.h"
#include "trainer/tensor/small_vector.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// A tensor kept for backward, with the version its bytes had then.
struct SavedTensor {
  Tensor tensor;
  uint32_t version = 0;
};

// Where the gradient of an input goes: output `nr` of `node`, or a leaf's .grad. Both null: not
// needed.
struct Edge {
  IntrusivePtr<Node> node;
  uint32_t nr = 0;
  IntrusivePtr<TensorImpl> leaf;
  bool needed() const { return node || leaf; }
};

struct ValueMeta {
  DType dtype = DType::kNone;
  Shape shape;
};

class Node final : public Counted, public LiveNode {
 public:
  ~Node();

  OpId op = OpId::kNone;
  const GradRow* row = nullptr;
  AnyAttrs attrs;
  uint64_t sequence = 0;  // ascends with creation: a node's consumers have higher numbers
  Where where;            // the forward call's line
  SmallVector<Edge, 3> edges;
  SmallVector<ValueMeta, 3> in, out;
  SmallVector<SavedTensor, 3> saved_in,
      saved_out;  // empty slots where the row's formula does not ask
  bool released = false;

  // The engine's, during one backward; sums of the gradients that arrived for each output.
  SmallVector<Tensor, 1> pending;
  uint64_t visited = 0;
};

// Tape entry of a call with at least one input that requires grad. Sets grad_fn of the
// differentiable outputs.
void record(OpId op, const void* attrs, Span<const Tensor* const> in, Span<Tensor> out,
            const Where& where);

}  // namespace wick
