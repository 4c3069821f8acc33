// Calls that the device runs as several others: chains of elementwise steps, attention.
#pragma once

#include "runtime/backend/vulkan/graph/lower.h"

namespace wick::vulkan {

using TensorId = uint32_t;

// Where the others go: a graph, or a look at whether each has shaders.
class Builder {
 public:
  virtual Result<TensorId> temporary(DType dtype, const Shape& shape) = 0;
  virtual Result<TensorId> constant(float value) = 0;
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
  TensorId out_id = 0;
};

bool is_expanded(OpId op);
// kUnsupported, with the reason, where a part of it has no shader.
Status expand(const WholeCall& call, Builder& builder);

}  // namespace wick::vulkan
