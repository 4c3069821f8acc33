// The parts into which SplitToSequence splits a tensor: shared by its rule and its kernel.
#pragma once

#include "runtime/core/int_at.h"
#include "runtime/ops/attrs.h"
#include "runtime/ops/op_id.h"

namespace wick {

// Returns whether the op's rule reads every integer of input i, however many there are; for other
// inputs callers of rules pass no more than a shape can have.
constexpr bool reads_all_integers(OpId op, size_t input) {
  return op == OpId::kSplitToSequence && input == 1;
}

struct SequenceParts {
  int axis = 0;
  int64_t size = 0;   // of x along the axis
  int64_t count = 0;  // number of parts
  int64_t chunk = 0;  // size of each part but the last, where `sizes` is absent
  TensorView sizes;   // one per part, or absent
  bool keep_axis = true;

  int64_t length(int64_t i) const {
    if (sizes.present()) return int_at(sizes, i);
    return size - i * chunk < chunk ? size - i * chunk : chunk;
  }
  Shape shape(const Shape& x, int64_t i) const {
    Shape s;
    for (int d = 0; d < x.rank(); ++d) {
      if (d != axis) s.push_back(x[d]);
      if (d == axis && keep_axis) s.push_back(length(i));
    }
    return s;
  }
};

// Returns the bytes that the parts take as a packed sequence; loops over the parts only where
// `sizes` lists them.
Result<int64_t> packed_bytes(const SequenceParts& parts, DType dtype, const Shape& x);

// `sizes`: rank 0 or 1, or absent. Its values are checked.
Result<SequenceParts> split_parts(const SplitToSequenceAttrs& attrs, const Shape& x,
                                  const TensorView& sizes);

}  // namespace wick
