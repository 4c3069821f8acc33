// Calls that the device runs as several others: chains of elementwise steps, attention, and what
// has shaders of float32 only, over float16 and bfloat16.
#pragma once

#include "runtime/backend/vulkan/graph/lower.h"

namespace wick::vulkan {

using TensorId = uint32_t;

// Where the others go: a graph, or a look at whether each has shaders.
class Builder {
 public:
  virtual Result<TensorId> temporary(DType dtype, const Shape& shape) = 0;
  virtual Result<TensorId> constant(DType dtype, double value) = 0;  // a float
  virtual Status call(OpId op, const void* attrs, Span<const TensorId> in,
                      Span<const TensorId> out) = 0;

 protected:
  ~Builder() = default;
};

// A call with its tensors: views have dtypes and shapes, ids are the builder's.
struct WholeCall {
  OpId op = OpId::kNone;
  const void* attrs = nullptr;
  Span<const TensorView> in;
  Span<const TensorId> in_ids;
  Span<const TensorView> out;
  Span<const TensorId> out_ids;
};

// Whatever its dtypes and shapes are.
bool is_expanded(OpId op);
// Where lower() has no shader: whether expand() may.
bool may_expand(OpId op, Span<const TensorView> in, Span<const TensorView> out);
// kUnsupported, with the reason, where a part of it has no shader.
Status expand(const WholeCall& call, Builder& builder);

}  // namespace wick::vulkan
