// What one call of an op costs: arithmetic and bytes, from its shapes alone. The one table of it:
// summary(), the profiler and `wick page` read it.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"
#include "runtime/ops/op_work.h"

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

}  // namespace wick
