// Runs calls whose tensors are larger than a shader can access (maxStorageBufferRange) part by
// part, over windows of those tensors, with the same bits.
#pragma once

#include "runtime/backend/vulkan/graph/expand.h"

namespace wick::vulkan {

// Receives the parts.
class Parts {
 public:
  // Returns the bytes of `of` from byte `at` on (a multiple of kRegionAlignment) as a tensor.
  virtual Result<TensorId> window(TensorId of, uint64_t at, const Shape& shape) = 0;
  virtual Result<TensorId> part_temporary(DType dtype, const Shape& shape) = 0;
  // Copies bytes from byte `from_at` of one tensor to byte `to_at` of another.
  virtual Status move(TensorId from, uint64_t from_at, TensorId to, uint64_t to_at,
                      uint64_t bytes) = 0;
  // Runs a call that fits. `known`: views of the inputs that the device does not read.
  virtual Status part(OpId op, const void* attrs, Span<const TensorId> in, Span<const TensorId> out,
                      Span<const TensorView> known) = 0;

 protected:
  ~Parts() = default;
};

// Returns whether a tensor that the device accesses is larger than `range` bytes, or has more
// elements than shaders can count. False for copies (lower_layout splits those itself).
bool is_too_large(const OpCall& call, uint64_t range);

// Fails with kUnsupported and the reason if the call cannot be cut, or only into too many parts.
Status split(const OpCall& call, Span<const TensorId> in, TensorId out, uint64_t range,
             Parts& parts);

// A dispatch of copy.comp that copies `bytes` as words between two operands. kUnsupported if they
// are not whole words.
Status lower_move(uint64_t from_byte, uint64_t to_byte, uint64_t bytes, Dispatch& d);

}  // namespace wick::vulkan
