#include "runtime/kernels/run_row.h"

namespace wick {

Status run_row(const KernelRow& row, OpId op, const KernelCtx& ctx, Span<const TensorView> in,
               Span<TensorView> out, const void* attrs) {
  bool empty = !out.empty() && !is_custom(op);
  for (size_t i = 0; i < out.size() && empty; ++i)
    empty = out[i].numel() == 0 && data_dependent_axis(op, attrs, i, out[i].rank()) < 0;
  return empty ? Status() : row.run(ctx, in, out, attrs);
}

}  // namespace wick
