#include "runtime/kernels/reduce/reduce.h"

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

}  // namespace wick
