// Tuples of indices, as GatherND and ScatterND take them.
#pragma once

#include "runtime/kernels/reference/indices.h"

namespace wick::reference {

// Tuples of k indices, which address lines of x after `batch` leading dims; x is contiguous.
struct Tuples {
  const TensorView &x, &indices;
  int batch, k;
  int64_t count = 1, line = 1;  // number of tuples; elements per line

  Tuples(const TensorView& values, const TensorView& index, int64_t batch_dims)
      : x(values),
        indices(index),
        batch(static_cast<int>(batch_dims)),
        k(static_cast<int>(index.shape[index.rank() - 1])) {
    for (int i = 0; i + 1 < index.rank(); ++i) count *= index.shape[i];
    for (int i = batch + k; i < values.rank(); ++i) line *= values.shape[i];
  }
  Status check() const {
    if (k == 0) return {};  // any number of empty tuples
    Poll poll;
    for (int64_t t = 0; t < count && !poll(4); ++t) {
      for (int j = 0; j < k; ++j)
        WICK_TRY(check_index(int_at(indices, t * k + j), batch + j, x.shape[batch + j]));
    }
    return {};
  }
  // Returns the offset in x of tuple t's line.
  int64_t offset(int64_t t) const {
    int64_t at = 0, batches = 1;
    for (int i = 0; i < batch; ++i) batches *= x.shape[i];
    if (batches > 0) at = t / (count / batches);
    for (int j = 0; j < k; ++j) {
      int64_t index = int_at(indices, t * k + j), extent = x.shape[batch + j];
      at = at * extent + (index < 0 ? index + extent : index);
    }
    return at * line;
  }
};

}  // namespace wick::reference
