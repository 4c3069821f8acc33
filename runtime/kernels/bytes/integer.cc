#include "runtime/kernels/bytes/integer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/bytes/integer.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "runtime/kernels/bytes/integer-inl.h"

#if HWY_ONCE
namespace wick {

HWY_EXPORT(integer_set);
const IntegerKernels& integer_kernels() { return *HWY_DYNAMIC_DISPATCH(integer_set)(); }

BytePlane byte_plane(const TensorView& t, bool as_column, int batch_rank) {
  BytePlane p;
  p.batch.set_rank(batch_rank);
  for (int d = 0; d < batch_rank; ++d) p.batch[d] = 0;
  const int rank = t.rank();
  auto step = [&](int d) { return t.shape[d] == 1 ? 0 : t.strides[d]; };
  if (rank == 1) {
    (as_column ? p.row : p.column) = step(0);
    return p;
  }
  if (rank == 0) return p;
  p.row = step(rank - 2), p.column = step(rank - 1);
  for (int d = 0; d < batch_rank; ++d) {
    const int at = d - (batch_rank - (rank - 2));
    if (at >= 0) p.batch[d] = step(at);
  }
  return p;
}

IntegerProduct::IntegerProduct(Span<const TensorView> in, const TensorView& out)
    : k(in[0].dim(in[0].rank() - 1)), has_a_zero(has_input(in, 2)), has_b_zero(has_input(in, 3)) {
  const bool rows = in[0].rank() > 1, columns = in[1].rank() > 1;
  const int batch_rank = out.rank() - (rows ? 1 : 0) - (columns ? 1 : 0);
  if (rows) m = in[0].dim(in[0].rank() - 2);
  if (columns) n = in[1].dim(in[1].rank() - 1);
  if (m > 0 && n > 0) batches = out.numel() / (m * n);
  a = byte_plane(in[0], false, batch_rank), b = byte_plane(in[1], true, batch_rank);
  if (has_a_zero) a_zero = byte_plane(in[2], true, batch_rank);
  if (has_b_zero) b_zero = byte_plane(in[3], false, batch_rank);
}

}  // namespace wick
#endif
