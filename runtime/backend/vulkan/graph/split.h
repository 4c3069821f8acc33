// Calls of tensors that are larger than a shader of the device sees (maxStorageBufferRange): run
// part by part, over windows of those tensors, with the same bits.
#pragma once

#include "runtime/backend/vulkan/graph/expand.h"

namespace wick::vulkan {

// Where the parts go.
class Parts {
 public:
  // Bytes of `of` from byte `at` on, a multiple of kRegionAlignment, as a tensor.
  virtual Result<TensorId> window(TensorId of, uint64_t at, const Shape& shape) = 0;
  virtual Result<TensorId> part_temporary(DType dtype, const Shape& shape) = 0;
  // Copies bytes from one tensor's byte `from_at` on to another's `to_at`.
  virtual Status move(TensorId from, uint64_t from_at, TensorId to, uint64_t to_at,
                      uint64_t bytes) = 0;
  // A call that fits. `known`: views of the inputs that the device does not see.
  virtual Status part(OpId op, const void* attrs, Span<const TensorId> in, Span<const TensorId> out,
                      Span<const TensorView> known) = 0;

 protected:
  ~Parts() = default;
};

// Whether a tensor that the device sees is larger than `range` bytes, or has more elements than
// shaders count. False for what is copied (lower_layout cuts copies itself).
bool is_too_large(const OpCall& call, uint64_t range);

// kUnsupported, with the reason, where the call cannot be cut, or into too many parts.
Status split(const OpCall& call, Span<const TensorId> in, TensorId out, uint64_t range,
             Parts& parts);

// A dispatch of copy.comp over words: `bytes` from one place to another in two operands.
// kUnsupported where they are no whole words.
Status lower_move(uint64_t from_byte, uint64_t to_byte, uint64_t bytes, Dispatch& d);

}  // namespace wick::vulkan
