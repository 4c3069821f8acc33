// What one call of an op costs, from its shapes and attributes: the one model of it. Reports
// (summary(), the profiler, `wick page`), devices that ask whether their way is worth it, and
// whoever runs nodes ahead of time read it here.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"

namespace wick {

struct OpCost {
  double macs = 0;   // multiply-adds of matrix products, convolutions and recurrences
  double other = 0;  // any other arithmetic on elements, one an operation: exp counts as add does
  double bytes_read = 0, bytes_written = 0;  // each element once, what is broadcast once too

  double flops() const { return 2 * macs + other; }
  double bytes() const { return bytes_read + bytes_written; }
  // FLOPs a byte: left of the machine's ridge point memory bounds the op, right of it arithmetic.
  double intensity() const { return bytes() > 0 ? flops() / bytes() : 0; }
};

// `attrs`: the op's attribute struct; null where it is not known (a TraceEvent): then a pooling
// counts each element of its input once instead of each element of its windows. A layout op
// computes nothing; where its result was a view (no kernel ran) it moves nothing either: do not ask
// then. Decompositions (Svd, Eigh ...) count by the usual leading terms.
OpCost op_cost(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);

// Multiply-adds, two FLOPs each; 0 for ops that are no products. Absent optional inputs may have
// any shape; `attrs` may be null. In double: what a hostile file claims overflows integers.
double op_macs(OpId op, const void* attrs, Span<const Shape> in, Span<const Shape> out);

// About as many steps as the kernel takes: bytes that it reads and writes (those of strings too),
// and what it does beyond a few steps for each of them. Not too few of these: a node of which
// nothing but its size is known counts as the worst of that size. Views without data are read by
// their shapes alone. A call without outputs or with regions is no work of its own. Who runs nodes
// ahead of time (constant folding, binding) leaves what is too much of it to the run, which has a
// deadline.
double op_work(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);

// What folding and binding may spend on nodes: a fraction of a second.
constexpr double kMostWorkAhead = 1e8;

}  // namespace wick
