// Calls that the device runs as several others: chains of elementwise steps, attention, and float16
// or bfloat16 versions of ops that only have float32 shaders.
#pragma once

#include "runtime/backend/vulkan/graph/lower.h"

namespace wick::vulkan {

using TensorId = uint32_t;

// Receives the calls: a graph, or a check whether each has a shader.
class Builder {
 public:
  virtual Result<TensorId> temporary(DType dtype, const Shape& shape) = 0;
  virtual Result<TensorId> constant(DType dtype, double value) = 0;  // a float
  virtual Status call(OpId op, const void* attrs, Span<const TensorId> in,
                      Span<const TensorId> out) = 0;

 protected:
  ~Builder() = default;
};

// A call with its tensors: views have dtypes and shapes, ids belong to the builder.
struct WholeCall {
  OpId op = OpId::kNone;
  const void* attrs = nullptr;
  Span<const TensorView> in;
  Span<const TensorId> in_ids;
  Span<const TensorView> out;
  Span<const TensorId> out_ids;
};

// Returns true for ops that are expanded whatever their dtypes and shapes are.
bool is_expanded(OpId op);
// If lower() has no shader: returns whether expand() may have.
bool may_expand(OpId op, Span<const TensorView> in, Span<const TensorView> out);
// Fails with kUnsupported and the reason if a part has no shader.
Status expand(const WholeCall& call, Builder& builder);

}  // namespace wick::vulkan
