// x[...]: finds the elements that an index selects.
#pragma once

#include <vector>

#include "trainer/tensor/indexing.h"

namespace wick::indexing {

// The view of x that ints, slices and Nones select, and the tensors that index its dims.
struct Place {
  Tensor view;
  std::vector<Tensor> tensors;  // one per dim of the view; undefined: the whole dim
  std::vector<int> source;      // the dim of x, for messages
  int mask = -1;                // the dim of the only index tensor, if that is a mask
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

// Processes the entries of an index; throws Error, with `op` first, if they do not fit x.
Place place_of(const char* op, const Tensor& x, const Indices& at, const Where& where);

// Replaces masks by the indices of their true elements, then broadcasts all index tensors, as
// int64. Returns their common shape.
Shape resolve(Place& p);

}  // namespace wick::indexing
