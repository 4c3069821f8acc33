// x[...]: which elements an index means.
#pragma once

#include <vector>

#include "trainer/tensor/indexing.h"

namespace wick::indexing {

// The view that ints, slices and Nones make of x, and the tensors that index its dims.
struct Place {
  Tensor view;
  std::vector<Tensor> tensors;  // one a dim of the view; undefined: all of it
  std::vector<int> source;      // which dim of x, for messages
  int mask = -1;                // the dim of the only tensor, where that is a mask
  const char* op;
  Where where;

  std::vector<int> indexed() const {
    std::vector<int> dims;
    for (size_t d = 0; d < tensors.size(); ++d) {
      if (tensors[d].defined()) dims.push_back(static_cast<int>(d));
    }
    return dims;
  }
};

// Walks the entries of an index; throws Error, `op` first, where they do not fit x.
Place place_of(const char* op, const Tensor& x, const Indices& at, const Where& where);

// Masks become the indices of their true elements; then all tensors broadcast, as int64.
// Returns their common shape.
Shape resolve(Place& p);

}  // namespace wick::indexing
