// Attributes of sequences and optionals.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct SequenceAttrs {
  int64_t dtype = 1;  // of the elements
};
WICK_ATTR_FIELDS(SequenceAttrs, WICK_FIELD(SequenceAttrs, 1, dtype).up_to(kDTypeCount - 1, 1));

struct SplitToSequenceAttrs {
  int64_t axis = 0;
  int64_t keepdims = 1;  // used where no sizes are given: parts have size 1
};
WICK_ATTR_FIELDS(SplitToSequenceAttrs, WICK_FIELD(SplitToSequenceAttrs, 1, axis),
                 WICK_FIELD(SplitToSequenceAttrs, 2, keepdims));

struct ConcatFromSequenceAttrs {
  int64_t axis = 0, new_axis = 0;
  int64_t dtype = 1;  // of the elements
};
WICK_ATTR_FIELDS(ConcatFromSequenceAttrs, WICK_FIELD(ConcatFromSequenceAttrs, 1, axis),
                 WICK_FIELD(ConcatFromSequenceAttrs, 2, new_axis),
                 WICK_FIELD(ConcatFromSequenceAttrs, 3, dtype).up_to(kDTypeCount - 1, 1));

struct OptionalAttrs {
  int64_t dtype = 1;     // of the tensor, or of the sequence's elements
  int64_t sequence = 0;  // 1: an optional sequence
};
WICK_ATTR_FIELDS(OptionalAttrs, WICK_FIELD(OptionalAttrs, 1, dtype).up_to(kDTypeCount - 1, 1),
                 WICK_FIELD(OptionalAttrs, 2, sequence));

}  // namespace wick
