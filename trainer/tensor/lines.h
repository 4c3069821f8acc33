// Helpers of the functions along one dimension; not public.
#pragma once

#include <algorithm>

#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {

// A tensor and one of its dims, normalized. Rank 0 is treated as one element of rank 1, as in
// PyTorch; back() restores the rank of a result.
struct Line {
  Tensor x;
  int dim;
  bool scalar;
  Where where;

  Line(const char* op, const Arg& arg, int64_t d)
      : x(arg.tensor),
        dim(wrap_dim(op, d, std::max(1, arg.tensor.rank()), arg.where)),
        scalar(arg.tensor.rank() == 0),
        where(arg.where) {
    if (scalar) x = x.reshape({1}, where);
  }
  int64_t size() const { return x.raw_shape()[dim]; }
  Tensor back(const Tensor& t) const { return scalar ? t.reshape(Shape{}, where) : t; }
  // t: a result whose dim has size 1.
  Tensor reduced(const Tensor& t, bool keepdim) const {
    return keepdim && !scalar ? t : t.squeeze(dim, where);
  }
  Tensor slice(const Tensor& t, SizeArg start, SizeArg end) const {
    return t.slice(dim, start, end, 1, where);
  }
};

// Calls f(line, worker) for each of `lines`, of which each costs `cost` elements of work, on
// threads.
template <class F>
void each_line(int64_t lines, int64_t cost, const F& f) {
  const int64_t some = std::max<int64_t>(1, kElementGrain / cost);  // lines of a task
  parallel_for(thread_pool(), (lines + some - 1) / some, [&](int64_t task, int worker) {
    for (int64_t i = task * some; i < std::min(lines, (task + 1) * some); ++i) f(i, worker);
  });
}

inline Tensor number(Scalar value, DType dtype) { return full(Shape{}, value, dtype); }

inline Shape ones_shape(int rank) {
  Shape s;
  for (int i = 0; i < rank; ++i) s.push_back(1);
  return s;
}

// Returns 0 .. n - 1 along dim `dim` of rank `rank`, with sizes of 1 elsewhere.
inline Tensor positions(int64_t n, int dim, int rank) {
  Shape line = ones_shape(rank);
  line[dim] = n;
  return arange(n).reshape(line);
}

// Throws during capture: sizes that depend on data cannot be part of a graph.
inline void refuse_capture(const char* op, const Where& where) {
  if (active_tracer() == nullptr) return;
  throw_error(op,
              "the size of its result depends on data, so it cannot be captured; where() or a "
              "multiplication by the mask keeps the shape",
              where, Code::kUnsupported);
}

inline bool floats(const Tensor& t) { return is_float(t.dtype()); }

}  // namespace wick
