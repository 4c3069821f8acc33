// Helpers that the gradients of solvers, decompositions and determinants share.
#pragma once

#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/call.h"

namespace wick::matrices {

inline Tensor mt(const Tensor& x) { return x.transpose(-2, -1); }
inline int64_t extent(const Tensor& x, int from_end) { return x.raw_shape()[x.rank() - from_end]; }
inline Tensor on_diagonal(int64_t n) { return eq(arange(n).unsqueeze(1), arange(n).unsqueeze(0)); }
inline Tensor inverse(const Tensor& a) { return call(OpId::kInverse, NoAttrs{}, {a}); }
// Broadcasts g, which has a batch's shape, over the two matrix dims.
inline Tensor per_matrix(const Tensor& g) { return g.unsqueeze(-1).unsqueeze(-1); }

}  // namespace wick::matrices
