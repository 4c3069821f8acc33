#include "runtime/kernels/sequence/attention.h"

namespace wick {
namespace {

// Dims and strides of x after a permutation.
struct Seen {
  int64_t dim[kMaxRank], stride[kMaxRank];
  Seen(const TensorView& x, const DimList& perm) {
    for (int i = 0; i < x.rank(); ++i) {
      const int from = perm.empty() ? i : static_cast<int>(perm[i]);
      dim[i] = x.shape[from];
      stride[i] = x.strides[from];
    }
  }
};

}  // namespace

AttentionShape::AttentionShape(const FusedAttentionAttrs& a, Span<const TensorView> in,
                               const TensorView& result) {
  const int rank = in[0].rank();
  const Seen queries(in[0], a.q_perm), key(in[1], a.k_perm), value(in[2], a.v_perm);
  batch_rank = rank > 3 ? rank - 3 : 0;
  rows = queries.dim[rank - 2];
  size = queries.dim[rank - 1];
  keys = key.dim[rank - 2];
  values = value.dim[rank - 1];
  const auto place = [&](const Seen& s, AttentionStrides* at) {
    for (int i = 0; i < batch_rank; ++i) at->batch[i] = s.dim[i] == 1 ? 0 : s.stride[i];
    at->head = rank < 3 ? 0 : s.stride[rank - 3];
    at->row = s.stride[rank - 2];
    at->col = s.stride[rank - 1];
  };
  place(queries, &q);
  place(key, &k);
  place(value, &v);
  for (int i = 0; i < batch_rank; ++i) {
    batch_dims[i] = queries.dim[i];
    batches *= queries.dim[i];
  }
  if (rank > 2) {
    heads = queries.dim[rank - 3];
    key_heads = key.dim[rank - 3];
    value_heads = value.dim[rank - 3];
  }
  // dim i of the output is the result's dim out_perm[i]
  int64_t stride[kMaxRank] = {};
  for (int i = 0; i < rank; ++i)
    stride[a.out_perm.empty() ? i : static_cast<int>(a.out_perm[i])] = result.strides[i];
  for (int i = 0; i < batch_rank; ++i) out.batch[i] = stride[i];
  out.head = rank < 3 ? 0 : stride[rank - 3];
  out.row = stride[rank - 2];
  out.col = stride[rank - 1];
}

AttentionStrides AttentionShape::operand(const TensorView& x) const {
  AttentionStrides at;
  const auto stride = [&](int from_last) {
    const int i = x.rank() - 1 - from_last;
    return i < 0 || x.shape[i] == 1 ? 0 : x.strides[i];
  };
  at.col = stride(0);
  at.row = stride(1);
  at.head = stride(2);
  for (int i = 0; i < batch_rank; ++i) at.batch[i] = stride(batch_rank + 2 - i);
  return at;
}

AttentionCallSteps::AttentionCallSteps(const FusedAttentionAttrs& a, const AttentionShape& shape,
                                       Span<const TensorView> in, int phase) {
  size_t next = 3;
  for (int64_t step : a.steps.span()) {
    const int operands = attention_operands(step);
    if (attention_phase(step) == phase) {
      AttentionCallStep& s = list[count++];
      s.step = static_cast<AttentionStep>(step);
      if (operands > 0) s.x = &in[next], s.x_at = shape.operand(in[next]);
      if (operands > 1) s.y = &in[next + 1], s.y_at = shape.operand(in[next + 1]);
    }
    next += static_cast<size_t>(operands);
  }
}

}  // namespace wick
