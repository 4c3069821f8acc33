#include "runtime/core/int_at.h"
#include "runtime/kernels/reduce.h"

namespace wick {

ReduceShape reduce_shape(const TensorView& x, const bool* reduce) {
  ReduceShape s;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t dim = x.shape[i], stride = x.strides[i];
    (reduce[i] ? s.count : s.outputs) *= dim;
    if (dim == 1) continue;
    int& n = reduce[i] ? s.reduced : s.kept;
    int64_t* dims = reduce[i] ? s.reduced_dim : s.kept_dim;
    int64_t* strides = reduce[i] ? s.reduced_stride : s.kept_stride;
    if (n > 0 && strides[n - 1] == stride * dim) {
      dims[n - 1] *= dim;
      strides[n - 1] = stride;
    } else {
      dims[n] = dim;
      strides[n] = stride;
      ++n;
    }
  }
  return s;
}

AxisSet reduced_axes(Span<const TensorView> in, const ReduceAttrs& attrs) {
  AxisSet axes;
  const int rank = in[0].rank();
  const IntArgs list(in, 1, attrs.axes.span());
  for (int64_t i = 0; i < list.count(); ++i) {
    if (const int axis = axis_within(list[i], rank); axis >= 0) axes.set[axis] = true;
  }
  for (int i = 0; list.count() == 0 && attrs.noop_with_empty_axes == 0 && i < rank; ++i)
    axes.set[i] = true;
  return axes;
}

ReduceShape reduce_shape(Span<const TensorView> in, const ReduceAttrs& attrs) {
  return reduce_shape(in[0], reduced_axes(in, attrs).set);
}

}  // namespace wick
