#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {
namespace {

// Copies `dims` elements from input `input` into the output, both walked by the given strides.
Status add_copy(int input, const Shape& dims, const Strides& from, const Strides& to,
                int64_t to_offset, Lowered& out) {
  int64_t n = numel(dims);
  if (n == 0) return {};
  Dispatch d = flat_dispatch(ShaderId::k_copy_32, n);
  add_spec(d, static_cast<uint32_t>(dims.rank()));
  add_push(d, n);
  add_push(d, int64_t{0});
  add_push(d, to_offset);
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < dims.rank() ? dims[i] : int64_t{1});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < dims.rank() ? from[i] : int64_t{0});
  for (int i = 0; i < kMaxRank; ++i) add_push(d, i < dims.rank() ? to[i] : int64_t{0});
  add_operand(d, input);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

Status lower_transpose(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  const DimList& perm = static_cast<const TransposeAttrs*>(call.attrs)->perm;
  Strides own = contiguous_strides(x);
  Strides from;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t source = perm.at_or(i, x.rank() - 1 - i);
    from.push_back(own[static_cast<int>(source)]);
  }
  const Shape& y = call.out[0].shape;
  return add_copy(0, y, from, contiguous_strides(y), 0, out);
}

Status lower_expand(const OpCall& call, Lowered& out) {
  const Shape& x = call.in[0].shape;
  const Shape& y = call.out[0].shape;
  Strides own = contiguous_strides(x);
  Strides from;
  int lead = y.rank() - x.rank();
  for (int i = 0; i < y.rank(); ++i)
    from.push_back(i < lead || x[i - lead] == 1 ? 0 : own[i - lead]);
  return add_copy(0, y, from, contiguous_strides(y), 0, out);
}

Status lower_concat(const OpCall& call, Lowered& out) {
  const Shape& y = call.out[0].shape;
  int64_t axis = static_cast<const AxisAttrs*>(call.attrs)->axis;
  if (axis < 0) axis += y.rank();
  Strides to = contiguous_strides(y);
  int64_t offset = 0;
  for (size_t i = 0; i < call.in.size(); ++i) {
    const Shape& x = call.in[i].shape;
    WICK_TRY(add_copy(static_cast<int>(i), x, contiguous_strides(x), to, offset, out));
    offset += x[static_cast<int>(axis)] * to[static_cast<int>(axis)];
  }
  return {};
}

}  // namespace

Status lower_layout(const OpCall& call, Lowered& out) {
  switch (call.op) {
    case OpId::kTranspose: return lower_transpose(call, out);
    case OpId::kExpand: return lower_expand(call, out);
    case OpId::kConcat: return lower_concat(call, out);
    default: out.alias = true; return {};
  }
}

}  // namespace wick::vulkan
