// Short forms for rows that build an ONNX operator out of several ops.
#pragma once

#include "exporter/onnx/read.h"

namespace wick::onnx {

ValueId int_scalar(ReadCtx& c, int64_t value);  // int64, rank 0
ValueId cast(ReadCtx& c, ValueId v, DType to);
ValueId unsqueeze(ReadCtx& c, ValueId v, const std::vector<int64_t>& axes);
ValueId reshape(ReadCtx& c, ValueId v, const std::vector<int64_t>& shape);
ValueId reshape_to(ReadCtx& c, ValueId v, ValueId shape);
ValueId shape_of(ReadCtx& c, ValueId v);
inline ValueId reshape_like(ReadCtx& c, ValueId v, ValueId like) {
  return reshape_to(c, v, shape_of(c, like));
}
ValueId reduce(ReadCtx& c, OpId op, ValueId v, const std::vector<int64_t>& axes, bool keepdims);
const SymShape& shape(ReadCtx& c, ValueId v);     // an error when the rank is unknown
int axis_of(ReadCtx& c, int64_t axis, int rank);  // normalised

template <int N>
IntList<N> to_list(ReadCtx& c, const std::vector<int64_t>& values) {
  IntList<N> list;
  c.fill(list, values, "a list");
  return list;
}

}  // namespace wick::onnx
