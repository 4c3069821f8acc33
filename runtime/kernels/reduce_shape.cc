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

ReduceShape reduce_shape(Span<const TensorView> in, const ReduceAttrs& attrs) {
  const TensorView& x = in[0];
  bool reduce[kMaxRank] = {};
  bool any = false;
  auto mark = [&](int64_t axis) {
    reduce[axis < 0 ? axis + x.rank() : axis] = true;
    any = true;
  };
  if (in.size() > 1 && in[1].present()) {
    const int64_t* axes = in[1].as<int64_t>();
    for (int64_t i = 0, n = in[1].numel(); i < n; ++i)
      mark(axes[i * (in[1].rank() > 0 ? in[1].strides[0] : 0)]);
  } else {
    for (int64_t axis : attrs.axes.span()) mark(axis);
  }
  if (!any && attrs.noop_with_empty_axes == 0) {
    for (int i = 0; i < x.rank(); ++i) reduce[i] = true;
  }
  return reduce_shape(x, reduce);
}

}  // namespace wick
