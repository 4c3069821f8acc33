// Estimates what one call of an op costs, from its shapes and attributes. This is the only such
// model: reports (summary(), the profiler, `wick page`), devices that check whether they are worth
// using, and code that evaluates nodes ahead of time all use it.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"

namespace wick {

// The arithmetic and the memory traffic of one call of an op.
struct OpCost {
  double macs = 0;   // multiply-adds of products, convolutions and recurrences
  double other = 0;  // other arithmetic, one per operation: exp counts like add
  double bytes_read = 0, bytes_written = 0;  // each element once, also a broadcast one

  // Return the floating-point operations, two for a multiply-add, and the bytes read and written.
  double flops() const { return 2 * macs + other; }
  double bytes() const { return bytes_read + bytes_written; }
  // Returns FLOPs per byte: below the machine's ridge point the op is bound by memory, above it by
  // arithmetic.
  double intensity() const { return bytes() > 0 ? flops() / bytes() : 0; }
};

// `attrs`: the op's attribute struct; null where it is unknown (a TraceEvent): a pooling op then
// counts each element of its input once instead of each element of its windows. A layout op
// computes nothing; where its result was a view (no kernel ran) it moves nothing either, so do not
// call this then. Decompositions (Svd, Eigh ...) use the usual leading terms.
OpCost op_cost(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);

// Returns the multiply-adds, of two FLOPs each; 0 for ops that are not products. Absent optional
// inputs may have any shape; `attrs` may be null. The result is a double, as sizes in a hostile
// file would overflow integers.
double op_macs(OpId op, const void* attrs, Span<const Shape> in, Span<const Shape> out);

// Estimates the steps that the kernel takes: the bytes that it reads and writes (those of strings
// too), plus any work beyond a few steps per byte. It never underestimates much: a node of which
// only the size is known counts as the worst of that size. Views without data are judged by their
// shapes. A call without outputs or with regions counts as no work. Code that evaluates nodes ahead
// of time (constant folding, binding) leaves a node that is too much work to the run, which has a
// deadline.
double op_work(OpId op, const void* attrs, Span<const TensorView> in, Span<const TensorView> out);

// The limit of work for folding and binding: a fraction of a second.
constexpr double kMostWorkAhead = 1e8;

}  // namespace wick
