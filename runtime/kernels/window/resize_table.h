// The tables of Resize: weighted neighbours along each axis that changes. Coordinates and weights
// are double for every dtype, so that all dtypes select the same neighbours.
#pragma once

#include "runtime/kernels/kernel.h"
#include "runtime/ops/resize_scale.h"

namespace wick {

struct Neighbour {
  double weight;
  int64_t at;  // along the axis; kOutside: the output is the extrapolation value
};
constexpr int64_t kOutside = -1;

struct ResizeAxis {
  int dim = 0;
  int64_t in = 0, out = 0, taps = 1;
  Ratio scale;
  double length = 0;          // of the result before rounding to whole pixels
  double start = 0, end = 1;  // region of interest
  Neighbour* table = nullptr;
};

struct ResizeJob {
  ResizeAxis axes[kMaxRank];
  int count = 0;  // number of axes that change
  int64_t steps[kMaxRank] = {};
  bool changes[kMaxRank] = {};
};

// Returns the bytes of the tables.
Result<size_t> resize_table_bytes(const Shape& x, const Shape& y, const ResizeAttrs& a);
// Finds the axes that change and makes their tables in `scratch`. x is not empty.
void resize_tables(Span<const TensorView> in, const TensorView& y, const ResizeAttrs& a,
                   const ResizeScales& scales, void* scratch, ResizeJob* job);
// Stores the scales, for the plain loops.
Status plan_resize(const KernelQuery& q, KernelPlan* plan);
// Plain loops over every axis: float32, and copied elements of any type.
void resize_f32_ref(const ResizeJob& job, Span<const TensorView> in, Span<TensorView> out,
                    const ResizeAttrs& a, ThreadPool* pool);
void resize_nearest_ref(const ResizeJob& job, Span<const TensorView> in, Span<TensorView> out,
                        const ResizeAttrs& a, ThreadPool* pool);

}  // namespace wick
