// Short forms for rows that build an ONNX operator out of several ops.
#pragma once

#include "exporter/onnx/read/read.h"

namespace wick::onnx {

ValueId int_scalar(ReadCtx& c, int64_t value);  // int64, rank 0
ValueId cast(ReadCtx& c, ValueId v, DType to);
// Returns the attribute `dtype`, which must be one that exists.
DType asked_dtype(ReadCtx& c, DType fallback);
ValueId floats_of(ReadCtx& c, ValueId v);  // 16-bit floats as f32, in which squares do not overflow
ValueId unsqueeze(ReadCtx& c, ValueId v, const std::vector<int64_t>& axes);
ValueId reshape(ReadCtx& c, ValueId v, const std::vector<int64_t>& shape);
ValueId reshape_to(ReadCtx& c, ValueId v, ValueId shape);
ValueId shape_of(ReadCtx& c, ValueId v);
inline ValueId reshape_like(ReadCtx& c, ValueId v, ValueId like) {
  return reshape_to(c, v, shape_of(c, like));
}
ValueId reduce(ReadCtx& c, OpId op, ValueId v, const std::vector<int64_t>& axes, bool keepdims);
// Standardizes over axes that keep their dims: the mean, sqrt(variance + epsilon), and (x - mean)
// times 1 / root (as ONNX states), or divided by root if the trainer wrote the node (wick.form, see
// kQuotient).
struct Standardized {
  ValueId mean = kNoValue, root = kNoValue, normal = kNoValue;
};
Standardized standardize(ReadCtx& c, ValueId x, const std::vector<int64_t>& axes, double epsilon);
inline constexpr const char* kQuotient = "quotient";
bool is_quotient(ReadCtx& c);
// Returns whether input i of such a node is a scale or bias, filled with `value`, that nobody gave
// but ONNX requires.
bool is_filler(ReadCtx& c, int i, float value);
const SymShape& shape(ReadCtx& c, ValueId v);     // an error when the rank is unknown
int axis_of(ReadCtx& c, int64_t axis, int rank);  // normalised
// Returns the rank, for an operator that takes only `rank`: an input of the graph without a shape
// gets that rank.
int rank_or(ReadCtx& c, ValueId v, int rank);
// For inputs whose sizes ONNX fixes, and whose ops here would broadcast others: fail where the rank
// is known and another one, and where both sizes are known and differ. `what` names the input.
void check_rank(ReadCtx& c, ValueId v, int rank, const char* what);
void check_size(ReadCtx& c, ValueId v, int axis, ValueId like, int axis_of_like, const char* what);
inline bool ranked(ReadCtx& c, ValueId v) { return c.g.value(v).ranked; }

// Sizes computed in the graph, as int64 vectors: dims() returns dims [from, to) of a value, dim()
// one of them, concat() joins several, and expand_to() and others take them.
ValueId dims(ReadCtx& c, ValueId v, int64_t from, int64_t to);
inline ValueId dim(ReadCtx& c, ValueId v, int64_t i) { return dims(c, v, i, i + 1); }
ValueId concat(ReadCtx& c, std::vector<ValueId> values, int64_t axis);
// Returns 0, 1, ... below `count`, an int64 of shape [1] that may be known only at run time.
ValueId arange(ReadCtx& c, ValueId count);
ValueId expand_to(ReadCtx& c, ValueId v, ValueId shape);
ValueId transpose(ReadCtx& c, ValueId v, const std::vector<int64_t>& perm);
ValueId squeeze(ReadCtx& c, ValueId v, const std::vector<int64_t>& axes);
// Splits an axis into [0, at) and the rest; `at` is a vector of one number.
struct Halves {
  ValueId first, second;
};
Halves cut(ReadCtx& c, ValueId v, int axis, ValueId at);
Halves halve(ReadCtx& c, ValueId v, int axis);
// Pads one end of an axis with a constant; `count` is a vector of one number.
enum class PadSide { kBefore, kAfter };
ValueId pad_axis(ReadCtx& c, ValueId v, int axis, PadSide side, ValueId count, double value);

// random.cc: Dropout of a model in training mode. `ratio` is the share that is dropped.
struct Dropped {
  ValueId y, kept;
};
Dropped drop_out(ReadCtx& c, ValueId x, ValueId ratio);

template <int N>
IntList<N> to_list(ReadCtx& c, const std::vector<int64_t>& values) {
  IntList<N> list;
  c.fill(list, values, "a list");
  return list;
}

}  // namespace wick::onnx
