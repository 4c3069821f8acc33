// A MatMul of any ranks as a batch of matrix products.
#pragma once

#include <algorithm>

#include "runtime/core/tensor_view.h"

namespace wick {

// A batch of products: strides of the operands and the output's batch dims, with stride 0 where
// broadcast.
struct Batched {
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col;
  int batch_rank = 0;
  int64_t dims[kMaxRank], a_step[kMaxRank], b_step[kMaxRank];
  int64_t batches = 1;
};

inline Batched batched(const TensorView& a, const TensorView& b) {
  Batched r;
  const int ra = a.rank(), rb = b.rank();
  r.k = a.dim(ra - 1);
  r.a_col = a.strides[ra - 1];
  r.m = ra > 1 ? a.dim(ra - 2) : 1;
  r.a_row = ra > 1 ? a.strides[ra - 2] : 0;
  r.n = rb > 1 ? b.dim(rb - 1) : 1;
  r.b_col = rb > 1 ? b.strides[rb - 1] : 0;
  r.b_row = b.strides[rb > 1 ? rb - 2 : 0];
  const int ba = std::max(0, ra - 2), bb = std::max(0, rb - 2);
  r.batch_rank = std::max(ba, bb);
  for (int i = 0; i < r.batch_rank; ++i) {
    const int ia = i - (r.batch_rank - ba), ib = i - (r.batch_rank - bb);
    const int64_t da = ia >= 0 ? a.dim(ia) : 1, db = ib >= 0 ? b.dim(ib) : 1;
    r.dims[i] = da == 1 ? db : da;
    r.a_step[i] = da == 1 ? 0 : a.strides[ia];
    r.b_step[i] = db == 1 ? 0 : b.strides[ib];
    r.batches *= r.dims[i];
  }
  // If one matrix B serves all batches, the batch dims of A become more rows where they are
  // contiguous.
  bool rows_only = r.batch_rank > 0 && r.m > 0;
  int64_t step = r.a_row * r.m;
  for (int i = r.batch_rank - 1; i >= 0; --i) {
    rows_only = rows_only && (r.dims[i] == 1 || (r.b_step[i] == 0 && r.a_step[i] == step));
    step *= r.dims[i];
  }
  if (rows_only) {
    r.m *= r.batches;
    r.batches = 1;
    r.batch_rank = 0;
  }
  return r;
}

// Returns whether threads take whole products.
inline bool by_batch(const Batched& r, int threads) {
  return r.batches >= threads && r.batches > 1;
}

}  // namespace wick
