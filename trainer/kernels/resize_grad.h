// What both kernels of ResizeGrad, the gradient of interpolate(), start from: the tables of the
// Resize, and for each element along a dim the outputs that read it.
#pragma once

#include "runtime/kernels/window/resize_table.h"

namespace wick {

// Tap t of outputs [begin(t)[i], begin(t)[i + 1]) reads element i of the dim: positions ascend
// along a dim, so the outputs of a tap that read one element are neighbours.
struct ResizeReaders {
  int64_t* table = nullptr;
  int64_t in = 0;
  const int64_t* begin(int64_t tap) const { return table + tap * (in + 1); }
};

struct ResizeGradJob {
  ResizeJob resize;
  ResizeReaders readers[kMaxRank];  // of resize.axes
};

// Returns the bytes of a job's tables, for ResizeGrad's inputs x and the gradient.
Result<size_t> resize_grad_bytes(const KernelQuery& q);
// Makes the tables in `scratch`; false: the run was ended, and they are incomplete. Neither x nor
// the gradient is empty.
bool resize_grad_job(Span<const TensorView> in, const ResizeAttrs& a, const ResizeScales& scales,
                     void* scratch, ResizeGradJob* job);
// Writes zeros where no output reads anything. Returns whether that was so.
bool zero_where_unread(Span<const TensorView> in, Span<TensorView> out);

}  // namespace wick
