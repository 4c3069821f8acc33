#include "runtime/ops/sequence_parts.h"

#include <cinttypes>

#include "runtime/core/packed_sequence.h"

namespace wick {

Result<int64_t> packed_bytes(const SequenceParts& parts, DType dtype, const Shape& x) {
  PackedSize size(parts.count);
  WICK_TRY(size.bytes().status());  // checks that the entries fit
  if (parts.sizes.present()) {
    for (int64_t i = 0; i < parts.count; ++i) WICK_TRY(size.add(dtype, parts.shape(x, i)));
  } else if (parts.count > 0) {  // all parts but the last are alike
    WICK_TRY(size.add(dtype, parts.shape(x, 0), parts.count - 1));
    WICK_TRY(size.add(dtype, parts.shape(x, parts.count - 1)));
  }
  return size.bytes();
}

Result<SequenceParts> split_parts(const SplitToSequenceAttrs& attrs, const Shape& x,
                                  const TensorView& sizes) {
  const int rank = x.rank();
  if (attrs.axis < -rank || attrs.axis >= rank) {
    return error(Code::kInvalidArgument, "axis %" PRId64 " out of range for rank %d", attrs.axis,
                 rank);
  }
  SequenceParts p;
  p.axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + rank : attrs.axis);
  p.size = x[p.axis];
  if (!sizes.present()) {
    p.chunk = 1;
    p.count = p.size;
    p.keep_axis = attrs.keepdims != 0;
    return p;
  }
  if ((sizes.dtype != DType::kI64 && sizes.dtype != DType::kI32) || sizes.rank() > 1)
    return error(Code::kTypeMismatch, "the sizes must be one or a list of int32 or int64, got %s%s",
                 dtype_name(sizes.dtype), to_text(sizes.shape).text);
  if (sizes.rank() == 0) {
    p.chunk = int_at(sizes, 0);
    if (p.chunk <= 0)
      return error(Code::kInvalidArgument, "parts of size %" PRId64 ", must be > 0", p.chunk);
    p.count = p.size / p.chunk + (p.size % p.chunk != 0 ? 1 : 0);
    return p;
  }
  p.sizes = sizes;
  p.count = sizes.shape[0];
  int64_t left = p.size;
  for (int64_t i = 0; i < p.count; ++i) {
    const int64_t length = p.length(i);
    if (length < 0 || length > left) {
      return error(Code::kInvalidArgument,
                   "part %" PRId64 " has size %" PRId64 ", %" PRId64 " of %" PRId64 " are left", i,
                   length, left, p.size);
    }
    left -= length;
  }
  if (left == 0) return p;
  return error(Code::kInvalidArgument, "the sizes add up to %" PRId64 ", axis %d has %" PRId64,
               p.size - left, p.axis, p.size);
}

}  // namespace wick
